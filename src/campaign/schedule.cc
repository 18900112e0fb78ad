#include "campaign/schedule.h"

#include <algorithm>

namespace evk {

double epsilon_at(const ScheduleConfig& config, std::int64_t sweep, std::int64_t sweeps) {
  if (sweeps <= 1) return config.epsilon_start;
  const double share = std::clamp(static_cast<double>(sweep - 1) / static_cast<double>(sweeps - 1), 0.0, 1.0);
  return config.epsilon_start + share * (config.epsilon_end - config.epsilon_start);
}

Exploration exploration_at(const ScheduleConfig& config, const LearningState& state, std::int64_t sweep,
                           std::int64_t sweeps) {
  return {state.pool().lambda, epsilon_at(config, sweep, sweeps)};
}

}  // namespace evk
