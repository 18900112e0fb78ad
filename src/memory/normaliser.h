// Running normalisation of the refining reward (paper 3.4, eq. 6): the previous step's mean and standard
// deviation normalise the current reward, then the reward is added. Population variance.
#pragma once

#include "core/attempt.h"

namespace evk {

struct NormaliserConfig {
  std::int64_t warm_up = 5;  // below this many rewards mean 0 and deviation 1 are used
  double sigma_min = 0.1;    // floor of the deviation: bounds |r_hat| (paper appendix A)
  double clip = 3.0;         // bound of |r_hat|, in (0, inf)
};

class Normaliser {
 public:
  explicit Normaliser(NormaliserConfig config, NormaliserState state = {}) : config_(config), state_(state) {}
  double mean() const;   // mu of the rewards so far; 0 in the warm-up
  double sigma() const;  // deviation with its floor; 1 in the warm-up
  // Eq. 6: (reward - mu) / sigma with the statistics before `reward`, clipped; then adds `reward` to them.
  double normalise(double reward);
  const NormaliserState& state() const { return state_; }

 private:
  NormaliserConfig config_;
  NormaliserState state_;
};

}  // namespace evk
