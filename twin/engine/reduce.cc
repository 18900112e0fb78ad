// Reductions: to one value, and to one value for each repeat, block or pair.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "twin/engine/core.h"
#include "twin/engine/vector_exec.h"

namespace evk::twin {
namespace {

using abi::DType;
using abi::Op;

constexpr std::uint64_t kRepeatBytes = 256, kBlockBytes = 32;

const char* const kSource = "the source of a reduction";
const char* const kDestination = "the destination of a reduction";

bool in(Op op, Op first, Op last) { return op >= first && op <= last; }
bool is_sum(Op op) {
  return op == Op::kReduceSum || op == Op::kWholeReduceSum || op == Op::kBlockReduceSum ||
         op == Op::kPairReduceSum;
}
bool is_max(Op op) { return op == Op::kReduceMax || op == Op::kWholeReduceMax || op == Op::kBlockReduceMax; }

// What the instruction gives for each group of elements.
struct Groups {
  std::uint64_t elements = 0;  // in a group
  std::uint64_t results = 0;   // of a repeat
  std::uint64_t width = 1;     // values a result: 2 with an index
  std::uint64_t step = 0;      // elements from repeat to repeat, in units of the destination's stride
  bool value = true, index = false, index_first = false;
};

Groups groups_of(const abi::Record& r, std::uint64_t per_repeat, std::uint64_t per_block) {
  Groups g;
  const bool whole = in(r.op, Op::kWholeReduceSum, Op::kWholeReduceMin), pair = r.op == Op::kPairReduceSum;
  g.elements = whole ? per_repeat : pair ? 2 : per_block;
  g.results = per_repeat / g.elements;
  if (whole && !is_sum(r.op)) {  // a[5]: value and index, index and value, value, index
    g.value = r.a[5] != 3;
    g.index = r.a[5] != 2;
    g.index_first = r.a[5] == 1;
    g.width = g.value && g.index ? 2 : 1;
  }
  g.step = whole ? g.width : pair ? per_repeat / 2 : 8;
  return g;
}

bool chosen_bit(const abi::Record& r, std::uint64_t repeat, std::uint64_t i, std::uint64_t per_repeat) {
  if (r.form == abi::Form::kCounter) return repeat * per_repeat + i < r.a[0];
  return i < 64 ? (r.a[0] >> i) & 1 : (r.a[1] >> (i - 64)) & 1;
}

}  // namespace

void Core::reduce(const abi::Record& r) {
  if (r.operands < 2 || r.form == abi::Form::kNone)
    return fault("bad_record", "a reduction without operands");
  const DType dtype = r.operand[1].dtype;
  if ((dtype != DType::kF32 && dtype != DType::kF16) || r.operand[0].dtype != dtype)
    return fault("dtype_unsupported",
                 "reductions exist for float and half on this device, from and to one type",
                 "Cast to float first");
  if (r.operand[0].space == abi::Space::kGm || r.operand[1].space == abi::Space::kGm)
    return fault("vector_on_gm", "an operand of a reduction lies in GM", "copy it to a LocalTensor first");
  if (!aligned(r.operand[1], kSource) || !aligned(r.operand[0], kDestination, abi::bytes_of(dtype))) return;
  in(r.op, Op::kReduceSum, Op::kReduceMin) ? reduce_to_one(r) : reduce_by_repeat(r);
}

template <typename Visit>
bool Core::visit_source(const abi::Record& r, std::uint64_t stretch, Visit visit) {
  const std::uint64_t size = abi::bytes_of(r.operand[1].dtype);
  make_pieces(r, 2);
  for (const Piece& piece : pieces_) {
    const Range src = range(r.operand[1], piece.at[1], piece.n * size, false, kSource);
    if (!src.ok) return false;
    touch(kV, r.operand[1], src, false);
    if (!src.data) continue;
    for (std::uint64_t at = 0; at < piece.n;) {
      const std::uint64_t first = piece.first + at,
                          n = std::min(piece.n - at, (first / stretch + 1) * stretch - first);
      visit(first, src.data + at * size, n);
      at += n;
    }
  }
  return true;
}

// Within a repeat by the hardware's adder tree. The repeats' sums are added one after the other if the
// elements were given by count, and by trees again if by mask and repeat.
float Core::sum_of(const abi::Record& r, bool& ok) {
  const DType dtype = r.operand[1].dtype;
  const std::uint64_t size = abi::bytes_of(dtype), per_repeat = kRepeatBytes / size;
  alignas(64) std::array<std::byte, kRepeatBytes> repeat{};
  std::vector<float> partial;
  std::uint64_t current = 0;
  bool any = false;
  const auto flush = [&] {
    if (any) partial.push_back(tree_sum(dtype, repeat.data(), per_repeat));
    repeat.fill(std::byte{0});
    any = false;
  };
  ok = visit_source(r, per_repeat, [&](std::uint64_t first, const std::byte* data, std::uint64_t n) {
    if (first / per_repeat != current) flush();
    current = first / per_repeat;
    std::memcpy(repeat.data() + first % per_repeat * size, data, n * size);
    any = true;
  });
  flush();
  const auto keep = [&](float v) {
    std::byte bits[4];
    store(dtype, bits, static_cast<double>(v));
    return static_cast<float>(load(dtype, bits));
  };
  if (r.form == abi::Form::kCount) {
    float sum = 0;
    for (const float v : partial) sum = keep(sum + v);
    return sum;
  }
  while (partial.size() > 1) {
    std::vector<float> next;
    for (std::size_t at = 0; at < partial.size(); at += per_repeat) {
      repeat.fill(std::byte{0});
      for (std::size_t i = at; i < std::min<std::size_t>(partial.size(), at + per_repeat); ++i)
        store(dtype, repeat.data() + (i - at) * size, static_cast<double>(partial[i]));
      next.push_back(tree_sum(dtype, repeat.data(), per_repeat));
    }
    partial = std::move(next);
  }
  return partial.empty() ? 0.0f : partial[0];
}

void Core::reduce_to_one(const abi::Record& r) {
  const DType dtype = r.operand[1].dtype;
  const std::uint64_t size = abi::bytes_of(dtype), per_repeat = kRepeatBytes / size;
  const bool sums = is_sum(r.op), by_count = r.form == abi::Form::kCount, index = !sums && r.a[5] == 1;
  bool ok = true;
  float sum = 0;
  Reduced best;
  bool any = false;
  if (sums)
    sum = sum_of(r, ok);
  else
    ok = visit_source(r, 1ull << 30, [&](std::uint64_t first, const std::byte* data, std::uint64_t n) {
      Reduced found = extreme(is_max(r.op), dtype, data, n);
      found.index += first;
      const bool better = std::isnan(found.value) ? !std::isnan(best.value)
                          : is_max(r.op)          ? found.value > best.value
                                                  : found.value < best.value;
      if (!any || better) best = found;
      any = true;
    });
  if (!ok) return;
  if (pieces_.empty()) return scalar(cost_->issue);  // nothing is asked for, nothing is done
  const std::uint64_t repeats = (pieces_.back().first + pieces_.back().n + per_repeat - 1) / per_repeat;
  // The work tensor takes the repeats' results; the sum by count does without.
  if (r.operands >= 3 && !(sums && by_count)) {
    const std::uint64_t bytes =
        (repeats * size * (sums ? 1 : 2) + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    const Range work = range(r.operand[2], 0, bytes, true, "the work tensor of a reduction");
    if (!work.ok) return;
    touch(kV, r.operand[2], work, true);
  }
  const Range dst = range(r.operand[0], 0, index ? 2 * size : size, true, kDestination);
  if (!dst.ok) return;
  touch(kV, r.operand[0], dst, true);
  if (dst.data) {
    store(dtype, dst.data, sums ? static_cast<double>(sum) : best.value);
    if (index) std::memcpy(dst.data + size, &best.index, size);
    ReducedRegisters& left = block_->reduced;
    std::memcpy(sums ? &left.sum : &left.value, dst.data, size);
    if (!sums) left.index = best.index;
  }
  charge_reduction(r, repeats, true);
}

// The chosen elements of one repeat, at their places; the others are zero. False if refused.
bool Core::load_repeat(const abi::Record& r, std::uint64_t repeat, std::byte* values, bool* chosen) {
  const abi::Strides s = abi::unpack_strides(r.a[3], r.a[4]);
  const std::uint64_t size = abi::bytes_of(r.operand[1].dtype), per_block = kBlockBytes / size;
  const auto any_in = [&](std::uint64_t block) {
    return std::any_of(chosen + block * per_block, chosen + (block + 1) * per_block,
                       [](bool c) { return c; });
  };
  for (std::uint64_t i = 0; i < 8 * per_block; ++i) chosen[i] = chosen_bit(r, repeat, i, 8 * per_block);
  for (std::uint64_t block = 0; block < 8;) {
    std::uint64_t n = 1;
    if (any_in(block)) {
      while (s.src0_block == 1 && block + n < 8 && any_in(block + n)) ++n;
      const Range src = range(r.operand[1], (repeat * s.src0_repeat + block * s.src0_block) * kBlockBytes,
                              n * kBlockBytes, false, kSource);
      if (!src.ok) return false;
      touch(kV, r.operand[1], src, false);
      if (src.data) std::memcpy(values + block * kBlockBytes, src.data, n * kBlockBytes);
    }
    block += n;
  }
  for (std::uint64_t i = 0; i < 8 * per_block; ++i)
    if (!chosen[i]) std::memset(values + i * size, 0, size);
  return true;
}

bool Core::reduce_one_repeat(const abi::Record& r, std::uint64_t repeat) {
  const DType dtype = r.operand[1].dtype;
  const std::uint64_t size = abi::bytes_of(dtype), per_repeat = kRepeatBytes / size;
  const Groups g = groups_of(r, per_repeat, kBlockBytes / size);
  alignas(64) std::array<std::byte, kRepeatBytes> values{};
  bool chosen[kRepeatBytes / 2];
  if (!load_repeat(r, repeat, values.data(), chosen)) return false;
  const std::uint64_t dst_repeat = abi::unpack_strides(r.a[3], r.a[4]).dst_repeat;
  const Range dst = range(r.operand[0], repeat * dst_repeat * g.step * size, g.results * g.width * size, true,
                          kDestination);
  if (!dst.ok) return false;
  touch(kV, r.operand[0], dst, true);
  for (std::uint64_t group = 0; group < g.results && dst.data; ++group)
    store_group(r, values.data(), chosen, group, dst.data);
  if (r.op == Op::kWholeReduceSum && dst.data) std::memcpy(&block_->reduced.sum, dst.data, size);
  return true;
}

void Core::store_group(const abi::Record& r, const std::byte* values, const bool* chosen, std::uint64_t group,
                       std::byte* dst) {
  const DType dtype = r.operand[1].dtype;
  const std::uint64_t size = abi::bytes_of(dtype), per_repeat = kRepeatBytes / size;
  const Groups g = groups_of(r, per_repeat, kBlockBytes / size);
  const std::uint64_t first = group * g.elements;
  std::byte* to = dst + group * g.width * size;
  std::array<std::byte, kRepeatBytes> kept;  // side by side
  std::uint64_t place[kRepeatBytes / 2], n = 0;
  for (std::uint64_t i = first; i < first + g.elements; ++i) {
    if (!chosen[i]) continue;
    std::memcpy(kept.data() + n * size, values + i * size, size);
    place[n++] = i;
  }
  if (n == 0) return;
  if (is_sum(r.op))
    return store(dtype, to, static_cast<double>(tree_sum(dtype, values + first * size, g.elements)));
  const Reduced best = extreme(is_max(r.op), dtype, kept.data(), n);
  const std::uint64_t where = place[best.index];
  if (g.value) store(dtype, to + (g.index && g.index_first ? size : 0), best.value);
  if (g.index) std::memcpy(to + (g.value && !g.index_first ? size : 0), &where, size);
}

void Core::reduce_by_repeat(const abi::Record& r) {
  if (r.form == abi::Form::kCount || r.a[5] > 3)
    return fault("bad_record", "a reduction by repeat without repeats");
  const std::uint64_t per_repeat = kRepeatBytes / abi::bytes_of(r.operand[1].dtype);
  const std::uint64_t repeats = r.form == abi::Form::kCounter
                                    ? (std::min<std::uint64_t>(r.a[0], 1 << 24) + per_repeat - 1) / per_repeat
                                    : r.a[3] & 0xff;
  if (repeats == 0) return scalar(cost_->issue);
  for (std::uint64_t i = 0; i < repeats; ++i)
    if (!reduce_one_repeat(r, i)) return;
  charge_reduction(r, repeats, false);
}

// A reduction to one value takes a pass over the repeats' results, and again.
void Core::charge_reduction(const abi::Record& r, std::uint64_t repeats, bool to_one) {
  const DType dtype = r.operand[1].dtype;
  const std::uint64_t per_repeat = kRepeatBytes / std::max<std::uint32_t>(1, abi::bytes_of(dtype));
  const VectorCost cost = cost_->vector(r.op, dtype);
  double cycles = cost.head + static_cast<double>(repeats) * cost.per_repeat;
  for (std::uint64_t n = repeats; to_one && n > 1;) {
    n = (n + per_repeat - 1) / per_repeat;
    cycles += cost.head + static_cast<double>(n) * cost.per_repeat;
  }
  ++block_->totals.vector_instructions;
  run_on(kV, cycles);
}

}  // namespace evk::twin
