#include "twin/engine/hazard.h"

#include <algorithm>

namespace evk::twin {
namespace {

// More fragments than this in one memory are merged by force: precision is given up before time and memory
// are.
constexpr std::size_t kIntervalsMax = 1 << 14;

bool ordered(const Access& earlier, const Access& now, const Clock& clock) {
  return earlier.epoch == 0 || earlier.pipe == now.pipe ||
         clock[static_cast<std::size_t>(earlier.pipe)] >= earlier.epoch;
}

}  // namespace

void join(Clock& into, const Clock& from) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

void Shadow::cut(std::uint64_t at) {
  auto it = intervals_.upper_bound(at);
  if (it == intervals_.begin()) return;
  --it;
  if (it->first == at || it->second.hi <= at) return;
  Interval right = it->second;
  it->second.hi = at;
  intervals_.emplace(at, right);
}

void Shadow::cover(std::uint64_t lo, std::uint64_t hi) {
  cut(lo);
  cut(hi);
  std::uint64_t at = lo;
  for (auto it = intervals_.lower_bound(lo); at < hi; ++it) {
    if (it == intervals_.end() || it->first >= hi) {
      Interval gap;
      gap.hi = hi;
      intervals_.emplace(at, gap);
      return;
    }
    if (it->first > at) {
      Interval gap;
      gap.hi = it->first;
      it = intervals_.emplace(at, gap).first;
    }
    at = it->second.hi;
  }
}

// Joins neighbours in [lo, hi] that know the same.
void Shadow::coalesce(std::uint64_t lo, std::uint64_t hi) {
  auto it = intervals_.lower_bound(lo);
  if (it != intervals_.begin()) --it;
  while (it != intervals_.end() && it->first <= hi) {
    const auto next = std::next(it);
    if (next == intervals_.end()) return;
    const auto same = [&](const Access& a, const Access& b) {
      return a.pipe == b.pipe && a.epoch == b.epoch;
    };
    const bool equal =
        it->second.hi == next->first && it->second.written == next->second.written &&
        same(it->second.writer, next->second.writer) &&
        std::equal(it->second.reader.begin(), it->second.reader.end(), next->second.reader.begin(), same);
    if (equal || (it->second.hi == next->first && intervals_.size() > kIntervalsMax)) {
      it->second.hi = next->second.hi;
      intervals_.erase(next);
    } else {
      ++it;
    }
  }
}

void Shadow::read(std::uint64_t lo, std::uint64_t hi, const Access& access, const Clock& clock,
                  const OnHazard& hazard, const OnUnwritten& unwritten) {
  if (lo >= hi) return;
  cover(lo, hi);
  for (auto it = intervals_.lower_bound(lo); it != intervals_.end() && it->first < hi; ++it) {
    Interval& interval = it->second;
    if (!interval.written)
      unwritten(it->first, interval.hi);
    else if (!ordered(interval.writer, access, clock))
      (void)hazard(HazardKind::kReadAfterWrite, interval.writer, it->first, interval.hi);
    interval.reader[static_cast<std::size_t>(access.pipe)] = access;
  }
  coalesce(lo, hi);
}

void Shadow::write(std::uint64_t lo, std::uint64_t hi, const Access& access, const Clock& clock,
                   const OnHazard& hazard) {
  if (lo >= hi) return;
  cover(lo, hi);
  for (auto it = intervals_.lower_bound(lo); it != intervals_.end() && it->first < hi; ++it) {
    Interval& interval = it->second;
    if (interval.written && !ordered(interval.writer, access, clock))
      (void)hazard(HazardKind::kWriteAfterWrite, interval.writer, it->first, interval.hi);
    for (const Access& reader : interval.reader)
      if (!ordered(reader, access, clock))
        (void)hazard(HazardKind::kWriteAfterRead, reader, it->first, interval.hi);
    interval.written = true;
    interval.writer = access;
    interval.reader = {};
  }
  coalesce(lo, hi);
}

}  // namespace evk::twin
