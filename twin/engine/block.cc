#include "twin/engine/block.h"

#include <algorithm>

namespace evk::twin {

std::uint64_t SharedCache::touch(std::uint64_t lo, std::uint64_t hi) {
  if (lines_.empty()) lines_.resize(sets_);
  std::uint64_t present = 0;
  for (std::uint64_t at = lo; at < hi;) {
    const std::uint64_t line = at / kLineBytes + 1, end = std::min(hi, line * kLineBytes);
    // Neighbouring lines stay neighbours; tensors that lie a multiple of the cache apart do not collide.
    auto& set = lines_[(line + line / sets_ * 977) % sets_];
    std::size_t way = 0;
    while (way + 1 < kWays && set[way] != line) ++way;
    if (set[way] == line) present += end - at;
    for (; way > 0; --way) set[way] = set[way - 1];
    set[0] = line;
    at = end;
  }
  return present;
}

void BusyUnion::add(int pipe, double start, double end) {
  const auto p = static_cast<std::size_t>(pipe);
  double covered = 0;
  for (const Span& other : recent_[1 - p])
    covered += std::max(0.0, std::min(end, other.end) - std::max(start, other.start));
  total_ += std::max(0.0, end - start - covered);
  recent_[p][next_[p]++ % recent_[p].size()] = {start, end};
}

}  // namespace evk::twin
