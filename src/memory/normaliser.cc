#include "memory/normaliser.h"

#include <algorithm>
#include <cmath>

namespace evk {
namespace {

// Welford's step: numerically safe sums of a running mean and variance.
void add(NormaliserState& state, double x) {
  ++state.n;
  const double delta = x - state.mean;
  state.mean += delta / static_cast<double>(state.n);
  state.m2 += delta * (x - state.mean);
}

}  // namespace

double Normaliser::mean() const { return state_.n < config_.warm_up ? 0.0 : state_.mean; }

double Normaliser::sigma() const {
  if (state_.n < config_.warm_up) return 1.0;
  return std::max(config_.sigma_min, std::sqrt(state_.m2 / static_cast<double>(state_.n)));
}

double Normaliser::normalise(double reward) {
  const double hat = std::clamp((reward - mean()) / sigma(), -config_.clip, config_.clip);
  add(state_, reward);
  return hat;
}

}  // namespace evk
