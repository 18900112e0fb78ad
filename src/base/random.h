// Counter-based random numbers: a draw depends on its key alone, never on what was drawn before or on which
// thread asks, so that a run is repeatable bit for bit whatever the number of workers.
#pragma once

#include <cstdint>
#include <string_view>

namespace evk {

// A 64-bit mix of its arguments (SplitMix64's finaliser, applied in a chain).
std::uint64_t mix(std::uint64_t a, std::uint64_t b);
// FNV-1a over the bytes, then mixed; stable across machines, and stored in files.
std::uint64_t hash64(std::string_view text);

// The stream of draws for one purpose. Copyable; two streams of equal keys give equal draws.
class Random {
 public:
  explicit Random(std::uint64_t key) : key_(key) {}
  // The stream that (seed, sweep, task, purpose) names.
  static Random of(std::uint64_t seed, std::int64_t sweep, std::string_view task, std::string_view purpose);

  std::uint64_t next();
  // Uniform in [0, 1), 53 bits.
  double uniform();
  // Uniform in [0, bound), without modulo bias. REQUIRES: bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // True with probability `p`.
  bool coin(double p) { return uniform() < p; }

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace evk
