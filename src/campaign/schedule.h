// The schedules of a campaign (learning.md 4.4).
#pragma once

#include <string_view>

#include "memory/learning_state.h"
#include "retrieve/retriever.h"

namespace evk {

enum class LambdaRule {
  kPlateau,  // doubles when no new task was solved for some sweeps
  kPaper,    // lambda_start, then lambda_max from sweep 24 (paper figure 5)
  kConst,    // lambda_start
  kLinear,   // from lambda_start to lambda_max over the sweeps
};
enum class EpsilonRule {
  kLinear,   // from epsilon_start to epsilon_end over the sweeps
  kConst,    // epsilon_start
  kInverse,  // epsilon_start / sweep, not below epsilon_end (Auer, Cesa-Bianchi, Fischer 2002)
};
std::string_view name_of(LambdaRule rule);   // "plateau", "paper", "const", "linear"
std::string_view name_of(EpsilonRule rule);  // "linear", "const", "inverse"

struct ScheduleConfig {
  PoolScheduleConfig pool;  // lambda
  LambdaRule lambda_rule = LambdaRule::kPlateau;
  double epsilon_start = 0.3, epsilon_end = 0.05;
  EpsilonRule epsilon_rule = EpsilonRule::kLinear;
};

inline constexpr std::int64_t kPaperSweep = 24;  // where the paper widened its pool

// Epsilon of `sweep`, from 1 to `sweeps`; its end value beyond them.
double epsilon_at(const ScheduleConfig& config, std::int64_t sweep, std::int64_t sweeps);
// Lambda of `sweep`, given the state that it starts from.
double lambda_at(const ScheduleConfig& config, const LearningState& state, std::int64_t sweep,
                 std::int64_t sweeps);
// What the attempts of a sweep explore with, given the state that the sweep starts from.
Exploration exploration_at(const ScheduleConfig& config, const LearningState& state, std::int64_t sweep,
                           std::int64_t sweeps);

}  // namespace evk
