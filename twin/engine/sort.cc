// Sort32 and MrgSort: pairs of a score and an index of eight bytes, in order of falling scores.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "twin/engine/core.h"
#include "twin/engine/vector_exec.h"

namespace evk::twin {
namespace {

using abi::DType;

constexpr std::uint64_t kPairBytes = 8, kGroup = 32;
// Cycles of one group of 32 and of one step of four lists, from the published cost model for 910B3.
constexpr double kSortHead = 20, kSortCycles = 16, kMergeHead = 20, kMergeCycles = 78;

bool is_score(const abi::Operand& o) {
  return o.space == abi::Space::kUb && (o.dtype == DType::kF32 || o.dtype == DType::kF16);
}

// NaN stands above all numbers.
bool above(double a, double b) { return std::isnan(a) ? !std::isnan(b) : a > b; }

struct Pair {
  double score = 0;
  std::array<std::byte, kPairBytes> bytes{};
};

Pair pair_at(DType dtype, const std::byte* at) {
  Pair p;
  std::memcpy(p.bytes.data(), at, kPairBytes);
  p.score = load(dtype, at);
  return p;
}

}  // namespace

// A repeat: 32 scores of operand[1] with their indices of operand[2] (uint32). Equal scores keep their order.
void Core::sort_32(const abi::Record& r) {
  if (r.operands < 3 || !is_score(r.operand[0]) || r.operand[1].dtype != r.operand[0].dtype ||
      r.operand[1].space != abi::Space::kUb || r.operand[2].space != abi::Space::kUb)
    return fault("dtype_unsupported", "Sort32 sorts float or half with uint32 indices, in UB", "Cast first");
  const DType dtype = r.operand[0].dtype;
  const std::uint64_t size = abi::bytes_of(dtype), repeats = r.a[3] & 0xff;
  for (int i = 0; i < 3; ++i)
    if (!aligned(r.operand[i], "an operand of Sort32")) return;
  for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
    const Range scores =
        range(r.operand[1], repeat * kGroup * size, kGroup * size, false, "the scores of Sort32");
    const Range indices =
        range(r.operand[2], repeat * kGroup * 4, kGroup * 4, false, "the indices of Sort32");
    const Range dst = range(r.operand[0], repeat * kGroup * kPairBytes, kGroup * kPairBytes, true,
                            "the destination of Sort32");
    if (!scores.ok || !indices.ok || !dst.ok) return;
    touch(kV, r.operand[1], scores, false);
    touch(kV, r.operand[2], indices, false);
    touch(kV, r.operand[0], dst, true);
    if (!dst.data) continue;
    std::array<Pair, kGroup> pairs;
    for (std::uint64_t i = 0; i < kGroup; ++i) {
      pairs[i].score = load(dtype, scores.data + i * size);
      std::memcpy(pairs[i].bytes.data(), scores.data + i * size, size);
      std::memcpy(pairs[i].bytes.data() + 4, indices.data + i * 4, 4);
    }
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const Pair& a, const Pair& b) { return above(a.score, b.score); });
    for (std::uint64_t i = 0; i < kGroup; ++i)
      std::memcpy(dst.data + i * kPairBytes, pairs[i].bytes.data(), kPairBytes);
  }
  ++block_->totals.vector_instructions;
  run_on(kV, kSortHead + static_cast<double>(repeats) * kSortCycles);
}

// Merges up to four sorted lists of pairs. operand[0] dst, operand[1] the first list; a[2], a[3], a[4]
// address and bytes (<< 32) of the others; a[0] their lengths in pairs, 16 bits each; a[1] = number of lists
// | repeats
// << 8 | stop when a list runs out << 16. With repeats the lists follow one another, all of one length.
void Core::merge_sorted(const abi::Record& r) {
  const std::uint64_t lists = r.a[1] & 0xff, repeats = r.a[1] >> 8 & 0xff;
  const bool stops = (r.a[1] >> 16) & 1;
  if (r.operands < 2 || !is_score(r.operand[0]) || !is_score(r.operand[1]) || lists < 2 || lists > 4)
    return fault("dtype_unsupported", "MrgSort merges two to four lists of float or half pairs, in UB", "");
  const DType dtype = r.operand[1].dtype;
  std::array<abi::Operand, 4> source{};
  std::array<std::uint64_t, 4> length{};
  std::uint64_t total = 0;
  for (std::size_t k = 0; k < lists; ++k) {
    source[k] = r.operand[1];
    if (k > 0)
      source[k].addr = r.a[1 + k] & 0xffffffffu,
      source[k].bytes = static_cast<std::uint32_t>(r.a[1 + k] >> 32), source[k].buf = 0;
    if (!aligned(source[k], "a list of MrgSort", kPairBytes)) return;
    length[k] = r.a[0] >> (16 * k) & 0xffff;
    total += length[k];
  }
  for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
    std::array<Range, 4> list;
    for (std::size_t k = 0; k < lists; ++k) {
      list[k] =
          range(source[k], repeat * total * kPairBytes, length[k] * kPairBytes, false, "a list of MrgSort");
      if (!list[k].ok) return;
      touch(kV, source[k], list[k], false);
    }
    const Range dst = range(r.operand[0], repeat * total * kPairBytes, total * kPairBytes, true,
                            "the destination of MrgSort");
    if (!dst.ok) return;
    touch(kV, r.operand[0], dst, true);
    std::array<std::uint64_t, 4> taken = length;
    if (dst.data) {
      taken = {};
      for (std::uint64_t made = 0; made < total; ++made) {
        std::size_t best = lists;
        double score = 0;
        bool ran_out = false;
        for (std::size_t k = 0; k < lists; ++k) {
          if (taken[k] == length[k]) {
            ran_out = ran_out || length[k] > 0;
            continue;
          }
          const double s = pair_at(dtype, list[k].data + taken[k] * kPairBytes).score;
          if (best == lists || above(s, score)) best = k, score = s;
        }
        if (stops && ran_out) break;
        std::memmove(dst.data + made * kPairBytes, list[best].data + taken[best] * kPairBytes, kPairBytes);
        ++taken[best];
      }
    }
    block_->reduced.merged = 0;
    for (std::size_t k = 0; k < 4; ++k) block_->reduced.merged |= (k < lists ? taken[k] : 0) << (16 * k);
  }
  ++block_->totals.vector_instructions;
  const double steps = static_cast<double>(repeats) * static_cast<double>((total + 127) / 128);
  run_on(kV, kMergeHead + steps * kMergeCycles);
}

}  // namespace evk::twin
