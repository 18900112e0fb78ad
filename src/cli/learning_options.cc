#include "cli/learning_options.h"

#include "base/check.h"

namespace evk {
namespace {

// The enumerator of `all` with that name. REQUIRES: there is one; the option table admits no other text.
template <typename T>
T named(const std::string& name, std::initializer_list<T> all) {
  for (const T value : all)
    if (name_of(value) == name) return value;
  check_failed(__FILE__, __LINE__, "a known name", name);
}

void set_values(const RunOptions& o, LearnConfig& learn) {
  learn.step.alpha = o.alpha;
  if (o.step_offset > 0) learn.step.offset = o.step_offset;
  learn.unused.rule =
      named(o.q0, {UnusedRule::kTaskMean, UnusedRule::kZero, UnusedRule::kGlobalMean, UnusedRule::kConst});
  learn.unused.constant = o.q0_value;
  learn.start_own = o.start_q0 == "own";
  if (o.credit == "reward") return;
  learn.credit = Credit::kAdvantage;
  learn.unused.rule = UnusedRule::kZero;  // an advantage is centred: never used is average
}

void set_retrieval(const RunOptions& o, RetrieveConfig& retrieve) {
  retrieve.slots = static_cast<int>(o.slots);
  retrieve.shared = o.memory != "isolated";
  retrieve.frozen = o.memory == "frozen";
  retrieve.quotas = o.quotas == "roles";
  retrieve.rank.rule =
      named(o.policy, {Rule::kValue, Rule::kSimilarity, Rule::kUcb1, Rule::kThompson, Rule::kMemRl});
  retrieve.rank.ucb_c = o.ucb_c;
  retrieve.rank.mix = o.mix;
  retrieve.rank.mmr = o.mmr;
  retrieve.shrinkage = o.shrinkage;
  retrieve.leave_one_out = o.leave_one_out;
}

void set_schedule(const RunOptions& o, ScheduleConfig& schedule) {
  schedule.pool.lambda_start = o.lambda_start;
  schedule.pool.lambda_max = o.lambda_max;
  schedule.lambda_rule = named(
      o.lambda_rule, {LambdaRule::kPlateau, LambdaRule::kPaper, LambdaRule::kConst, LambdaRule::kLinear});
  schedule.epsilon_start = o.epsilon_start;
  schedule.epsilon_end = o.epsilon_end;
  schedule.epsilon_rule =
      named(o.epsilon_rule, {EpsilonRule::kLinear, EpsilonRule::kConst, EpsilonRule::kInverse});
}

}  // namespace

void set_learning(const RunOptions& options, CampaignConfig& config) {
  set_values(options, config.learn);
  set_retrieval(options, config.retrieve);
  set_schedule(options, config.schedule);
  config.learn.frozen = config.retrieve.frozen;
  config.retrieve.unused = config.learn.unused;
  config.duplicates = named(options.duplicates, {Duplicates::kExact, Duplicates::kNear, Duplicates::kNever});
}

}  // namespace evk
