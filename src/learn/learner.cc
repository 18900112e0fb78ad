#include "learn/learner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "learn/reward.h"

namespace evk {
namespace {

ValueChange update_of(const Attempt& attempt, ItemId item, double reward, double unused,
                      const LearnConfig& config, const ValueTable& values) {
  const Stage stage = attempt.context.stage;
  const std::int64_t n = values.find(stage, item).value_or(ItemValue{}).n + 1;
  return values.update(stage, item, reward, step_size(config.step, n), unused, attempt.sweep);
}

// Moves each used item once towards the reward (eq. 4), in context order: items chosen by selection and the
// start point, with equal credit.
void update_used(const Attempt& attempt, double reward, double unused, const LearnConfig& config,
                 const ValueTable& values, std::vector<ValueChange>& changes) {
  std::set<ItemId> seen;
  for (const auto& used : attempt.context.items)
    if (used.updated && !(config.frozen && used.item->source != "run") && seen.insert(used.item->id).second)
      changes.push_back(update_of(attempt, used.item->id, reward, unused, config, values));
}

// A withheld item learns the reward mirrored at what the task earns on average: an attempt that did better
// than that without it says that it is worth less.
void update_left_out(const Attempt& attempt, double reward, double mean, double unused,
                     const LearnConfig& config, const ValueTable& values, std::vector<ValueChange>& changes) {
  if (config.frozen) return;
  const double bound = attempt.context.stage == Stage::kDraft ? 1 : config.normaliser.clip;
  for (const auto& left_out : attempt.context.recall.left_out)
    changes.push_back(update_of(attempt, left_out.item->id, std::clamp(2 * mean - reward, -bound, bound),
                                unused, config, values));
}

// b after this attempt: monotone, and set by the first known latency.
std::optional<double> best_after(const Verdict& verdict, std::optional<double> best) {
  const auto latency = latency_ns(verdict);
  if (!latency || *latency <= 0) return best;
  return best ? std::min(*best, *latency) : *latency;
}

std::string outcome_line(const Verdict& verdict, std::optional<double> best_before) {
  if (!is_feasible(verdict)) {
    const auto& findings = findings_of(verdict);
    return fmt::format("failed at {}: {}", gate_of(verdict),
                       findings.empty() ? code_of(verdict) : findings.front().message);
  }
  const auto latency = latency_ns(verdict);
  if (!latency) return "passed, without a steady latency";
  return best_before ? fmt::format("passed at {:.0f} ns, {:.3f} times the best before", *latency,
                                   *best_before / *latency)
                     : fmt::format("passed at {:.0f} ns", *latency);
}

std::string choices_line(const std::vector<Choice>& choices) {
  std::vector<std::string> parts;
  for (const auto& c : choices) parts.push_back(c.construct + "=" + c.form);
  return fmt::format("{}", fmt::join(parts, "; "));
}

// The choices that differ from the start point's: what a refinement changed.
std::string change_line(const Attempt& attempt) {
  const MemoryItem* start = attempt.context.start();
  if (!start) return "";
  std::vector<std::string> parts;
  for (const auto& c : attempt.candidate.choices) {
    const auto same = [&](const Fact& f) { return f.choice == c; };
    if (std::none_of(start->facts.begin(), start->facts.end(), same))
      parts.push_back(c.construct + "=" + c.form);
  }
  return parts.empty() ? "changed nothing that is named" : fmt::format("changed {}", fmt::join(parts, ", "));
}

MemoryItem common_item(const Task& task, const Attempt& attempt, std::optional<double> best_before) {
  const Verdict& verdict = *attempt.verdict;
  MemoryItem item;
  item.backend = "ascendc_twin";
  item.source = "run";
  item.category = task.category;
  item.task = task.id;
  item.attempt = attempt.id;
  item.feasible = is_feasible(verdict);
  item.latency_ns = latency_ns(verdict);
  item.gate = gate_of(verdict);
  item.code = code_of(verdict);
  if (const auto& findings = findings_of(verdict); !findings.empty()) {
    item.finding_file = findings.front().file;
    item.finding_line = findings.front().line;
  }
  if (const auto* measured = std::get_if<Measured>(&verdict.outcome))
    item.bottleneck = measured->profile.bottleneck;
  item.hypothesis = attempt.candidate.hypothesis;
  item.source_hash = attempt.candidate.hash();
  item.created_sweep = attempt.sweep;
  item.title = fmt::format("{}: {}", task.name, outcome_line(verdict, best_before));
  item.key_text = task.key_text() + "\n" + item.bottleneck;
  return item;
}

// Kind 3 of the paper's memory: the code with the verifier's result. Its facts are the choices it was made
// of.
MemoryItem trace_item(const Task& task, const Attempt& attempt, std::optional<double> best_before,
                      std::int64_t number) {
  MemoryItem item = common_item(task, attempt, best_before);
  item.id = {number};
  item.kind = ItemKind::kTrace;
  item.name = fmt::format("trace/{}", attempt.id.number);
  item.text = feedback_of(*attempt.verdict);
  item.files = attempt.candidate.files;
  for (const auto& choice : attempt.candidate.choices) item.facts.push_back({choice, item.feasible});
  if (const MemoryItem* start = attempt.context.start()) item.parent = start->id;
  return item;
}

// Kind 2: what the attempt taught, from a template: gate, error class, first diagnostic, what changed,
// latency ratio.
MemoryItem experience_item(const Task& task, const Attempt& attempt, const FactsOf& facts_of,
                           std::optional<double> best_before, std::int64_t number) {
  MemoryItem item = common_item(task, attempt, best_before);
  item.id = {number};
  item.kind = ItemKind::kExperience;
  item.name = fmt::format("experience/{}", attempt.id.number);
  item.facts = facts_of(task, attempt.candidate, *attempt.verdict);
  item.text = fmt::format("{} of {} ({}): {}.\n", name_of(attempt.context.stage), task.name, task.category,
                          outcome_line(*attempt.verdict, best_before));
  if (const auto change = change_line(attempt); !change.empty()) item.text += change + ".\n";
  if (!item.hypothesis.empty()) item.text += "expected: " + item.hypothesis + "\n";
  if (!item.feasible) item.text += feedback_of(*attempt.verdict, 1000);
  if (!attempt.candidate.choices.empty())
    item.text += "constructs: " + choices_line(attempt.candidate.choices) + "\n";
  return item;
}

void learn_draft(const Attempt& attempt, const LearningState& state, const LearnConfig& config,
                 const ValueTable& values, Learnt& learnt) {
  learnt.reward = draft_reward(*attempt.verdict);
  const double mean = state.progress(attempt.task).draft_mean;
  const double credit = config.credit == Credit::kAdvantage ? *learnt.reward - mean : *learnt.reward;
  const double unused = unused_value(config.unused, state, attempt.task, Stage::kDraft);
  update_used(attempt, credit, unused, config, values, learnt.changes);
  update_left_out(attempt, credit, config.credit == Credit::kAdvantage ? 0 : mean, unused, config, values,
                  learnt.changes);
}

void learn_refine(const Attempt& attempt, const LearnConfig& config, const ValueTable& values,
                  Learnt& learnt) {
  learnt.reward = refine_reward(*attempt.verdict, learnt.best_before);
  if (is_normalised(*attempt.verdict, learnt.best_before)) {
    Normaliser normaliser(config.normaliser, learnt.normaliser);
    learnt.reward_hat = normaliser.normalise(*learnt.reward);
    learnt.normaliser = normaliser.state();
  } else {
    learnt.reward_hat = 0.0;
  }
  update_used(attempt, *learnt.reward_hat, 0.0, config, values, learnt.changes);
  update_left_out(attempt, *learnt.reward_hat, 0.0, 0.0, config, values, learnt.changes);
}

}  // namespace

Learnt learn_from(const Task& task, const Attempt& attempt, const LearningState& state,
                  const LearnConfig& config, const FactsOf& facts_of, std::int64_t next_item) {
  Learnt learnt;
  const TaskProgress& progress = state.progress(task.id);
  learnt.best_before = progress.best_ns;
  learnt.best_after = progress.best_ns;
  learnt.normaliser = state.normaliser();
  if (!attempt.verdict) return learnt;
  const ValueTable& values = state.values();
  if (!task.structurally_constant) {  // a task that cannot tell right from wrong teaches nothing
    if (attempt.context.stage == Stage::kDraft)
      learn_draft(attempt, state, config, values, learnt);
    else
      learn_refine(attempt, config, values, learnt);
  }
  learnt.best_after = best_after(*attempt.verdict, progress.best_ns);
  if (attempt.candidate.files.empty()) return learnt;  // no code, nothing to show
  learnt.items.push_back(trace_item(task, attempt, learnt.best_before, next_item));
  learnt.items.push_back(experience_item(task, attempt, facts_of, learnt.best_before, next_item + 1));
  if (learnt.items.front().feasible && config.start_own)
    learnt.changes.push_back(ValueTable::start_at(Stage::kRefine, learnt.items.front().id,
                                                  learnt.reward_hat.value_or(0.0), attempt.sweep));
  return learnt;
}

}  // namespace evk
