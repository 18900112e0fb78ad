// Moves between elements that choose what they keep, and the transposition of sixteen rows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "twin/engine/core.h"
#include "twin/engine/vector_exec.h"

namespace evk::twin {
namespace {

constexpr std::uint64_t kRepeatBytes = 256, kBlockBytes = 32, kElementsMax = 1 << 20;
// Patterns of GatherMask by number: which elements of each four are kept.
constexpr std::array<unsigned, 8> kPatterns = {0, 0b0101, 0b1010, 0b0001, 0b0010, 0b0100, 0b1000, 0b1111};

bool on_chip(const abi::Record& r, unsigned operands) {
  return r.operands >= operands && std::none_of(r.operand, r.operand + operands, [](const abi::Operand& o) {
           return o.space == abi::Space::kGm;
         });
}

bool chosen(const abi::Record& r, std::uint64_t repeat, std::uint64_t i, std::uint64_t per_repeat) {
  if (r.form == abi::Form::kCounter) return repeat * per_repeat + i < r.a[0];
  return i < 64 ? (r.a[0] >> i) & 1 : i < 128 && ((r.a[1] >> (i - 64)) & 1);
}

// a[3] of GatherMask: repeats, then strides in blocks of 32 bytes.
struct MaskWalk {
  std::uint64_t repeats, block_stride, repeat_stride, bits_stride;
  explicit MaskWalk(std::uint64_t packed)
      : repeats(packed & 0xffff),
        block_stride(packed >> 16 & 0xffff),
        repeat_stride(packed >> 32 & 0xffff),
        bits_stride(packed >> 48) {}
};

}  // namespace

// Offsets lie one after the other, repeat after repeat; dst has blocks side by side.
void Core::gather_repeats(const abi::Record& r) {
  const std::uint64_t size = abi::bytes_of(r.operand[0].dtype);
  if ((size != 2 && size != 4) || abi::bytes_of(r.operand[1].dtype) != size)
    return fault("dtype_unsupported", "Gather moves elements of 2 or 4 bytes", "Cast first");
  if (!on_chip(r, 3))
    return fault("vector_on_gm", "an operand of Gather lies in GM", "copy it to a LocalTensor first");
  const abi::Strides s = abi::unpack_strides(r.a[3], r.a[4]);
  const std::uint64_t per_repeat = kRepeatBytes / size;
  const std::uint64_t repeats = r.form == abi::Form::kCounter
                                    ? (std::min(r.a[0], kElementsMax) + per_repeat - 1) / per_repeat
                                    : s.repeat;
  const Range all = range(r.operand[1], 0, std::max<std::uint64_t>(r.operand[1].bytes, size), false,
                          "the source of Gather");
  if (!all.ok) return;
  touch(kV, r.operand[1], all, false);
  for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
    std::uint64_t first = per_repeat, end = 0;
    for (std::uint64_t i = 0; i < per_repeat; ++i)
      if (chosen(r, repeat, i, per_repeat)) first = std::min(first, i), end = i + 1;
    if (end == 0) continue;
    const Range offsets = range(r.operand[2], (repeat * per_repeat + first) * 4, (end - first) * 4, false,
                                "the offsets of Gather");
    const Range dst = range(r.operand[0], repeat * s.dst_repeat * kBlockBytes + first * size,
                            (end - first) * size, true, "the destination of Gather");
    if (!offsets.ok || !dst.ok) return;
    touch(kV, r.operand[2], offsets, false);
    touch(kV, r.operand[0], dst, true);
    for (std::uint64_t i = first; i < end && offsets.data; ++i) {
      if (!chosen(r, repeat, i, per_repeat)) continue;
      std::uint32_t offset = 0;
      std::memcpy(&offset, offsets.data + (i - first) * 4, 4);
      const Range src =
          range(r.operand[1], (r.a[2] & 0xffffffffu) + offset, size, false, "an element of Gather");
      if (!src.ok) return;
      std::memmove(dst.data + (i - first) * size, src.data, size);
    }
  }
  charge_vector(r, repeats * per_repeat, size, 1);
}

// Gatherb: eight blocks of 32 bytes a repeat, each from the place that its offset names.
void Core::gather_blocks(const abi::Record& r) {
  if (!on_chip(r, 3))
    return fault("vector_on_gm", "an operand of Gatherb lies in GM", "copy it to a LocalTensor first");
  const abi::Strides s = abi::unpack_strides(r.a[3], r.a[4]);
  const std::uint64_t size = std::max<std::uint32_t>(1, abi::bytes_of(r.operand[0].dtype));
  const Range offsets = range(r.operand[2], 0, s.repeat * 8 * 4ull, false, "the offsets of Gatherb");
  if (!offsets.ok) return;
  touch(kV, r.operand[2], offsets, false);
  const Range all = range(r.operand[1], 0, std::max<std::uint64_t>(r.operand[1].bytes, kBlockBytes), false,
                          "the source of Gatherb");
  if (!all.ok) return;
  touch(kV, r.operand[1], all, false);
  for (std::uint64_t i = 0; i < s.repeat * 8ull; ++i) {
    const Range dst = range(r.operand[0], (i / 8 * s.dst_repeat + i % 8 * s.dst_block) * kBlockBytes,
                            kBlockBytes, true, "the destination of Gatherb");
    if (!dst.ok) return;
    touch(kV, r.operand[0], dst, true);
    if (!offsets.data) continue;
    std::uint32_t offset = 0;
    std::memcpy(&offset, offsets.data + i * 4, 4);
    if (offset % kBlockBytes != 0 && !findings_.again("gather_offset", loc_))
      fault("gather_offset", fmt::format("offset {} of Gatherb is no multiple of 32 bytes", offset),
            "offsets are in bytes, of whole blocks");
    const Range src = range(r.operand[1], offset, kBlockBytes, false, "a block of Gatherb");
    if (!src.ok) return;
    std::memmove(dst.data, src.data, kBlockBytes);
  }
  charge_vector(r, s.repeat * kRepeatBytes / size, size, 1);
}

// What is kept lies side by side at the destination, over all repeats. By pattern a[1], or by the bits of
// operand[2] if it is 0. In counter mode each repeat looks at a[0] elements, else at 256 bytes.
void Core::gather_mask_repeats(const abi::Record& r) {
  const std::uint64_t size = abi::bytes_of(r.operand[0].dtype);
  const bool by_bits = r.a[1] == 0, counter = r.form == abi::Form::kCounter;
  if ((size != 2 && size != 4) || abi::bytes_of(r.operand[1].dtype) != size || r.a[1] > 7)
    return fault("dtype_unsupported", "GatherMask moves elements of 2 or 4 bytes by patterns 1 to 7 or bits",
                 "Cast first");
  if (!on_chip(r, by_bits ? 3 : 2))
    return fault("vector_on_gm", "an operand of GatherMask lies in GM", "copy it to a LocalTensor first");
  for (unsigned i = 0; i < (by_bits ? 3u : 2u); ++i)
    if (!aligned(r.operand[i], "an operand of GatherMask")) return;
  const MaskWalk walk(r.a[3]);
  const std::uint64_t n = counter ? std::min(r.a[0], kElementsMax) : kRepeatBytes / size,
                      per_block = kBlockBytes / size;
  if (walk.repeats * n > kElementsMax)
    return fault("bad_record", "GatherMask looks at more elements than the memory of the chip holds");
  std::vector<std::byte> kept;
  std::uint64_t count = 0;
  for (std::uint64_t repeat = 0; repeat < walk.repeats && n > 0; ++repeat) {
    const Range bits = by_bits ? range(r.operand[2], repeat * walk.bits_stride * kBlockBytes, (n + 7) / 8,
                                       false, "the bits of GatherMask")
                               : Range{0, 0, nullptr, nullptr, true};
    if (!bits.ok) return;
    if (by_bits) touch(kV, r.operand[2], bits, false);
    for (std::uint64_t block = 0; block * per_block < n; ++block) {
      const std::uint64_t m = std::min(per_block, n - block * per_block);
      const Range src =
          range(r.operand[1], (repeat * walk.repeat_stride + block * walk.block_stride) * kBlockBytes,
                m * size, false, "the source of GatherMask");
      if (!src.ok) return;
      touch(kV, r.operand[1], src, false);
      for (std::uint64_t j = 0; j < m; ++j) {
        const std::uint64_t i = block * per_block + j;
        const bool keep = !by_bits    ? (kPatterns[r.a[1]] >> (i % 4)) & 1
                          : bits.data ? (std::to_integer<unsigned>(bits.data[i / 8]) >> (i % 8)) & 1
                                      : true;
        count += keep;
        if (keep && src.data) kept.insert(kept.end(), src.data + j * size, src.data + (j + 1) * size);
      }
    }
  }
  const Range dst = range(r.operand[0], 0, count * size, true, "the destination of GatherMask");
  if (!dst.ok) return;
  if (count > 0) touch(kV, r.operand[0], dst, true);
  if (dst.data && !kept.empty()) std::memcpy(dst.data, kept.data(), kept.size());
  block_->reduced.kept = count;
  const VectorCost cost = cost_->vector(r.op, r.operand[1].dtype);
  ++block_->totals.vector_instructions;
  run_on(kV, cost.head + static_cast<double>((walk.repeats * n * size + kRepeatBytes - 1) / kRepeatBytes) *
                             cost.per_repeat);
}

// Sixteen rows of 32 bytes become columns. Of 16-bit elements row i of the result is column i; of 32-bit ones
// rows 2i and 2i + 1 together; of 8-bit ones half a row of 16 columns is read and half a row written.
void Core::trans_data(const abi::Record& r) {
  const std::uint64_t size = abi::bytes_of(r.operand[0].dtype);
  if (bulk_.size() != 32 * 4) return fault("bad_record", "TransDataTo5HD without its 32 addresses");
  if (!on_chip(r, 2))
    return fault("vector_on_gm", "an operand of TransDataTo5HD lies in GM", "copy it to a LocalTensor first");
  if ((size != 1 && size != 2 && size != 4) || abi::bytes_of(r.operand[1].dtype) != size)
    return fault("dtype_unsupported", "TransDataTo5HD moves elements of 1, 2 or 4 bytes", "Cast first");
  std::array<std::uint32_t, 32> at;
  std::memcpy(at.data(), bulk_.data(), bulk_.size());
  const std::uint64_t repeats = r.a[0] & 0xff, dst_step = r.a[0] >> 16 & 0xffff,
                      src_step = r.a[0] >> 32 & 0xffff;
  const auto row = [&](int k, std::uint64_t repeat, bool write) {
    abi::Operand o = r.operand[write ? 0 : 1];
    o.addr = at[static_cast<std::size_t>(write ? k : 16 + k)], o.bytes = 0, o.buf = 0;
    const std::uint64_t step = (write ? dst_step : src_step) * repeat * kBlockBytes;
    const Range found = aligned(o, "a row of TransDataTo5HD")
                            ? range(o, step, kBlockBytes, write, "a row of TransDataTo5HD")
                            : Range{};
    if (found.ok) touch(kV, o, found, write);
    return found;
  };
  for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
    std::array<std::array<std::byte, kBlockBytes>, 16> from{}, to{};
    for (int k = 0; k < 16; ++k) {
      const Range src = row(k, repeat, false);
      if (!src.ok) return;
      if (src.data) std::memcpy(from[static_cast<std::size_t>(k)].data(), src.data, kBlockBytes);
    }
    std::array<Range, 16> dst;
    for (int k = 0; k < 16; ++k) {
      const auto i = static_cast<std::size_t>(k);
      dst[i] = row(k, repeat, true);
      if (!dst[i].ok) return;
      if (dst[i].data) std::memcpy(to[i].data(), dst[i].data, kBlockBytes);
    }
    const std::uint64_t columns = size == 1 ? 16 : kBlockBytes / size,
                        from_half = size == 1 && (r.a[1] & 2) ? 16 : 0,
                        to_half = size == 1 && (r.a[1] & 1) ? 16 : 0, per_column = 16 * size / kBlockBytes;
    for (std::size_t k = 0; k < 16; ++k)
      for (std::uint64_t c = 0; c < columns; ++c) {
        const std::uint64_t place = k * size;  // within column c
        std::byte* into = size == 1 ? to[c].data() + to_half + place
                                    : to[c * per_column + place / kBlockBytes].data() + place % kBlockBytes;
        std::memcpy(into, from[k].data() + from_half + c * size, size);
      }
    for (std::size_t k = 0; k < 16; ++k)
      if (dst[k].data) std::memcpy(dst[k].data, to[k].data(), kBlockBytes);
  }
  ++block_->totals.vector_instructions;
  const VectorCost cost = cost_->vector(r.op, r.operand[1].dtype);
  run_on(kV, cost.head + static_cast<double>(2 * repeats) * cost.per_repeat);
}

std::uint64_t Core::reduced(const abi::Record& r) {
  ++block_->totals.inserted_syncs;
  acquire(kS, release(kV));
  scalar(cost_->issue);
  const ReducedRegisters& left = block_->reduced;
  switch (static_cast<abi::Reduced>(r.a[0])) {
    case abi::Reduced::kSum:
      return left.sum;
    case abi::Reduced::kValue:
      return left.value;
    case abi::Reduced::kIndex:
      return left.index;
    case abi::Reduced::kMergedCounts:
      return left.merged;
  }
  fault("bad_record", "a register that does not exist is read");
  return 0;
}

}  // namespace evk::twin
