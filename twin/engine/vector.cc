// Vector instructions: which elements they touch, what they compute, what they cost.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "twin/engine/core.h"
#include "twin/engine/vector_exec.h"

namespace evk::twin {
namespace {

using abi::DType;
using abi::Op;

constexpr int kV = 1;
constexpr std::uint64_t kRepeatBytes = 256, kBlockBytes = 32;

bool in(Op op, Op first, Op last) { return op >= first && op <= last; }
bool has_two_sources(Op op) { return in(op, Op::kAdd, Op::kPow); }
bool is_scalar_form(Op op) { return in(op, Op::kAdds, Op::kDuplicate); }
bool is_reduction(Op op) { return in(op, Op::kReduceSum, Op::kPairReduceSum); }

// Element type whose size sets how many elements a repeat holds: the wider of source and destination for a
// cast.
DType working_type(const abi::Record& r) {
  const DType dst = r.operand[0].dtype;
  if (r.op == Op::kDuplicate || r.operands < 2) return dst;
  const DType src = r.operand[1].dtype;
  if (r.op == Op::kCast) return abi::bytes_of(dst) > abi::bytes_of(src) ? dst : src;
  return src;
}

const char* name_of(DType t) {
  switch (t) {
    case DType::kF32:
      return "float";
    case DType::kF16:
      return "half";
    case DType::kBf16:
      return "bfloat16";
    case DType::kI8:
      return "int8";
    case DType::kU8:
      return "uint8";
    case DType::kI16:
      return "int16";
    case DType::kU16:
      return "uint16";
    case DType::kI32:
      return "int32";
    case DType::kU32:
      return "uint32";
    case DType::kI64:
      return "int64";
    default:
      return "this type";
  }
}

}  // namespace

bool Core::check_dtype(const abi::Record& r, DType dtype) {
  const bool ok =
      r.op == Op::kCast ? is_castable(r.operand[0].dtype, r.operand[1].dtype) : is_supported(r.op, dtype);
  if (!ok)
    fault("dtype_unsupported",
          fmt::format("the instruction does not exist for {} on this device", name_of(dtype)),
          "Cast to float or half first");
  return ok;
}

// The contiguous stretches of elements that the instruction works on.
std::vector<Core::Piece> Core::pieces(const abi::Record& r, DType dtype) {
  const std::uint64_t size = std::max<std::uint32_t>(1, abi::bytes_of(dtype));
  if (r.form == abi::Form::kCount) return {{0, 0, 0, std::min<std::uint64_t>(r.a[0], 1ull << 24)}};
  const abi::Strides s = abi::unpack_strides(r.a[3], r.a[4]);
  const std::uint64_t per_block = kBlockBytes / size, per_repeat = kRepeatBytes / size;
  const bool counter = r.form == abi::Form::kCounter;
  std::uint64_t left = counter ? std::min<std::uint64_t>(r.a[0], 1ull << 24) : ~0ull;
  const std::uint64_t repeats = counter ? (left + per_repeat - 1) / per_repeat : s.repeat;
  const auto bit = [&](std::uint64_t i) {
    return counter || ((i < 64 ? r.a[0] >> i : r.a[1] >> (i - 64)) & 1);
  };
  std::vector<Piece> list;
  for (std::uint64_t rep = 0; rep < repeats; ++rep)
    for (std::uint64_t blk = 0; blk < 8 && left > 0; ++blk) {
      std::uint64_t i = 0;
      while (i < per_block && left > 0) {
        while (i < per_block && !bit(blk * per_block + i)) ++i;
        std::uint64_t n = 0;
        while (i + n < per_block && n < left && bit(blk * per_block + i + n)) ++n;
        if (n == 0) break;
        const auto offset = [&](std::uint64_t block_stride, std::uint64_t repeat_stride) {
          return (rep * repeat_stride + blk * block_stride) * per_block + i;
        };
        const Piece piece{offset(s.dst_block, s.dst_repeat), offset(s.src0_block, s.src0_repeat),
                          offset(s.src1_block, s.src1_repeat), n};
        Piece* last = list.empty() ? nullptr : &list.back();
        if (last && last->dst + last->n == piece.dst && last->src0 + last->n == piece.src0 &&
            last->src1 + last->n == piece.src1)
          last->n += n;
        else
          list.push_back(piece);
        left -= counter ? n : 0;
        i += n;
      }
    }
  return list;
}

void Core::charge_vector(const abi::Record& r, std::uint64_t elements, std::uint64_t element_bytes,
                         bool two_sources) {
  const std::uint64_t repeats =
      r.form == abi::Form::kRepeat
          ? std::max<std::uint64_t>(1, r.a[3] & 0xff)
          : std::max<std::uint64_t>(1, (elements * element_bytes + kRepeatBytes - 1) / kRepeatBytes);
  const double bank = r.operands >= 2 ? cost_->bank_cycles(r.operand[0].addr, r.operand[1].addr,
                                                           r.operand[2].addr, two_sources, repeats)
                                      : 0;
  ++block_->vector_instructions;
  block_->bank_cycles += bank;
  run_on(kV, cost_->vector_cycles(r.op, repeats) + bank);
}

void Core::vector(const abi::Record& r) {
  if (is_reduction(r.op)) return reduce(r);
  if (r.op == Op::kGather) return gather(r);
  if (r.op == Op::kBrcb) return broadcast_blocks(r);
  if (r.op == Op::kCreateVecIndex) return vector_index(r);
  const DType dtype = working_type(r);
  const bool two = has_two_sources(r.op), compares = r.op == Op::kCompare || r.op == Op::kCompareScalar,
             selects = r.op == Op::kSelect;
  const unsigned wanted = selects ? 4 : two ? 3 : r.op == Op::kDuplicate ? 1 : 2;
  if (r.operands < wanted) return fault("bad_record", "a vector instruction with too few operands");
  if (r.op == Op::kGatherMask || r.op == Op::kXor || r.op == Op::kPow || r.op == Op::kTranspose ||
      r.op == Op::kFusedMulAdd || r.op == Op::kFusedMulAddRelu)
    return fault("unsupported_instruction",
                 fmt::format("the twin has no vector instruction number {}", static_cast<int>(r.op)));
  if (r.op != Op::kCopy && !check_dtype(r, dtype)) return;
  static constexpr const char* kWhat[] = {"the destination of a vector instruction",
                                          "the first source of a vector instruction",
                                          "the second source of a vector instruction", "the mask of Select"};
  for (unsigned i = 0; i < wanted; ++i) {
    if (r.operand[i].space == abi::Space::kGm)
      return fault("vector_on_gm", fmt::format("{} lies in GM", kWhat[i]), "copy it to a LocalTensor first");
    if (!aligned(r.operand[i], kWhat[i])) return;
  }
  const std::uint64_t size = abi::bytes_of(dtype),
                      dst_size = compares ? size : abi::bytes_of(r.operand[0].dtype),
                      src_size = r.op == Op::kDuplicate ? size : abi::bytes_of(r.operand[1].dtype);
  std::uint64_t elements = 0;
  for (const Piece& piece : pieces(r, dtype)) {
    elements += piece.n;
    const bool one = wanted == 1;
    const Range dst = compares
                          ? range(r.operand[0], piece.dst / 8, (piece.n + 7) / 8, true, kWhat[0])
                          : range(r.operand[0], piece.dst * dst_size, piece.n * dst_size, true, kWhat[0]);
    const Range a =
        one ? dst : range(r.operand[1], piece.src0 * src_size, piece.n * src_size, false, kWhat[1]);
    const Range b =
        two ? range(r.operand[2], piece.src1 * src_size, piece.n * src_size, false, kWhat[2]) : dst;
    const Range m = selects ? range(r.operand[3], piece.dst / 8, (piece.n + 7) / 8, false, kWhat[3]) : dst;
    if (!dst.ok || !a.ok || !b.ok || !m.ok) return;
    if (!one) touch(kV, r.operand[1], a, false);
    if (two) touch(kV, r.operand[2], b, false);
    if (selects) touch(kV, r.operand[3], m, false);
    if (r.op == Op::kAxpy || r.op == Op::kMulAddDst) touch(kV, r.operand[0], dst, false);
    touch(kV, r.operand[0], dst, true);
    if (!dst.data) continue;
    if (selects)
      select(dtype, dst.data, m.data, a.data, b.data, piece.n);
    else if (r.op == Op::kCompare)
      compare(static_cast<abi::CmpMode>(r.mode), dtype, dst.data, a.data, b.data, piece.n);
    else if (r.op == Op::kCompareScalar)
      compare_scalar(static_cast<abi::CmpMode>(r.mode), dtype, dst.data, a.data, r.a[2], piece.n);
    else if (two)
      binary(r.op, dtype, dst.data, a.data, b.data, piece.n);
    else if (r.op == Op::kCast)
      cast(r.operand[0].dtype, dst.data, r.operand[1].dtype, a.data,
           static_cast<abi::RoundMode>(std::min<int>(r.mode, 6)), piece.n);
    else if (r.op == Op::kCopy)
      std::memmove(dst.data, a.data, piece.n * size);
    else if (is_scalar_form(r.op))
      with_scalar(r.op, dtype, dst.data, a.data, r.a[2], piece.n);
    else
      unary(r.op, dtype, dst.data, a.data, piece.n);
  }
  charge_vector(r, elements, size, two);
}

void Core::reduce(const abi::Record& r) {
  if (r.operands < 2) return fault("bad_record", "a reduction with fewer than two operands");
  const DType dtype = r.operand[1].dtype;
  if (dtype != DType::kF32 && dtype != DType::kF16)
    return fault("dtype_unsupported",
                 fmt::format("reductions do not exist for {} on this device", name_of(dtype)),
                 "Cast to float first");
  if (r.operand[0].space == abi::Space::kGm || r.operand[1].space == abi::Space::kGm)
    return fault("vector_on_gm", "an operand of a reduction lies in GM", "copy it to a LocalTensor first");
  if (!aligned(r.operand[1], "the source of a reduction")) return;
  if (in(r.op, Op::kReduceSum, Op::kReduceMin)) return reduce_to_one(r);
  reduce_by_repeat(r);
}

// ReduceSum, ReduceMax, ReduceMin: one result. Each repeat is reduced by the hardware's tree, the partial
// results likewise, in the work tensor.
void Core::reduce_to_one(const abi::Record& r) {
  const DType dtype = r.operand[1].dtype;
  const std::uint64_t size = abi::bytes_of(dtype), per_repeat = kRepeatBytes / size;
  std::vector<std::byte> packed;
  std::uint64_t n = 0;
  for (const Piece& piece : pieces(r, dtype)) {
    const Range src =
        range(r.operand[1], piece.src0 * size, piece.n * size, false, "the source of a reduction");
    if (!src.ok) return;
    touch(kV, r.operand[1], src, false);
    if (src.data) packed.insert(packed.end(), src.data, src.data + piece.n * size);
    n += piece.n;
  }
  const bool sums = r.op == Op::kReduceSum, index = !sums && r.a[5] == 1;
  if (n == 0) return fault("reduce_empty", "a reduction of no elements", "reduce at least one element");
  const std::uint64_t partials = (n + per_repeat - 1) / per_repeat;
  const std::uint64_t work_bytes =
      std::max<std::uint64_t>(32, (partials * size * (sums ? 1 : 2) + 31) / 32 * 32);
  if (r.operands >= 3) {
    const Range work = range(r.operand[2], 0, work_bytes, true, "the work tensor of a reduction");
    if (!work.ok) return;
    touch(kV, r.operand[2], work, true);
  }
  const Range dst = range(r.operand[0], 0, index ? 2 * size : size, true, "the destination of a reduction");
  if (!dst.ok) return;
  touch(kV, r.operand[0], dst, true);
  if (dst.data && sums) {
    while (n > 1) {
      std::uint64_t made = 0;
      for (std::uint64_t at = 0; at < n; at += per_repeat, ++made)
        store(dtype, packed.data() + made * size,
              tree_sum(dtype, packed.data() + at * size, std::min(per_repeat, n - at)));
      n = made;
    }
    std::memcpy(dst.data, packed.data(), size);
  } else if (dst.data) {
    const Reduced best = extreme(r.op == Op::kReduceMax, dtype, packed.data(), n);
    store(dtype, dst.data, best.value);
    const std::uint64_t bits = best.index;
    if (index) std::memcpy(dst.data + size, &bits, size);
  }
  charge_vector(r, std::max<std::uint64_t>(1, partials) * per_repeat, size, false);
  if (partials > 1) charge_vector(r, partials, size, false);
}

// WholeReduce, BlockReduce, PairReduce: results for each repeat, block or pair, side by side.
void Core::reduce_by_repeat(const abi::Record& r) {
  const DType dtype = r.operand[1].dtype;
  const std::uint64_t size = abi::bytes_of(dtype), per_repeat = kRepeatBytes / size,
                      per_block = kBlockBytes / size;
  const abi::Strides s = abi::unpack_strides(r.a[3], r.a[4]);
  const bool whole = in(r.op, Op::kWholeReduceSum, Op::kWholeReduceMin), pair = r.op == Op::kPairReduceSum;
  const bool sums = r.op == Op::kWholeReduceSum || r.op == Op::kBlockReduceSum || pair;
  const bool largest = r.op == Op::kWholeReduceMax || r.op == Op::kBlockReduceMax;
  const bool index = whole && !sums && (r.a[5] & 0xff) < 2;  // value and index; beyond that the value alone
  const std::uint64_t group = whole ? per_repeat : pair ? 2 : per_block;
  const std::uint64_t results = per_repeat / group, width = index ? 2 : 1;
  const auto bit = [&](std::uint64_t i) { return (i < 64 ? r.a[0] >> i : r.a[1] >> (i - 64)) & 1; };
  for (std::uint64_t rep = 0; rep < s.repeat; ++rep) {
    std::vector<std::byte> packed(kRepeatBytes);
    for (std::uint64_t blk = 0; blk < 8; ++blk) {
      const Range src = range(r.operand[1], (rep * s.src0_repeat + blk * s.src0_block) * kBlockBytes,
                              kBlockBytes, false, "the source of a reduction");
      if (!src.ok) return;
      bool any = false;
      for (std::uint64_t i = 0; i < per_block; ++i) any = any || bit(blk * per_block + i);
      if (!any) continue;
      touch(kV, r.operand[1], src, false);
      if (src.data) std::memcpy(packed.data() + blk * kBlockBytes, src.data, kBlockBytes);
    }
    // A repeat stride of the destination counts results for WholeReduce and PairReduce, blocks' results for
    // BlockReduce.
    const std::uint64_t step = whole  ? s.dst_repeat * width
                               : pair ? s.dst_repeat * (per_repeat / 2)
                                      : s.dst_repeat * 8;
    const Range dst = range(r.operand[0], rep * step * size, results * width * size, true,
                            "the destination of a reduction");
    if (!dst.ok) return;
    touch(kV, r.operand[0], dst, true);
    if (!dst.data) continue;
    for (std::uint64_t g = 0; g < results; ++g) {
      std::vector<std::byte> chosen;
      std::vector<std::uint64_t> where;
      for (std::uint64_t i = g * group; i < (g + 1) * group; ++i)
        if (bit(i)) {
          chosen.insert(chosen.end(), packed.begin() + static_cast<std::ptrdiff_t>(i * size),
                        packed.begin() + static_cast<std::ptrdiff_t>((i + 1) * size));
          where.push_back(i);
        }
      if (where.empty()) continue;
      if (sums) {
        store(dtype, dst.data + g * size, tree_sum(dtype, chosen.data(), where.size()));
        continue;
      }
      const Reduced best = extreme(largest, dtype, chosen.data(), where.size());
      const bool index_first = index && (r.a[5] & 0xff) == 1;
      store(dtype, dst.data + (g * width + (index_first ? 1 : 0)) * size, best.value);
      if (index) std::memcpy(dst.data + (g * width + (index_first ? 0 : 1)) * size, &where[best.index], size);
    }
  }
  charge_vector(r, s.repeat * per_repeat, size, false);
}

void Core::gather(const abi::Record& r) {
  if (r.operands < 3 || r.form != abi::Form::kCount)
    return fault("unsupported_instruction", "Gather is known in its count form");
  const std::uint64_t size = abi::bytes_of(r.operand[0].dtype), n = std::min<std::uint64_t>(r.a[0], 1 << 20);
  if (size != 2 && size != 4)
    return fault("dtype_unsupported", "Gather moves elements of 2 or 4 bytes", "Cast first");
  const Range dst = range(r.operand[0], 0, n * size, true, "the destination of Gather");
  const Range offsets = range(r.operand[2], 0, n * 4, false, "the offsets of Gather");
  if (!dst.ok || !offsets.ok) return;
  touch(kV, r.operand[2], offsets, false);
  for (std::uint64_t i = 0; i < n; ++i) {
    std::uint32_t offset = 0;
    if (offsets.data) std::memcpy(&offset, offsets.data + 4 * i, 4);
    const Range src =
        range(r.operand[1], (r.a[2] & 0xffffffffu) + offset, size, false, "an element of Gather");
    if (!src.ok) return;
    touch(kV, r.operand[1], src, false);
    if (dst.data) std::memcpy(dst.data + i * size, src.data, size);
  }
  touch(kV, r.operand[0], dst, true);
  charge_vector(r, n, size, false);
}

// Brcb: eight elements a repeat, each filling one 32-byte block.
void Core::broadcast_blocks(const abi::Record& r) {
  if (r.operands < 2) return fault("bad_record", "Brcb with fewer than two operands");
  const std::uint64_t size = abi::bytes_of(r.operand[0].dtype);
  if (size != 2 && size != 4)
    return fault("dtype_unsupported", "Brcb moves elements of 2 or 4 bytes", "Cast first");
  const abi::Strides s = abi::unpack_strides(r.a[3], r.a[4]);
  for (std::uint64_t rep = 0; rep < s.repeat; ++rep) {
    const Range src = range(r.operand[1], rep * 8 * size, 8 * size, false, "the source of Brcb");
    if (!src.ok) return;
    touch(kV, r.operand[1], src, false);
    for (std::uint64_t i = 0; i < 8; ++i) {
      const Range dst = range(r.operand[0], (rep * s.dst_repeat + i * s.dst_block) * kBlockBytes, kBlockBytes,
                              true, "the destination of Brcb");
      if (!dst.ok) return;
      touch(kV, r.operand[0], dst, true);
      if (dst.data)
        for (std::uint64_t at = 0; at < kBlockBytes; at += size)
          std::memcpy(dst.data + at, src.data + i * size, size);
    }
  }
  charge_vector(r, s.repeat * kRepeatBytes / size, size, false);
}

// CreateVecIndex: first, first + 1, ...
void Core::vector_index(const abi::Record& r) {
  const DType dtype = r.operand[0].dtype;
  const std::uint64_t size = std::max<std::uint32_t>(1, abi::bytes_of(dtype)),
                      n = std::min<std::uint64_t>(r.a[0], 1 << 20);
  if (!is_supported(Op::kAdds, dtype))
    return fault("dtype_unsupported", "CreateVecIndex exists for half, float, int16 and int32",
                 "use one of them");
  const Range dst = range(r.operand[0], 0, n * size, true, "the destination of CreateVecIndex");
  if (!dst.ok) return;
  touch(kV, r.operand[0], dst, true);
  if (dst.data) {
    const double first = load(dtype, reinterpret_cast<const std::byte*>(&r.a[2]));
    for (std::uint64_t i = 0; i < n; ++i) store(dtype, dst.data + i * size, first + static_cast<double>(i));
  }
  charge_vector(r, n, size, false);
}

}  // namespace evk::twin
