// The rules that rank a pool.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "retrieve/policy.h"

namespace evk {
namespace {

constexpr double kPriorWeight = 2;  // rewards that a never-used item's start value counts for, in Thompson
constexpr double kZMax = 3;         // MemRL's clip

double normal(Random& random) {
  const double u = 1 - random.uniform(), angle = 2 * std::numbers::pi * random.uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(angle);
}

// Marsaglia and Tsang's method; below shape 1 by the boost that they give.
double gamma(double shape, Random& random) {
  if (shape < 1) return gamma(shape + 1, random) * std::pow(1 - random.uniform(), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(random), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - random.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

// Rewards of +1 and -1 are wins and losses; the start value is the prior's mean.
double draft_draw(const PoolEntry& e, Random& random) {
  const double n = static_cast<double>(e.learnt.n), wins = (n + e.learnt.sum_r) / 2;
  const double start = e.learnt.n ? 0.0 : e.value;
  const double prior = std::clamp((1 + start) / 2, 0.05, 0.95) * kPriorWeight;
  const double a = gamma(std::max(0.0, wins) + prior, random);
  const double b = gamma(std::max(0.0, n - wins) + kPriorWeight - prior, random);
  return 2 * a / (a + b) - 1;
}

double refine_draw(const PoolEntry& e, Random& random) {
  const double weight = static_cast<double>(e.learnt.n) + 1;
  const double start = e.learnt.n ? 0.0 : e.value;
  return (e.learnt.sum_r + start) / weight + normal(random) / std::sqrt(weight);
}

// A never-used item has no mean: its start value stands in, with the bonus of one use.
double ucb(const PoolEntry& e, double uses, double c) {
  const double n = static_cast<double>(std::max<std::int64_t>(1, e.learnt.n));
  const double mean = e.learnt.n ? e.learnt.sum_r / n : e.value;
  return mean + c * std::sqrt(2 * std::log(std::max(1.0, uses)) / n);
}

struct Spread {
  double mean = 0, deviation = 0;
  double z(double x) const { return deviation > 0 ? std::clamp((x - mean) / deviation, -kZMax, kZMax) : 0.0; }
};

Spread spread_of(const std::vector<PoolEntry>& pool, double PoolEntry::*field) {
  const double n = static_cast<double>(pool.size());
  Spread s;
  for (const auto& e : pool) s.mean += e.*field / n;
  double variance = 0;
  for (const auto& e : pool) variance += (e.*field - s.mean) * (e.*field - s.mean) / n;
  s.deviation = std::sqrt(variance);
  return s;
}

void mix_scores(std::vector<PoolEntry>& pool, double mix) {
  const Spread value = spread_of(pool, &PoolEntry::value);
  const Spread similarity = spread_of(pool, &PoolEntry::similarity);
  for (auto& e : pool) e.score = mix * value.z(e.value) + (1 - mix) * similarity.z(e.similarity);
}

}  // namespace

std::string_view name_of(Rule rule) {
  switch (rule) {
    case Rule::kValue:
      return "value";
    case Rule::kSimilarity:
      return "similarity";
    case Rule::kUcb1:
      return "ucb1";
    case Rule::kThompson:
      return "thompson";
    case Rule::kMemRl:
      return "memrl";
  }
  return "value";
}

void set_scores(std::vector<PoolEntry>& pool, const RankConfig& config, Stage stage, Random& random) {
  double uses = 0;
  for (const auto& e : pool) uses += static_cast<double>(e.learnt.n);
  if (config.rule == Rule::kMemRl) return mix_scores(pool, config.mix);
  for (auto& e : pool) {
    e.score = e.value;
    if (config.rule == Rule::kSimilarity) e.score = e.similarity;
    if (config.rule == Rule::kUcb1) e.score = ucb(e, uses, config.ucb_c);
    if (config.rule == Rule::kThompson)
      e.score = stage == Stage::kDraft ? draft_draw(e, random) : refine_draw(e, random);
  }
}

}  // namespace evk
