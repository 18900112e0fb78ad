#include "twin/engine/hazard.h"

namespace evk::twin {
namespace {

// S executes one instruction after the other; V waits for its own results (the compiler inserts that).
bool completes_in_order(int pipe) {
  return pipe == static_cast<int>(abi::Pipe::kS) || pipe == static_cast<int>(abi::Pipe::kV);
}

}  // namespace

bool Shadow::is_ordered(const Access& earlier, const Access& now, const Clock& clock) {
  return earlier.epoch == 0 || (earlier.pipe == now.pipe && completes_in_order(now.pipe)) ||
         clock[static_cast<std::size_t>(earlier.pipe)] >= earlier.epoch;
}

bool Shadow::knows_the_same(const Interval& a, const Interval& b) {
  return a.hi == b.lo && a.written == b.written && a.writer_pipe == b.writer_pipe &&
         a.writer_epoch == b.writer_epoch && a.writer_loc == b.writer_loc && a.reader == b.reader;
}

std::size_t Shadow::first_ending_after(std::uint64_t at) {
  const auto fits = [&](std::size_t i) {
    return i < list_.size() && list_[i].hi > at && (i == 0 || list_[i - 1].hi <= at);
  };
  if (fits(hint_)) return hint_;
  if (fits(hint_ + 1)) return ++hint_;
  const auto found =
      std::partition_point(list_.begin(), list_.end(), [&](const Interval& i) { return i.hi <= at; });
  return hint_ = static_cast<std::size_t>(found - list_.begin());
}

void Shadow::push(const Interval& i) {
  if (!fresh_.empty() && knows_the_same(fresh_.back(), i))
    fresh_.back().hi = i.hi;
  else
    fresh_.push_back(i);
}

void Shadow::splice(std::size_t at, std::size_t end) {
  const std::size_t old = end - at;
  const auto begin = list_.begin() + static_cast<std::ptrdiff_t>(at);
  if (fresh_.size() <= old) {
    std::copy(fresh_.begin(), fresh_.end(), begin);
    list_.erase(begin + static_cast<std::ptrdiff_t>(fresh_.size()), begin + static_cast<std::ptrdiff_t>(old));
  } else {
    std::copy(fresh_.begin(), fresh_.begin() + static_cast<std::ptrdiff_t>(old), begin);
    list_.insert(begin + static_cast<std::ptrdiff_t>(old), fresh_.begin() + static_cast<std::ptrdiff_t>(old),
                 fresh_.end());
  }
  merge_around(at, at + fresh_.size() - 1);
  if (list_.size() > fragments_max_) forget();
}

// Joins intervals first - 1 and first, last and last + 1, where they know the same.
void Shadow::merge_around(std::size_t first, std::size_t last) {
  const auto join_next = [&](std::size_t i) {
    if (i + 1 >= list_.size() || !knows_the_same(list_[i], list_[i + 1])) return;
    list_[i].hi = list_[i + 1].hi;
    list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  };
  join_next(last);
  if (first > 0) join_next(first - 1);
}

void Shadow::forget() {
  fresh_.clear();
  for (const Interval& i : list_) {
    Interval unknown;
    unknown.lo = i.lo, unknown.hi = i.hi;
    unknown.written = true;
    if (!fresh_.empty() && fresh_.size() >= fragments_max_ / 2)
      fresh_.back().hi = unknown.hi;
    else
      push(unknown);
  }
  list_.swap(fresh_);
}

}  // namespace evk::twin
