// Verdict -> rewards, values, new items. Pure: the same attempt and state give the same Learnt.
#pragma once

#include <functional>

#include "core/task.h"
#include "memory/learning_state.h"

namespace evk {

// What a use is given of a draft's reward.
enum class Credit {
  kReward,     // the reward (eq. 4)
  kAdvantage,  // the reward less the task's mean before it (Williams 1992); with UnusedRule::kZero
};

struct LearnConfig {
  StepConfig step;              // share of each reward that is learnt (eq. 4)
  NormaliserConfig normaliser;  // eq. 6
  UnusedConfig unused;          // where a value starts from
  Credit credit = Credit::kReward;
  bool frozen = false;    // values of what the campaign began with stay as they are
  bool start_own = true;  // a new start point's Q2 begins at its own normalised reward; false: never used
};

// What an attempt showed about constructs; given by whoever can read the candidate's choices.
using FactsOf = std::function<std::vector<Fact>(const Task&, const Candidate&, const Verdict&)>;

// What the attempt's commit changes, from the state that the commits before it left. New items are numbered
// from `next_item`. An attempt without verdict changes nothing.
Learnt learn_from(const Task& task, const Attempt& attempt, const LearningState& state,
                  const LearnConfig& config, const FactsOf& facts_of, std::int64_t next_item);

}  // namespace evk
