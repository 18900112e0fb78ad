// Happens-before between the pipes of one core, and the shadow of a memory: who wrote and read each byte
// last.
//
// Each pipe has a vector clock; its own component grows at release points (a flag set, a barrier). An access
// is ordered after an earlier one by pipe q at epoch e if the accessing pipe's clock has reached e in
// component q (FastTrack).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "twin/abi/abi.h"

namespace evk::twin {

using Clock = std::array<std::uint32_t, abi::kPipes>;

void join(Clock& into, const Clock& from);

// What the shadow knows of a range of bytes.
struct Access {
  int pipe = 0;
  std::uint32_t epoch = 0;
  std::uint32_t loc = 0;
  double done = 0;  // cycle at which it completes
};

enum class HazardKind { kReadAfterWrite, kWriteAfterRead, kWriteAfterWrite };

class Shadow {
 public:
  // Called with an unordered earlier access; answers true if an inserted synchronisation orders it after all.
  using OnHazard = std::function<bool(HazardKind, const Access& earlier, std::uint64_t lo, std::uint64_t hi)>;
  // Called once per touched interval that nothing ever wrote.
  using OnUnwritten = std::function<void(std::uint64_t lo, std::uint64_t hi)>;

  void read(std::uint64_t lo, std::uint64_t hi, const Access& access, const Clock& clock,
            const OnHazard& hazard, const OnUnwritten& unwritten);
  void write(std::uint64_t lo, std::uint64_t hi, const Access& access, const Clock& clock,
             const OnHazard& hazard);
  void clear() { intervals_.clear(); }

 private:
  struct Interval {
    std::uint64_t hi = 0;
    bool written = false;
    Access writer;
    std::array<Access, abi::kPipes> reader{};  // last read by each pipe; epoch 0 = none
  };
  // Cuts intervals so that lo and hi are boundaries, and covers [lo, hi) with intervals.
  void cut(std::uint64_t at);
  void cover(std::uint64_t lo, std::uint64_t hi);
  void coalesce(std::uint64_t lo, std::uint64_t hi);

  std::map<std::uint64_t, Interval> intervals_;  // by lower bound, disjoint
};

}  // namespace evk::twin
