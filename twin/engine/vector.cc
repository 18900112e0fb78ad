// Elementwise vector instructions: which elements they touch, what they cost.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "twin/engine/core.h"
#include "twin/engine/vector_exec.h"

namespace evk::twin {
namespace {

using abi::DType;
using abi::Op;

constexpr std::uint64_t kRepeatBytes = 256, kBlockBytes = 32;
constexpr std::uint64_t kElementsMax = 1ull << 24;  // more than any memory of the chip holds
constexpr std::uint64_t kReachMax = 1ull
                                    << 22;  // bytes from an operand's start that no memory of the chip has

const char* const kWhat[] = {"the destination of a vector instruction",
                             "the first source of a vector instruction",
                             "the second source of a vector instruction", "the mask of Select"};

bool in(Op op, Op first, Op last) { return op >= first && op <= last; }
bool has_two_sources(Op op) { return in(op, Op::kAdd, Op::kPow); }
bool compares(Op op) { return op == Op::kCompare || op == Op::kCompareScalar; }
bool reads_destination(Op op) {
  return op == Op::kAxpy || op == Op::kMulAddDst || op == Op::kFusedMulAdd || op == Op::kFusedMulAddRelu;
}
bool mixes_half_and_float(const abi::Record& r) {
  return (r.op == Op::kAxpy || r.op == Op::kMulAddDst) && r.operand[0].dtype == DType::kF32 &&
         r.operand[1].dtype == DType::kF16;
}
bool shift_rounds(const abi::Record& r) { return r.op == Op::kShiftRight && r.flags == 1; }

unsigned operands_of(Op op) {
  if (op == Op::kSelect) return 4;
  if (op == Op::kDuplicate) return 1;
  return has_two_sources(op) ? 3 : 2;
}

// Bytes of an element of each of the three operands; of a comparison's destination those of its sources,
// whose bits it numbers.
void sizes_of(const abi::Record& r, std::uint64_t* size) {
  for (int i = 0; i < 3; ++i) {
    const int from =
        (i > 0 && r.operands <= i) || (i == 0 && compares(r.op)) ? std::min(1, r.operands - 1) : i;
    size[i] = std::max<std::uint64_t>(1, abi::bytes_of(r.operand[from].dtype));
  }
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

// int32 to half is scaled by the half that SetDeqScale left.
void dequantise(std::byte* dst, const std::byte* src, std::uint64_t scale_bits, std::uint64_t n) {
  const double scale = load(DType::kF16, reinterpret_cast<const std::byte*>(&scale_bits));
  for (std::uint64_t i = 0; i < n; ++i)
    store(DType::kF16, dst + 2 * i, load(DType::kI32, src + 4 * i) * scale);
}

// The mask has 128 bits; no type has more elements in a repeat that it could choose.
bool mask_bit(const abi::Record& r, std::uint64_t i) {
  return i < 64 ? (r.a[0] >> i) & 1 : i < 128 && ((r.a[1] >> (i - 64)) & 1);
}

}  // namespace

bool Core::check_dtypes(const abi::Record& r) {
  const DType to = r.operand[0].dtype, from = r.op == Op::kDuplicate ? to : r.operand[1].dtype;
  if (r.op == Op::kCast) {
    if (is_castable(to, from, static_cast<abi::RoundMode>(r.mode))) return true;
    if (!is_castable(to, from))
      fault("dtype_unsupported",
            fmt::format("the device has no Cast from {} to {}", name_of(from), name_of(to)),
            "Cast by way of float");
    else
      fault("cast_mode_unsupported",
            fmt::format("Cast from {} to {} does not know round mode {}", name_of(from), name_of(to), r.mode),
            "use CAST_NONE to widen, CAST_RINT to narrow");
    return false;
  }
  bool same = compares(r.op) || from == to || mixes_half_and_float(r);
  if (r.operands >= 3 && has_two_sources(r.op)) same = same && r.operand[2].dtype == from;
  const bool equality =
      compares(r.op) && from == DType::kI32 && r.mode == static_cast<int>(abi::CmpMode::kEq);
  if (same && (is_supported(r.op, from) || equality)) return true;
  fault("dtype_unsupported",
        same ? fmt::format("the instruction does not exist for {} on this device", name_of(from))
             : "the operands of the instruction have different data types",
        "Cast to float or half first");
  return false;
}

bool Core::check_vector(const abi::Record& r, unsigned operands) {
  if (r.operands < operands) {
    fault("bad_record", "a vector instruction with too few operands");
    return false;
  }
  for (unsigned i = 0; i < operands; ++i) {
    if (r.operand[i].space == abi::Space::kGm) {
      fault("vector_on_gm", fmt::format("{} lies in GM", kWhat[i]), "copy it to a LocalTensor first");
      return false;
    }
    if (!aligned(r.operand[i], kWhat[i])) return false;
  }
  if (compares(r.op) && r.mode > static_cast<int>(abi::CmpMode::kNe)) {
    fault("bad_record", "a comparison of no known kind");
    return false;
  }
  return check_dtypes(r);
}

// Within one call by count a source is the destination, or lies apart from it. Going on after a finding would
// give what no device gives.
bool Core::check_overlap(const abi::Record& r, unsigned operands) {
  if (r.form != abi::Form::kCount || compares(r.op)) return true;
  std::uint64_t size[3];
  sizes_of(r, size);
  const std::uint64_t n = std::min(r.a[0], kElementsMax), lo = r.operand[0].addr, hi = lo + n * size[0];
  for (unsigned i = 1; i < std::min(operands, 3u); ++i) {
    const abi::Operand& o = r.operand[i];
    if (o.space != r.operand[0].space || o.addr >= hi || o.addr + n * size[i] <= lo) continue;
    if (o.addr == lo && size[i] >= size[0]) continue;
    fault("operands_overlap",
          fmt::format("{} overlaps the destination without being equal to it: bytes {} to {}, {} to {}",
                      kWhat[i], o.addr, o.addr + n * size[i], lo, hi),
          "use the same tensor, or tensors that lie apart");
    return false;
  }
  return true;
}

void Core::add_piece(const Piece& piece, const std::uint64_t* size, unsigned operands) {
  if (!pieces_.empty()) {
    Piece& last = pieces_.back();
    bool follows = last.first + last.n == piece.first;
    for (unsigned i = 0; i < std::min(operands, 3u); ++i)
      follows = follows && last.at[i] + last.n * size[i] == piece.at[i];
    if (follows) {
      last.n += piece.n;
      return;
    }
  }
  pieces_.push_back(piece);
}

// The chosen elements of the first repeat, in runs that are contiguous in every operand.
void Core::make_runs(const abi::Record& r, const abi::Strides& s, unsigned operands) {
  std::uint64_t size[3];
  sizes_of(r, size);
  const std::uint64_t widest = *std::max_element(size, size + std::min(operands, 3u));
  const std::uint64_t per_repeat = kRepeatBytes / widest, per_run = kBlockBytes / widest;
  const std::uint64_t block_stride[] = {s.dst_block, s.src0_block, s.src1_block};
  pieces_.clear();
  for (std::uint64_t i = 0; i < per_repeat;) {
    if (r.form != abi::Form::kCounter && !mask_bit(r, i)) {
      ++i;
      continue;
    }
    Piece piece;  // up to the end of the block that the widest operand is in
    piece.n = 1;
    piece.first = i;
    const std::uint64_t end = (i / per_run + 1) * per_run;
    while (i + piece.n < end && (r.form == abi::Form::kCounter || mask_bit(r, i + piece.n))) ++piece.n;
    for (int k = 0; k < 3; ++k) {
      const std::uint64_t per_block = kBlockBytes / size[k];
      piece.at[k] = i / per_block * block_stride[k] * kBlockBytes + i % per_block * size[k];
    }
    i += piece.n;
    add_piece(piece, size, operands);
  }
  runs_ = pieces_;
  pieces_.clear();
}

void Core::make_pieces(const abi::Record& r, unsigned operands) {
  pieces_.clear();
  if (r.form == abi::Form::kCount) {
    if (r.a[0] > 0) pieces_.push_back({{}, std::min(r.a[0], kElementsMax), 0});
    return;
  }
  const abi::Strides s = abi::unpack_strides(r.a[3], r.a[4]);
  const bool counter = r.form == abi::Form::kCounter;
  make_runs(r, s, operands);
  std::uint64_t size[3];
  sizes_of(r, size);
  const std::uint64_t per_repeat = kRepeatBytes / *std::max_element(size, size + std::min(operands, 3u));
  const std::uint64_t total = counter ? std::min(r.a[0], kElementsMax) : ~0ull;
  const std::uint64_t repeats = counter ? (total + per_repeat - 1) / per_repeat : s.repeat;
  const std::uint64_t step[] = {s.dst_repeat * kBlockBytes, s.src0_repeat * kBlockBytes,
                                s.src1_repeat * kBlockBytes};
  for (std::uint64_t repeat = 0; repeat < repeats; ++repeat)
    for (Piece piece : runs_) {
      piece.first += repeat * per_repeat;
      if (piece.first >= total) return;
      piece.n = std::min(piece.n, total - piece.first);
      for (int k = 0; k < 3; ++k) piece.at[k] += repeat * step[k];
      add_piece(piece, size, operands);
      // Out of every memory: what follows is refused all the same.
      if (*std::max_element(piece.at, piece.at + 3) > kReachMax) return;
    }
}

void Core::charge_vector(const abi::Record& r, std::uint64_t elements, std::uint64_t element_bytes,
                         int sources) {
  const bool by_repeat = r.form == abi::Form::kRepeat;
  const abi::Strides s =
      by_repeat || r.form == abi::Form::kCounter ? abi::unpack_strides(r.a[3], r.a[4]) : abi::Strides{};
  const std::uint64_t bytes = elements * element_bytes;
  const std::uint64_t repeats = by_repeat ? s.repeat : (bytes + kRepeatBytes - 1) / kRepeatBytes;
  if (by_repeat) scalar(cost_->mask);
  const Walk dst{r.operand[0].addr, s.dst_block, s.dst_repeat};
  const Walk source[2] = {{r.operand[1].addr, s.src0_block, s.src0_repeat},
                          {r.operand[2].addr, s.src1_block, s.src1_repeat}};
  const double bank = cost_->bank_cycles(dst, source, sources, repeats);
  const VectorCost cost = cost_->vector(r.op, r.operand[r.operands > 1 ? 1 : 0].dtype);
  const double tail = !by_repeat && bytes % kRepeatBytes != 0 ? cost_->vector_tail : 0;
  ++block_->totals.vector_instructions;
  block_->totals.bank_cycles += bank;
  run_on(kV, cost.head + tail + static_cast<double>(repeats) * cost.per_repeat + bank);
}

void Core::compute(const abi::Record& r, const Piece& piece, const Range* at) {
  const DType to = r.operand[0].dtype, from = r.op == Op::kDuplicate ? to : r.operand[1].dtype;
  const std::uint64_t n = piece.n;
  std::byte* dst = at[0].data;
  const std::byte *a = at[1].data, *b = at[2].data;
  const auto cmp = static_cast<abi::CmpMode>(r.mode);
  switch (r.op) {
    case Op::kSelect:
      return select(from, dst, at[3].data, piece.first % 8, a, b, r.a[2], n);
    case Op::kCompare:
      return compare(cmp, from, dst, piece.first % 8, a, b, n);
    case Op::kCompareScalar:
      return compare_scalar(cmp, from, dst, piece.first % 8, a, r.a[2], n);
    case Op::kCast:
      if (to == DType::kF16 && from == DType::kI32) return dequantise(dst, a, r.a[2], n);
      return cast(to, dst, from, a, static_cast<abi::RoundMode>(r.mode), n);
    case Op::kCopy:
      std::memmove(dst, a, n * abi::bytes_of(to));
      return;
    case Op::kAxpy:
      return multiply_add(to, dst, from, a, nullptr, r.a[2], n);
    case Op::kMulAddDst:
      return multiply_add(to, dst, from, a, b, 0, n);
    default:
      break;
  }
  if (has_two_sources(r.op)) return binary(r.op, to, dst, a, b, n);
  if (in(r.op, Op::kAdds, Op::kDuplicate)) return with_scalar(r.op, to, dst, a, r.a[2], n, shift_rounds(r));
  unary(r.op, to, dst, a, n);
}

// False if it was refused.
bool Core::vector_piece(const abi::Record& r, const Piece& piece, unsigned operands) {
  std::uint64_t size[3];
  sizes_of(r, size);
  Range at[4];
  // Bits are numbered through all repeats; only Select by the mask register uses the same ones in each.
  const std::uint64_t first_bit = r.op == Op::kSelect && r.form == abi::Form::kRepeat && r.mode == 0
                                      ? piece.first % (kRepeatBytes / size[1])
                                      : piece.first;
  const std::uint64_t bit_bytes = (first_bit % 8 + piece.n + 7) / 8;
  for (unsigned i = 0; i < operands; ++i) {
    const bool bits = i == 3 || (i == 0 && compares(r.op));
    at[i] = bits ? range(r.operand[i], first_bit / 8, bit_bytes, i == 0, kWhat[i])
                 : range(r.operand[i], piece.at[i], piece.n * size[i], i == 0, kWhat[i]);
    if (!at[i].ok) return false;
  }
  for (unsigned i = 1; i < operands; ++i) touch(kV, r.operand[i], at[i], false);
  if (reads_destination(r.op)) touch(kV, r.operand[0], at[0], false);
  touch(kV, r.operand[0], at[0], true);
  if (at[0].data) compute(r, piece, at);
  return true;
}

void Core::vector(const abi::Record& r) {
  if (in(r.op, Op::kReduceSum, Op::kPairReduceSum)) return reduce(r);
  if (r.op == Op::kGather) return gather(r);
  if (r.op == Op::kGatherMask) return gather_mask(r);
  if (r.op == Op::kBrcb) return broadcast_blocks(r);
  if (r.op == Op::kCreateVecIndex) return vector_index(r);
  if (r.op == Op::kTranspose) return transpose(r);
  if (r.op == Op::kGatherBlocks) return gather_blocks(r);
  if (r.op == Op::kTransData) return trans_data(r);
  if (r.op == Op::kSort32) return sort_32(r);
  if (r.op == Op::kMrgSort) return merge_sorted(r);
  const bool known = in(r.op, Op::kAdd, Op::kXor) || in(r.op, Op::kExp, Op::kCast) ||
                     in(r.op, Op::kAdds, Op::kDuplicate) || r.op == Op::kCopy;
  if (!known)
    return fault("unsupported_instruction",
                 fmt::format("the twin has no vector instruction number {}", static_cast<int>(r.op)),
                 "use another instruction");
  if (r.form == abi::Form::kNone) return fault("bad_record", "a vector instruction without a form");
  const unsigned operands = operands_of(r.op);
  if (!check_vector(r, operands) || !check_overlap(r, operands)) return;
  make_pieces(r, operands);
  std::uint64_t elements = 0, size[3];
  sizes_of(r, size);
  for (const Piece& piece : pieces_) {
    if (!vector_piece(r, piece, operands)) return;
    elements += piece.n;
  }
  if (compares(r.op) && r.form == abi::Form::kCount && elements * size[1] % kRepeatBytes != 0 &&
      !findings_.again("compare_tail", loc_))
    note(
        "compare_tail",
        fmt::format(
            "a comparison of {} bytes: the device compares whole repeats of 256, the bits beyond are garbage",
            elements * size[1]),
        "make the count a multiple of 256 bytes");
  if (elements == 0) return scalar(cost_->issue);
  const int sources = r.op == Op::kDuplicate ? 0 : has_two_sources(r.op) ? 2 : 1;
  charge_vector(r, elements, *std::max_element(size, size + std::min(operands, 3u)), sources);
}

}  // namespace evk::twin
