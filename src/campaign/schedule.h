// The schedules of a campaign (learning.md 4.4).
#pragma once

#include "memory/learning_state.h"
#include "retrieve/retriever.h"

namespace evk {

struct ScheduleConfig {
  PoolScheduleConfig pool;                         // lambda
  double epsilon_start = 0.3, epsilon_end = 0.05;  // linear over the sweeps
};

// Epsilon of `sweep`, from 1 to `sweeps`; its end value beyond them.
double epsilon_at(const ScheduleConfig& config, std::int64_t sweep, std::int64_t sweeps);
// What the attempts of a sweep explore with, given the state that the sweep starts from.
Exploration exploration_at(const ScheduleConfig& config, const LearningState& state, std::int64_t sweep,
                           std::int64_t sweeps);

}  // namespace evk
