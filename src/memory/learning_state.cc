#include "memory/learning_state.h"

#include <algorithm>

namespace evk {
namespace {

const MemoryItem* trace_of(const Learnt& learnt) {
  for (const auto& item : learnt.items)
    if (item.kind == ItemKind::kTrace) return &item;
  return nullptr;
}

}  // namespace

void LearningState::note_feasible(TaskProgress& task, const Attempt& attempt, const MemoryItem& trace) {
  if (!task.first_feasible) {
    task.first_feasible = attempt.id;
    task.first_feasible_sweep = attempt.sweep;
  }
  if (trace.latency_ns && !task.first_ns) task.first_ns = trace.latency_ns;
  // An exact duplicate of a start point is none of its own.
  const bool known = std::find(task.start_hashes.begin(), task.start_hashes.end(), trace.source_hash) !=
                     task.start_hashes.end();
  if (!known && task.start_points.size() < kStartPointsMax) {
    task.start_points.push_back(trace.id);
    task.start_hashes.push_back(trace.source_hash);
  }
}

// Adds each use's reward to its item's group. REQUIRES: the changes are not yet applied.
void LearningState::note_uses(const Attempt& attempt, const Learnt& learnt) {
  for (const auto& change : learnt.changes)
    for (const auto& used : attempt.context.items) {
      if (!used.updated || used.item->id != change.item || change.stage != attempt.context.stage) continue;
      GroupRewards& group = groups_[{change.stage, used.item->kind, used.item->category}];
      ++group.n;
      group.sum += change.after.sum_r - values_.find(change.stage, change.item).value_or(ItemValue{}).sum_r;
      break;
    }
}

void LearningState::apply(const Attempt& attempt, const Learnt& learnt) {
  note_uses(attempt, learnt);
  for (const auto& change : learnt.changes) values_.restore(change.stage, change.item, change.after);
  normaliser_ = learnt.normaliser;
  TaskProgress& task = tasks_[attempt.task];
  if (!attempt.verdict) return;
  ++task.budget_used;
  if (attempt.context.stage == Stage::kDraft && learnt.reward) {
    task.draft_mean = moved_towards(task.draft_mean, *learnt.reward, kDraftMeanStep);
    ++draft_.n;
    draft_.sum += *learnt.reward;
  }
  if (is_compiled(*attempt.verdict) && !task.first_compiled_sweep) task.first_compiled_sweep = attempt.sweep;
  if (learnt.best_after && learnt.best_after != task.best_ns) task.best_attempt = attempt.id;
  task.best_ns = learnt.best_after;
  const MemoryItem* trace = trace_of(learnt);
  if (!trace) return;
  if (trace->parent) task.children[*trace->parent].push_back(trace->id);
  task.last_failure = trace->feasible ? std::nullopt : std::optional(trace->id);
  if (trace->feasible) note_feasible(task, attempt, *trace);
}

void LearningState::end_sweep(const PoolScheduleConfig& config) {
  const std::int64_t now = solved();
  pool_.sweeps_without = now > pool_.solved ? 0 : pool_.sweeps_without + 1;
  pool_.solved = now;
  if (pool_.sweeps_without < config.patience_sweeps) return;
  pool_.lambda = std::min(config.lambda_max, pool_.lambda * config.growth);
  pool_.sweeps_without = 0;
}

const TaskProgress& LearningState::progress(const TaskId& task) const {
  static const TaskProgress kUntouched;
  const auto found = tasks_.find(task);
  return found == tasks_.end() ? kUntouched : found->second;
}

std::optional<double> LearningState::group_mean(Stage stage, ItemKind kind,
                                                const std::string& category) const {
  const auto found = groups_.find({stage, kind, category});
  if (found == groups_.end()) return std::nullopt;
  return found->second.sum / static_cast<double>(found->second.n);
}

std::string_view name_of(UnusedRule rule) {
  switch (rule) {
    case UnusedRule::kTaskMean:
      return "task_mean";
    case UnusedRule::kZero:
      return "zero";
    case UnusedRule::kGlobalMean:
      return "global_mean";
    case UnusedRule::kConst:
      return "const";
  }
  return "task_mean";
}

double unused_value(const UnusedConfig& config, const LearningState& state, const TaskId& task, Stage stage) {
  if (stage == Stage::kRefine) return 0;
  switch (config.rule) {
    case UnusedRule::kTaskMean:
      return state.progress(task).draft_mean;
    case UnusedRule::kZero:
      return 0;
    case UnusedRule::kGlobalMean:
      return state.draft_mean();
    case UnusedRule::kConst:
      return config.constant;
  }
  return 0;
}

std::int64_t LearningState::solved() const {
  return std::count_if(tasks_.begin(), tasks_.end(),
                       [](const auto& entry) { return entry.second.first_feasible.has_value(); });
}

}  // namespace evk
