// Rewards from the verifier's verdict.
#pragma once

#include <optional>

#include "core/verdict.h"

namespace evk {

// Paper eq. 5 (3.3): r1 = +1 if the candidate is feasible, else -1. Not normalised.
double draft_reward(const Verdict& verdict);

// Paper 3.4, before eq. 6: r2 = -1 if infeasible, else tanh(ln b - ln l), with b the best latency *before*
// this attempt and l this one's. With rho = b / l that is (rho^2 - 1) / (rho^2 + 1). REQUIRES: both latencies
// positive.
double speed_reward(double best_ns, double latency_ns);

// r2 of a verdict. 0 for a feasible candidate whose latency, or whose task's best latency, is unknown.
double refine_reward(const Verdict& verdict, std::optional<double> best_ns);

// Whether r2 of this verdict is part of the stream that eq. 6 normalises: all but the zeros for unknown
// latencies.
bool is_normalised(const Verdict& verdict, std::optional<double> best_ns);

}  // namespace evk
