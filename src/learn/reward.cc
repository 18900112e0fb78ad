#include "learn/reward.h"

namespace evk {

double draft_reward(const Verdict& verdict) { return is_feasible(verdict) ? 1.0 : -1.0; }

double speed_reward(double best_ns, double latency_ns) {
  const double rho = best_ns / latency_ns;
  return (rho * rho - 1) / (rho * rho + 1);
}

double refine_reward(const Verdict& verdict, std::optional<double> best_ns) {
  if (!is_feasible(verdict)) return -1.0;
  const auto latency = latency_ns(verdict);
  return latency && best_ns ? speed_reward(*best_ns, *latency) : 0.0;
}

bool is_normalised(const Verdict& verdict, std::optional<double> best_ns) {
  return !is_feasible(verdict) || (latency_ns(verdict) && best_ns);
}

}  // namespace evk
