// What each study compares.
#include <fmt/format.h>

#include "campaign/study.h"

namespace evk {
namespace {

// The defaults with a pool of fixed size, so that a difference has one cause.
Variant fixed_pool(std::string name, double lambda) {
  Variant v;
  v.name = std::move(name);
  v.schedule.lambda_rule = LambdaRule::kConst;
  v.schedule.pool.lambda_start = lambda;
  return v;
}

Variant with_unused(std::string name, UnusedRule rule, double lambda) {
  Variant v = fixed_pool(fmt::format("{}, lambda {}", name, lambda), lambda);
  v.learn.unused.rule = v.retrieve.unused.rule = rule;
  return v;
}

Variant with_rule(Rule rule, double lambda) {
  Variant v = fixed_pool(fmt::format("{}, lambda {}", name_of(rule), lambda), lambda);
  v.retrieve.rank.rule = rule;
  return v;
}

Variant with_schedule(std::string name, LambdaRule rule) {
  Variant v;
  v.name = std::move(name);
  v.schedule.lambda_rule = rule;
  return v;
}

std::vector<Variant> values_study() {
  Variant isolated = fixed_pool("isolated memory, lambda 30", 30);
  isolated.retrieve.shared = false;
  return {with_rule(Rule::kValue, 30), with_rule(Rule::kSimilarity, 2), with_rule(Rule::kSimilarity, 30),
          isolated};
}

std::vector<Variant> q0_study() {
  std::vector<Variant> list;
  for (const double lambda : {30.0, 6.0, 2.0})
    for (const auto& [name, rule] : {std::pair("task mean", UnusedRule::kTaskMean),
                                     {"zero", UnusedRule::kZero},
                                     {"global mean", UnusedRule::kGlobalMean},
                                     {"-1", UnusedRule::kConst}})
      list.push_back(with_unused(fmt::format("Q0 {}", name), rule, lambda));
  return list;
}

std::vector<Variant> pool_study() {
  std::vector<Variant> list;
  for (const double lambda : {2.0, 6.0, 30.0})
    list.push_back(fixed_pool(fmt::format("lambda {}", lambda), lambda));
  list.push_back(with_schedule("lambda plateau", LambdaRule::kPlateau));
  list.push_back(with_schedule("lambda paper", LambdaRule::kPaper));
  list.push_back(with_schedule("lambda linear", LambdaRule::kLinear));
  return list;
}

std::vector<Variant> policy_study() {
  std::vector<Variant> list = {with_rule(Rule::kValue, 30), with_rule(Rule::kUcb1, 30),
                               with_rule(Rule::kThompson, 30), with_rule(Rule::kMemRl, 30)};
  Variant mmr = fixed_pool("mmr 0.7, lambda 30", 30);
  mmr.retrieve.rank.mmr = 0.7;
  Variant shrinkage = fixed_pool("shrinkage 2, lambda 30", 30);
  shrinkage.retrieve.shrinkage = 2;
  Variant advantage = with_unused("advantage", UnusedRule::kZero, 30);
  advantage.learn.credit = Credit::kAdvantage;
  list.insert(list.end(), {mmr, shrinkage, advantage});
  return list;
}

std::vector<Variant> step_study() {
  std::vector<Variant> list;
  for (const double alpha : {0.3, 0.1, 0.5, 1.0}) {
    list.push_back(fixed_pool(fmt::format("alpha {}, lambda 30", alpha), 30));
    list.back().learn.step.alpha = alpha;
  }
  for (const double offset : {1.0, 3.0}) {
    list.push_back(fixed_pool(fmt::format("1/(n+{}), lambda 30", offset), 30));
    list.back().learn.step.offset = offset;
  }
  for (const auto& [name, rule, start] : {std::tuple("epsilon 0", EpsilonRule::kConst, 0.0),
                                          {"epsilon 0.1", EpsilonRule::kConst, 0.1},
                                          {"epsilon 1/t", EpsilonRule::kInverse, 1.0}}) {
    list.push_back(fixed_pool(fmt::format("{}, lambda 30", name), 30));
    list.back().schedule.epsilon_rule = rule;
    list.back().schedule.epsilon_start = start;
  }
  return list;
}

std::vector<Variant> order_study() {
  Variant tasks = fixed_pool("task by task, lambda 30", 30);
  tasks.task_major = true;
  return {fixed_pool("sweep by sweep, lambda 30", 30), tasks};
}

}  // namespace

const std::vector<std::string>& study_names() {
  static const std::vector<std::string> names = {"values", "q0", "pool-size", "policies", "steps", "order"};
  return names;
}

std::vector<Variant> study_variants(const std::string& name) {
  if (name == "values") return values_study();
  if (name == "q0") return q0_study();
  if (name == "pool-size") return pool_study();
  if (name == "policies") return policy_study();
  if (name == "steps") return step_study();
  if (name == "order") return order_study();
  return {};
}

}  // namespace evk
