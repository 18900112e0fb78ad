// Happens-before between the pipes of one core, and the shadow of a memory: who wrote and read each byte
// last.
//
// A pipe numbers its epochs; one ends where others can wait for it (a flag, a barrier). Component q of pipe
// p's clock is the last epoch of q that is known to be complete whenever p executes its next instruction. So
// an access of pipe q in epoch e happened before p's next one if clock_of_p[q] >= e, also for q == p: issue
// in order alone does not complete an earlier instruction (FastTrack, with completion in place of program
// order).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "twin/abi/abi.h"

namespace evk::twin {

using Clock = std::array<std::uint32_t, abi::kPipes>;

inline void join(Clock& into, const Clock& from) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

// One access, for the shadow. Epochs begin at 1; epoch 0 means "none".
struct Access {
  int pipe = 0;
  std::uint32_t epoch = 0;
  std::uint32_t loc = 0;
};

enum class HazardKind { kReadAfterWrite, kWriteAfterRead, kWriteAfterWrite };

// Disjoint intervals of one memory, sorted. Neighbours that know the same are one. Beyond `fragments_max` of
// them all are forgotten (counted as written, ordered with everything): a miss is better than a false alarm.
class Shadow {
 public:
  explicit Shadow(std::size_t fragments_max = 1024) : fragments_max_(fragments_max) {}

  // `hazard(kind, earlier, lo, hi)` is called for each unordered earlier access, `unwritten(lo, hi)` for each
  // touched interval that nothing wrote, `clock` is asked anew for each interval, since a hazard may be
  // resolved by an inserted synchronisation. REQUIRES: lo < hi.
  template <typename OnHazard, typename OnUnwritten>
  void read(std::uint64_t lo, std::uint64_t hi, const Access& access, const Clock& clock, OnHazard&& hazard,
            OnUnwritten&& unwritten) {
    const std::size_t at = first_ending_after(lo);
    if (at < list_.size() && list_[at].lo <= lo && hi <= list_[at].hi) {
      const Interval& i = list_[at];
      const Reader& r = i.reader[static_cast<std::size_t>(access.pipe)];
      if (i.written && r.epoch == access.epoch && r.loc == access.loc &&
          is_ordered(writer_of(i), access, clock))
        return;  // nothing new: the common case of a tile read piece by piece
    }
    update(at, lo, hi, [&](Interval& i) {
      if (!i.written)
        unwritten(i.lo, i.hi);
      else if (!is_ordered(writer_of(i), access, clock))
        hazard(HazardKind::kReadAfterWrite, writer_of(i), i.lo, i.hi);
      i.reader[static_cast<std::size_t>(access.pipe)] = {access.epoch, access.loc};
    });
  }

  template <typename OnHazard>
  void write(std::uint64_t lo, std::uint64_t hi, const Access& access, const Clock& clock,
             OnHazard&& hazard) {
    update(first_ending_after(lo), lo, hi, [&](Interval& i) {
      if (i.written && !is_ordered(writer_of(i), access, clock))
        hazard(HazardKind::kWriteAfterWrite, writer_of(i), i.lo, i.hi);
      for (int p = 0; p < abi::kPipes; ++p) {
        Reader& r = i.reader[static_cast<std::size_t>(p)];
        const Access earlier{p, r.epoch, r.loc};
        // A pipe executes in order: its own earlier reads have taken their data before it writes.
        if (p != access.pipe && !is_ordered(earlier, access, clock))
          hazard(HazardKind::kWriteAfterRead, earlier, i.lo, i.hi);
        r = {};
      }
      i.written = true;
      i.writer_pipe = static_cast<std::uint8_t>(access.pipe);
      i.writer_epoch = access.epoch;
      i.writer_loc = access.loc;
    });
  }

  void clear() { list_.clear(); }
  std::size_t fragments() const { return list_.size(); }

 private:
  struct Reader {
    std::uint32_t epoch = 0, loc = 0;
    bool operator==(const Reader&) const = default;
  };
  struct Interval {
    std::uint64_t lo = 0, hi = 0;
    bool written = false;
    std::uint8_t writer_pipe = 0;
    std::uint32_t writer_epoch = 0, writer_loc = 0;
    std::array<Reader, abi::kPipes> reader{};
  };

  static Access writer_of(const Interval& i) { return {i.writer_pipe, i.writer_epoch, i.writer_loc}; }
  static bool is_ordered(const Access& earlier, const Access& now, const Clock& clock);
  static bool knows_the_same(const Interval& a, const Interval& b);
  // Index of the first interval with hi > at.
  std::size_t first_ending_after(std::uint64_t at);
  void merge_around(std::size_t first, std::size_t last);
  void forget();

  // Applies `change` to each part of [lo, hi), gaps included, cutting intervals where needed.
  template <typename Change>
  void update(std::size_t at, std::uint64_t lo, std::uint64_t hi, Change&& change) {
    if (at < list_.size() && list_[at].lo == lo && list_[at].hi == hi) {
      change(list_[at]);
      return merge_around(at, at);
    }
    fresh_.clear();
    std::size_t end = at;
    std::uint64_t next = lo;
    const auto gap = [&](std::uint64_t to) {
      Interval i;
      i.lo = next, i.hi = to;
      change(i);
      push(i);
    };
    for (; end < list_.size() && list_[end].lo < hi; ++end) {
      const Interval whole = list_[end];
      if (whole.lo < lo) push(cut(whole, whole.lo, lo));
      if (whole.lo > next) gap(whole.lo);
      Interval middle = cut(whole, std::max(whole.lo, lo), std::min(whole.hi, hi));
      next = middle.hi;
      change(middle);
      push(middle);
      if (whole.hi > hi) push(cut(whole, hi, whole.hi));
    }
    if (next < hi) gap(hi);
    splice(at, end);
  }
  static Interval cut(Interval i, std::uint64_t lo, std::uint64_t hi) {
    i.lo = lo, i.hi = hi;
    return i;
  }
  void push(const Interval& i);
  void splice(std::size_t at, std::size_t end);

  std::vector<Interval> list_, fresh_;
  std::size_t fragments_max_;
  std::size_t hint_ = 0;
};

}  // namespace evk::twin
