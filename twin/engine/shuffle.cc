// Moves between elements: Gather, GatherMask, Brcb, CreateVecIndex, Transpose.
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
constexpr std::uint64_t kElementsMax = 1 << 20;

bool on_chip(const abi::Record& r, unsigned operands) {
  return r.operands >= operands && std::none_of(r.operand, r.operand + operands, [](const abi::Operand& o) {
           return o.space == abi::Space::kGm;
         });
}

// Patterns of GatherMask by number: which elements of each four are kept.
constexpr std::array<unsigned, 8> kPatterns = {0, 0b0101, 0b1010, 0b0001, 0b0010, 0b0100, 0b1000, 0b1111};

}  // namespace

void Core::gather(const abi::Record& r) {
  if (r.form == abi::Form::kRepeat || r.form == abi::Form::kCounter) return gather_repeats(r);
  if (r.operands < 3 || r.form != abi::Form::kCount)
    return fault("unsupported_instruction", "Gather is known in its count form", "give a count");
  const std::uint64_t size = abi::bytes_of(r.operand[0].dtype), n = std::min(r.a[0], kElementsMax);
  if (size != 2 && size != 4)
    return fault("dtype_unsupported", "Gather moves elements of 2 or 4 bytes", "Cast first");
  if (!on_chip(r, 3))
    return fault("vector_on_gm", "an operand of Gather lies in GM", "copy it to a LocalTensor first");
  if (n == 0) return scalar(cost_->issue);
  const Range dst = range(r.operand[0], 0, n * size, true, "the destination of Gather");
  const Range offsets = range(r.operand[2], 0, n * 4, false, "the offsets of Gather");
  if (!dst.ok || !offsets.ok) return;
  touch(kV, r.operand[2], offsets, false);
  // Which elements are read is known only where data move; order is checked for all that the tensor names.
  const std::uint64_t base = r.a[2] & 0xffffffffu;
  const Range all = range(r.operand[1], 0, std::max<std::uint64_t>(r.operand[1].bytes, size), false,
                          "the source of Gather");
  if (!all.ok) return;
  touch(kV, r.operand[1], all, false);
  for (std::uint64_t i = 0; i < n && offsets.data; ++i) {
    std::uint32_t offset = 0;
    std::memcpy(&offset, offsets.data + 4 * i, 4);
    if (offset % size != 0 && !findings_.again("gather_offset", loc_))
      fault("gather_offset", fmt::format("offset {} of Gather is no multiple of {} bytes", offset, size),
            "offsets are in bytes: multiply indices by the size of an element");
    const Range src = range(r.operand[1], base + offset, size, false, "an element of Gather");
    if (!src.ok) return;
    if (dst.data) std::memcpy(dst.data + i * size, src.data, size);
  }
  touch(kV, r.operand[0], dst, true);
  charge_vector(r, n, size, 1);
}

// By count: the elements that the pattern a[1] (1 to 7) keeps, side by side.
void Core::gather_mask(const abi::Record& r) {
  if (r.form == abi::Form::kRepeat || r.form == abi::Form::kCounter) return gather_mask_repeats(r);
  const std::uint64_t size = abi::bytes_of(r.operand[0].dtype), n = std::min(r.a[0], kElementsMax);
  if (!on_chip(r, 2) || r.form != abi::Form::kCount || r.a[1] < 1 || r.a[1] > 7 || (size != 2 && size != 4))
    return fault("unsupported_instruction",
                 "GatherMask is known with patterns 1 to 7, by count, for 2 and 4 bytes", "use Gather");
  const unsigned pattern = kPatterns[r.a[1]];
  std::uint64_t kept = 0;
  for (std::uint64_t i = 0; i < n; ++i) kept += (pattern >> (i % 4)) & 1;
  block_->reduced.kept = kept;
  const Range src = range(r.operand[1], 0, n * size, false, "the source of GatherMask");
  const Range dst = range(r.operand[0], 0, kept * size, true, "the destination of GatherMask");
  if (!src.ok || !dst.ok) return;
  touch(kV, r.operand[1], src, false);
  touch(kV, r.operand[0], dst, true);
  std::uint64_t to = 0;
  for (std::uint64_t i = 0; i < n && dst.data; ++i)
    if ((pattern >> (i % 4)) & 1) std::memmove(dst.data + to++ * size, src.data + i * size, size);
  charge_vector(r, n, size, 1);
}

// Brcb: eight elements a repeat, each filling one 32-byte block.
void Core::broadcast_blocks(const abi::Record& r) {
  const std::uint64_t size = abi::bytes_of(r.operand[0].dtype);
  if (!on_chip(r, 2))
    return fault("vector_on_gm", "an operand of Brcb lies in GM", "copy it to a LocalTensor first");
  if ((size != 2 && size != 4) || r.operand[1].dtype != r.operand[0].dtype)
    return fault("dtype_unsupported", "Brcb moves elements of 2 or 4 bytes", "Cast first");
  const abi::Strides s = abi::unpack_strides(r.a[3], r.a[4]);
  for (std::uint64_t repeat = 0; repeat < s.repeat; ++repeat) {
    const Range src = range(r.operand[1], repeat * 8 * size, 8 * size, false, "the source of Brcb");
    if (!src.ok) return;
    touch(kV, r.operand[1], src, false);
    std::array<std::byte, 32> values{};
    if (src.data) std::memcpy(values.data(), src.data, 8 * size);
    for (std::uint64_t i = 0; i < 8; ++i) {
      const Range dst = range(r.operand[0], (repeat * s.dst_repeat + i * s.dst_block) * kBlockBytes,
                              kBlockBytes, true, "the destination of Brcb");
      if (!dst.ok) return;
      touch(kV, r.operand[0], dst, true);
      for (std::uint64_t at = 0; at < kBlockBytes && dst.data; at += size)
        std::memcpy(dst.data + at, values.data() + i * size, size);
    }
  }
  charge_vector(r, s.repeat * kRepeatBytes / size, size, 1);
}

// CreateVecIndex: first, first + 1, ...
void Core::vector_index(const abi::Record& r) {
  const DType dtype = r.operand[0].dtype;
  const std::uint64_t size = std::max<std::uint32_t>(1, abi::bytes_of(dtype)),
                      n = std::min(r.a[0], kElementsMax);
  if (r.operands < 1 || !is_supported(Op::kCreateVecIndex, dtype))
    return fault("dtype_unsupported", "CreateVecIndex exists for half, float, int16 and int32",
                 "use one of them");
  if (r.operand[0].space == abi::Space::kGm || !aligned(r.operand[0], "the destination of CreateVecIndex"))
    return;
  const Range dst = range(r.operand[0], 0, n * size, true, "the destination of CreateVecIndex");
  if (!dst.ok) return;
  touch(kV, r.operand[0], dst, true);
  if (dst.data) {
    const double first = load(dtype, reinterpret_cast<const std::byte*>(&r.a[2]));
    for (std::uint64_t i = 0; i < n; ++i) store(dtype, dst.data + i * size, first + static_cast<double>(i));
  }
  charge_vector(r, n, size, 0);
}

// A matrix of 16 by 16 elements of two bytes.
void Core::transpose(const abi::Record& r) {
  constexpr std::uint64_t kSide = 16, kBytes = kSide * kSide * 2;
  if (!on_chip(r, 2) || abi::bytes_of(r.operand[0].dtype) != 2 || abi::bytes_of(r.operand[1].dtype) != 2)
    return fault("dtype_unsupported", "Transpose moves a matrix of 16 by 16 elements of 2 bytes",
                 "Cast first");
  if (!aligned(r.operand[0], "the destination of Transpose") ||
      !aligned(r.operand[1], "the source of Transpose"))
    return;
  const Range src = range(r.operand[1], 0, kBytes, false, "the source of Transpose");
  const Range dst = range(r.operand[0], 0, kBytes, true, "the destination of Transpose");
  if (!src.ok || !dst.ok) return;
  touch(kV, r.operand[1], src, false);
  touch(kV, r.operand[0], dst, true);
  if (dst.data) {
    std::array<std::uint16_t, kSide * kSide> from, to;
    std::memcpy(from.data(), src.data, kBytes);
    for (std::size_t i = 0; i < kSide; ++i)
      for (std::size_t j = 0; j < kSide; ++j) to[j * kSide + i] = from[i * kSide + j];
    std::memcpy(dst.data, to.data(), kBytes);
  }
  charge_vector(r, kSide * kSide, 2, 1);
}

}  // namespace evk::twin
