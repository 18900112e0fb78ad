// Copies between memories, and scalar access.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "twin/engine/core.h"
#include "twin/engine/vector_exec.h"

namespace evk::twin {
namespace {

constexpr int kS = 0, kV = 1, kMte2 = 4, kMte3 = 5;
constexpr std::uint64_t kPiecesMax = 4095;
constexpr std::uint64_t kPieceBytesMax = 2'097'151;

std::uint64_t low32(std::uint64_t v) { return v & 0xffffffffu; }
std::uint64_t high32(std::uint64_t v) { return v >> 32; }
std::uint64_t up32(std::uint64_t bytes) { return (bytes + 31) / 32 * 32; }

}  // namespace

void Core::data_copy(const abi::Record& r) {
  if (r.operands < 2) return fault("bad_record", "a copy with fewer than two operands");
  const abi::Operand &dst = r.operand[0], &src = r.operand[1];
  std::uint64_t count = low32(r.a[0]), bytes = high32(r.a[0]) * 32, src_gap = low32(r.a[1]) * 32,
                dst_gap = high32(r.a[1]) * 32;
  if (r.mode == 1) {
    count = 1;
    bytes = high32(r.a[0]);
    src_gap = dst_gap = 0;
    if (bytes % 32) {
      note("datacopy_count_rounded",
           fmt::format("DataCopy of {} bytes copies {}: the length is rounded down to a multiple of 32",
                       bytes, bytes / 32 * 32),
           "copy tails by DataCopyPad");
      bytes = bytes / 32 * 32;
    }
    if (bytes == 0) return scalar(cost_->issue());
  }
  if (count == 0 || bytes == 0)
    return fault("copy_empty", "a copy of zero blocks or zero length", "copy at least one block of 32 bytes");
  if (count > kPiecesMax)
    return fault("copy_limits", fmt::format("{} blocks in one copy; {} are possible", count, kPiecesMax),
                 "split the copy");
  if (src.space != abi::Space::kGm && !aligned(src, "the source of DataCopy")) return;
  if (dst.space != abi::Space::kGm && !aligned(dst, "the destination of DataCopy")) return;
  if (src.space == abi::Space::kGm && dst.space != abi::Space::kGm)
    return load_rows(r, count, bytes, bytes + src_gap, bytes + dst_gap, 0, bytes, false, 0);
  if (src.space != abi::Space::kGm && dst.space == abi::Space::kGm)
    return store_rows(r, count, bytes, bytes + src_gap, bytes + dst_gap);
  if (src.space != abi::Space::kGm) return chip_copy(r, count, bytes, src_gap, dst_gap);
  fault("copy_path", "the device has no copy from GM to GM", "copy through a LocalTensor");
}

void Core::data_copy_pad(const abi::Record& r) {
  if (r.operands < 2) return fault("bad_record", "a copy with fewer than two operands");
  const abi::Operand &dst = r.operand[0], &src = r.operand[1];
  const std::uint64_t count = low32(r.a[0]), bytes = high32(r.a[0]), src_stride = low32(r.a[1]),
                      dst_stride = high32(r.a[1]);
  if (count == 0 || count > kPiecesMax || bytes == 0 || bytes > kPieceBytesMax)
    return fault(
        "copy_limits",
        fmt::format("DataCopyPad of {} blocks of {} bytes; 1 to {} blocks of 1 to {} bytes are possible",
                    count, bytes, kPiecesMax, kPieceBytesMax),
        "split the copy, or skip it when there is nothing to copy");
  if (src.space == abi::Space::kGm && dst.space != abi::Space::kGm) {
    const std::uint64_t size = std::max<std::uint32_t>(1, abi::bytes_of(dst.dtype));
    const std::uint64_t left = (r.a[2] & 0xffff) * size, right = (r.a[2] >> 16 & 0xffff) * size;
    const bool pad = (r.a[2] >> 32) & 1;
    if (left > 32 || right > 32)
      return fault("copy_limits", "DataCopyPad fills at most 32 bytes on each side",
                   "fill more by Duplicate");
    if (!aligned(dst, "the destination of DataCopyPad")) return;
    const std::uint64_t row = up32(bytes + left + right);
    return load_rows(r, count, bytes, bytes + src_stride, row + dst_stride * 32, left, row, pad, r.a[3]);
  }
  if (src.space != abi::Space::kGm && dst.space == abi::Space::kGm) {
    if (!aligned(src, "the source of DataCopyPad")) return;
    return store_rows(r, count, bytes, up32(bytes) + src_stride * 32, bytes + dst_stride);
  }
  fault("copy_path", "DataCopyPad copies between GM and a LocalTensor", "use DataCopy within the chip");
}

// GM -> chip: `count` rows; each lands `left_bytes` into a row of `row_bytes`, whose rest is filled if `pad`.
void Core::load_rows(const abi::Record& r, std::uint64_t count, std::uint64_t bytes, std::uint64_t src_step,
                     std::uint64_t dst_step, std::uint64_t left_bytes, std::uint64_t row_bytes, bool pad,
                     std::uint64_t pad_bits) {
  const abi::Operand &dst = r.operand[0], &src = r.operand[1];
  const std::uint64_t size = std::max<std::uint32_t>(1, abi::bytes_of(dst.dtype));
  for (std::uint64_t i = 0; i < count; ++i) {
    const Range from = range(src, i * src_step, bytes, false, "the source of a copy");
    const Range to = range(dst, i * dst_step, row_bytes, true, "the destination of a copy");
    if (!from.ok || !to.ok) break;
    touch(kMte2, src, from, false);
    touch(kMte2, dst, to, true);
    if (!to.data || !from.data) continue;
    if (pad)
      for (std::uint64_t at = 0; at + size <= row_bytes; at += size)
        std::memcpy(to.data + at, &pad_bits, size);
    std::memcpy(to.data + left_bytes, from.data, bytes);
  }
  ++block_->dma_count;
  block_->read_bytes += count * bytes;
  const bool contiguous = src_step == bytes;
  run_on(kMte2, contiguous ? cost_->load_cycles(1, count * bytes) : cost_->load_cycles(count, bytes));
}

void Core::write_gm(const Range& to, const std::byte* from, std::uint64_t bytes, abi::DType dtype) {
  if (!to.data || !from) return;
  const AtomicMode atomic = block_->atomic;
  const std::uint64_t size = abi::bytes_of(dtype);
  if (atomic.kind == 0 || size == 0) {
    std::memcpy(to.data, from, bytes);
    return;
  }
  const abi::Op op = atomic.kind == 1 ? abi::Op::kAdd : atomic.kind == 2 ? abi::Op::kMax : abi::Op::kMin;
  binary(op, dtype, to.data, to.data, from, bytes / size);
}

void Core::store_rows(const abi::Record& r, std::uint64_t count, std::uint64_t bytes, std::uint64_t src_step,
                      std::uint64_t dst_step) {
  const abi::Operand &dst = r.operand[0], &src = r.operand[1];
  for (std::uint64_t i = 0; i < count; ++i) {
    const Range from = range(src, i * src_step, bytes, false, "the source of a copy");
    const Range to = range(dst, i * dst_step, bytes, true, "the destination of a copy");
    if (!from.ok || !to.ok) break;
    touch(kMte3, src, from, false);
    touch(kMte3, dst, to, true);
    write_gm(to, from.data, bytes, src.dtype);
  }
  ++block_->dma_count;
  block_->write_bytes += count * bytes;
  const bool contiguous = dst_step == bytes;
  run_on(kMte3, contiguous ? cost_->store_cycles(1, count * bytes) : cost_->store_cycles(count, bytes));
}

void Core::chip_copy(const abi::Record& r, std::uint64_t count, std::uint64_t bytes, std::uint64_t src_gap,
                     std::uint64_t dst_gap) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const Range from = range(r.operand[1], i * (bytes + src_gap), bytes, false, "the source of a copy");
    const Range to = range(r.operand[0], i * (bytes + dst_gap), bytes, true, "the destination of a copy");
    if (!from.ok || !to.ok) break;
    touch(kV, r.operand[1], from, false);
    touch(kV, r.operand[0], to, true);
    if (to.data) std::memmove(to.data, from.data, bytes);
  }
  ++block_->vector_instructions;
  run_on(kV, cost_->vector_cycles(r.op, (count * bytes + 255) / 256));
}

std::uint64_t Core::get_value(const abi::Record& r) {
  const abi::Operand& o = r.operand[0];
  const std::uint64_t size = std::max<std::uint32_t>(1, abi::bytes_of(o.dtype));
  const Range at = range(o, 0, size, false, "GetValue");
  std::uint64_t bits = 0;
  ++block_->scalar_accesses;
  if (at.ok) {
    touch(kS, o, at, false);
    if (at.data) std::memcpy(&bits, at.data, size);
  }
  scalar(cost_->at(o.space == abi::Space::kGm ? "s.gm_load_cycles" : "s.ub_load_cycles"));
  return bits;
}

void Core::set_value(const abi::Record& r) {
  const abi::Operand& o = r.operand[0];
  const std::uint64_t size = std::max<std::uint32_t>(1, abi::bytes_of(o.dtype));
  const Range at = range(o, 0, size, true, "SetValue");
  ++block_->scalar_accesses;
  if (at.ok) {
    touch(kS, o, at, true);
    if (at.data) std::memcpy(at.data, &r.a[2], size);
    if (o.space == abi::Space::kGm) block_->write_bytes += size;
  }
  scalar(cost_->at(o.space == abi::Space::kGm ? "s.gm_store_cycles" : "s.ub_store_cycles"));
}

Engine::Answer Core::read_gm(const abi::Record& r) {
  const std::uint64_t bytes = std::min<std::uint64_t>(r.a[0], abi::kBulkBytes);
  const Range at = range(r.operand[0], 0, bytes, false, "a scalar read of GM");
  scalar(cost_->at("s.gm_load_cycles") * static_cast<double>((bytes + 63) / 64));
  answer_bulk_.assign(bytes, std::byte{0});
  if (at.ok) {
    touch(kS, r.operand[0], at, false);
    if (at.data) std::memcpy(answer_bulk_.data(), at.data, bytes);
  }
  return {0, answer_bulk_.data(), static_cast<std::uint32_t>(bytes), false};
}

}  // namespace evk::twin
