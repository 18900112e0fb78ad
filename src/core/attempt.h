// One trip through retrieve, generate, verify and learn, complete: what a transaction of the store holds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/generator.h"
#include "core/verdict.h"

namespace evk {

// What an item has been worth in one stage (learning.md 4.2). All zero counts = never used.
struct ItemValue {
  double q = 0;
  std::int64_t n = 0;
  double sum_r = 0, sum_r2 = 0;
  std::int64_t last_sweep = 0;
  bool operator==(const ItemValue&) const = default;
};

// Running mean and population variance of the refining rewards (Welford's sums).
struct NormaliserState {
  std::int64_t n = 0;
  double mean = 0, m2 = 0;
  bool operator==(const NormaliserState&) const = default;
};

// What the reward of an attempt moved.
struct ValueChange {
  Stage stage = Stage::kDraft;
  ItemId item;
  ItemValue before, after;
};

struct Attempt {
  AttemptId id;  // given at commit
  TaskId task;
  std::int64_t sweep = 0;  // from 1
  Context context;
  std::string prompt;
  Answer answer;
  Candidate candidate;             // empty if the answer held none
  std::optional<Verdict> verdict;  // unset if infrastructure failed
  std::string
      infrastructure_error;  // empty unless no verdict could be reached: no reward, no update, no budget used
};

// What learning made of an attempt. Computed at commit, in task order, from the state that the commits before
// left.
struct Learnt {
  std::optional<double> reward;                   // r1, or the raw r2; unset without verdict
  std::optional<double> reward_hat;               // r2 normalised (eq. 6)
  std::optional<double> best_before, best_after;  // latency in ns
  NormaliserState normaliser;                     // after
  std::vector<ValueChange> changes;
  std::vector<MemoryItem> items;  // new: the trace, the experience; ids given
};

}  // namespace evk
