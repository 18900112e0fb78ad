// Task and memory -> Context (paper 3.2): recall by similarity, choose by value, add what is known by name.
#pragma once

#include "base/random.h"
#include "core/context.h"
#include "core/task.h"
#include "memory/learning_state.h"
#include "memory/memory.h"
#include "retrieve/policy.h"

namespace evk {

struct RetrieveConfig {
  int slots = 5;  // N
  int per_task_max = 2;
  int api_exact_max = 4;     // API items found by a name in shown code or in an error
  int api_semantic_max = 2;  // API items near the task
  int pitfalls_max = 2;      // items that answer the last failure's code
  int children_max = 5;      // attempts refined from the start point
  int variants_max = 2;      // faster or otherwise bound kernels of the same task
  int feasible_min = 3;      // with as many feasible traces in the pool, drafting is shown no failed ones
  std::size_t chars_max = 120000;  // of all items together; the lowest value is dropped first
  RankConfig rank;                 // kSimilarity also starts from the lowest latency (the heuristic ablation)
  UnusedConfig unused;             // that of LearnConfig
  bool quotas = true;              // false: one pool for all roles and tasks, exactly the paper's text
  double shrinkage = 0;            // weight of the mean of an item's kind and category in its value; 0 = off
  double leave_one_out = 0;  // share of the attempts that withhold one chosen item; its value then learns
                             // the mirrored reward (difference reward; Wolpert & Tumer 2001)
  bool shared = true;        // false: own attempts only (the isolation ablation)
  bool frozen = false;       // true: nothing of this campaign is recalled, only what it began with
};

// Schedules at one sweep (learning.md 4.4).
struct Exploration {
  double lambda = 2;  // pool size = lambda * N
  double epsilon = 0.3;
};

// What a draft of `task` is shown. Pure in its arguments; draws from `random` in a fixed order.
Context retrieve_for_draft(const Task& task, const Memory& memory, const LearningState& state,
                           const RetrieveConfig& config, const Exploration& exploration, Random& random);

// What a refinement is shown: a start point from P(x), its children, variants and chosen items.
// REQUIRES: the task has a start point.
Context retrieve_for_refine(const Task& task, const Memory& memory, const LearningState& state,
                            const RetrieveConfig& config, const Exploration& exploration, Random& random);

// Identifiers of code or of an error message that start with a capital: names that an API item may document.
std::vector<std::string> api_names_in(std::string_view text);

}  // namespace evk
