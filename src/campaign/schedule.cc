#include "campaign/schedule.h"

#include <algorithm>

namespace evk {
namespace {

// Where `sweep` stands between the first (0) and the last (1).
double share_of(std::int64_t sweep, std::int64_t sweeps) {
  if (sweeps <= 1) return 0;
  return std::clamp(static_cast<double>(sweep - 1) / static_cast<double>(sweeps - 1), 0.0, 1.0);
}

}  // namespace

std::string_view name_of(LambdaRule rule) {
  switch (rule) {
    case LambdaRule::kPlateau:
      return "plateau";
    case LambdaRule::kPaper:
      return "paper";
    case LambdaRule::kConst:
      return "const";
    case LambdaRule::kLinear:
      return "linear";
  }
  return "plateau";
}

std::string_view name_of(EpsilonRule rule) {
  switch (rule) {
    case EpsilonRule::kLinear:
      return "linear";
    case EpsilonRule::kConst:
      return "const";
    case EpsilonRule::kInverse:
      return "inverse";
  }
  return "linear";
}

double epsilon_at(const ScheduleConfig& config, std::int64_t sweep, std::int64_t sweeps) {
  const double start = config.epsilon_start, end = config.epsilon_end;
  switch (config.epsilon_rule) {
    case EpsilonRule::kLinear:
      return start + share_of(sweep, sweeps) * (end - start);
    case EpsilonRule::kConst:
      return start;
    case EpsilonRule::kInverse:
      return std::max(end, start / static_cast<double>(std::max<std::int64_t>(1, sweep)));
  }
  return start;
}

double lambda_at(const ScheduleConfig& config, const LearningState& state, std::int64_t sweep,
                 std::int64_t sweeps) {
  const double start = config.pool.lambda_start, end = config.pool.lambda_max;
  switch (config.lambda_rule) {
    case LambdaRule::kPlateau:
      return state.pool().lambda;
    case LambdaRule::kPaper:
      return sweep < kPaperSweep ? start : end;
    case LambdaRule::kConst:
      return start;
    case LambdaRule::kLinear:
      return start + share_of(sweep, sweeps) * (end - start);
  }
  return start;
}

Exploration exploration_at(const ScheduleConfig& config, const LearningState& state, std::int64_t sweep,
                           std::int64_t sweeps) {
  return {lambda_at(config, state, sweep, sweeps), epsilon_at(config, sweep, sweeps)};
}

}  // namespace evk
