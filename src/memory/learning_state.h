// All that learning has made of the attempts so far, as a fold over them: values, normaliser, and where each
// task stands. A store holds the attempts; folding them again gives this state bit for bit, which is how a
// campaign resumes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/attempt.h"
#include "memory/normaliser.h"
#include "memory/value_table.h"

namespace evk {

// Where one task stands. `start_points` is P(x) of the paper (3.4).
struct TaskProgress {
  std::int64_t budget_used = 0;   // attempts that reached a verdict
  std::optional<double> best_ns;  // b: the lowest latency of a feasible candidate
  std::optional<AttemptId> best_attempt;
  std::optional<AttemptId> first_feasible;
  std::optional<std::int64_t> first_feasible_sweep, first_compiled_sweep;
  std::optional<double> first_ns;  // latency of the first feasible candidate with one
  double draft_mean = -1;          // EMA of r1: what a never-used item is taken to be worth (learning.md 4.2)
  std::vector<ItemId> start_points;                // feasible traces of distinct source
  std::vector<std::string> start_hashes;           // their source hashes
  std::map<ItemId, std::vector<ItemId>> children;  // traces refined from a start point, in commit order
  std::optional<ItemId> last_failure;              // trace of the last attempt, if it failed
  bool operator==(const TaskProgress&) const = default;
};

// The widening of the pool (learning.md 4.4): doubles when no new task was solved for some sweeps.
struct PoolSchedule {
  double lambda = 2;
  std::int64_t solved = 0;          // tasks solved at the end of the last sweep
  std::int64_t sweeps_without = 0;  // sweeps since the number grew
  bool operator==(const PoolSchedule&) const = default;
};

struct PoolScheduleConfig {
  double lambda_start = 2, lambda_max = 30;
  double growth = 2;
  std::int64_t patience_sweeps = 3;
};

// What a never-used item is taken to be worth in drafting (learning.md 4.2); in refining 0, since its rewards
// are centred.
enum class UnusedRule {
  kTaskMean,    // the task's running reward, from -1
  kZero,        // MemRL's: every new item beats every one that failed
  kGlobalMean,  // the mean reward of all drafts, from -1
  kConst,
};
std::string_view name_of(UnusedRule rule);  // "task_mean", "zero", "global_mean", "const"

struct UnusedConfig {
  UnusedRule rule = UnusedRule::kTaskMean;
  double constant = -1;  // of kConst
};

// Rewards of the items of one kind and category in one stage.
struct GroupRewards {
  std::int64_t n = 0;
  double sum = 0;
  bool operator==(const GroupRewards&) const = default;
};

class LearningState {
 public:
  explicit LearningState(const PoolScheduleConfig& config = {}) { pool_.lambda = config.lambda_start; }

  static constexpr double kDraftMeanStep = 0.3;
  static constexpr std::size_t kStartPointsMax = 64;

  // Takes over what the attempt's commit changed. REQUIRES: attempts come in commit order.
  void apply(const Attempt& attempt, const Learnt& learnt);
  // A value that an item was brought in with. REQUIRES: before any attempt.
  void restore(Stage stage, ItemId item, const ItemValue& value) { values_.restore(stage, item, value); }
  // Closes a sweep: moves the pool schedule.
  void end_sweep(const PoolScheduleConfig& config);

  const TaskProgress& progress(const TaskId& task) const;
  const ValueTable& values() const { return values_; }
  const NormaliserState& normaliser() const { return normaliser_; }
  const PoolSchedule& pool() const { return pool_; }
  // Mean reward of all drafts so far, with one of -1 before them.
  double draft_mean() const { return (draft_.sum - 1) / (static_cast<double>(draft_.n) + 1); }
  // Mean reward of the uses of items of `kind` and `category`; nothing if there was none.
  std::optional<double> group_mean(Stage stage, ItemKind kind, const std::string& category) const;
  std::int64_t solved() const;
  bool operator==(const LearningState&) const = default;

 private:
  void note_uses(const Attempt& attempt, const Learnt& learnt);
  void note_feasible(TaskProgress& task, const Attempt& attempt, const MemoryItem& trace);

  ValueTable values_;
  NormaliserState normaliser_;
  PoolSchedule pool_;
  std::map<TaskId, TaskProgress> tasks_;
  GroupRewards draft_;
  std::map<std::tuple<Stage, ItemKind, std::string>, GroupRewards> groups_;
};

// The value of a never-used item for an attempt at `task`.
double unused_value(const UnusedConfig& config, const LearningState& state, const TaskId& task, Stage stage);

}  // namespace evk
