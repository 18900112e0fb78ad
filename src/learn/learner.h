// Verdict -> rewards, values, new items. Pure: the same attempt and state give the same Learnt.
#pragma once

#include <functional>

#include "core/task.h"
#include "memory/learning_state.h"

namespace evk {

struct LearnConfig {
  double alpha = 0.3;           // share of each reward that is learnt, in (0, 1] (eq. 4)
  NormaliserConfig normaliser;  // eq. 6
};

// What an attempt showed about constructs; given by whoever can read the candidate's choices.
using FactsOf = std::function<std::vector<Fact>(const Task&, const Candidate&, const Verdict&)>;

// What the attempt's commit changes, from the state that the commits before it left. New items are numbered
// from `next_item`. An attempt without verdict changes nothing.
Learnt learn_from(const Task& task, const Attempt& attempt, const LearningState& state,
                  const LearnConfig& config, const FactsOf& facts_of, std::int64_t next_item);

}  // namespace evk
