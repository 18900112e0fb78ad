// Copies between memories, and scalar access.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "twin/engine/core.h"
#include "twin/engine/vector_exec.h"

namespace evk::twin {
namespace {

constexpr std::uint64_t kPiecesMax = 4095;
constexpr std::uint64_t kBlocksMax = 65535;  // of 32 bytes in one piece of DataCopy
constexpr std::uint64_t kPieceBytesMax = 2'097'151;

const char* const kSource = "the source of a copy";
const char* const kDestination = "the destination of a copy";

std::uint64_t low32(std::uint64_t v) { return v & 0xffffffffu; }
std::uint64_t high32(std::uint64_t v) { return v >> 32; }
std::uint64_t up32(std::uint64_t bytes) { return (bytes + 31) / 32 * 32; }
std::uint64_t element_bytes(const abi::Operand& o) {
  return std::max<std::uint32_t>(1, abi::bytes_of(o.dtype));
}

}  // namespace

void Core::data_copy(const abi::Record& r) {
  if (r.operands < 2) return fault("bad_record", "a copy with fewer than two operands");
  const abi::Operand &dst = r.operand[0], &src = r.operand[1];
  const bool by_count = r.mode == 1;
  std::uint64_t bytes = by_count ? high32(r.a[0]) : high32(r.a[0]) * 32;
  const std::uint64_t count = by_count ? 1 : low32(r.a[0]), src_gap = by_count ? 0 : low32(r.a[1]) * 32,
                      dst_gap = by_count ? 0 : high32(r.a[1]) * 32;
  if (by_count && bytes % 32 != 0) {
    if (!findings_.again("datacopy_count_rounded", loc_))
      note("datacopy_count_rounded",
           fmt::format("DataCopy of {} bytes copies {}: the length is rounded down to a multiple of 32",
                       bytes, bytes / 32 * 32),
           "copy tails by DataCopyPad");
    bytes = bytes / 32 * 32;
  }
  if (count == 0 || bytes == 0) {
    if (!by_count) note("copy_empty", "a copy of zero blocks or zero length does nothing");
    return scalar(cost_->issue);
  }
  if (count > kPiecesMax ||
      (!by_count && (bytes > kBlocksMax * 32 || src_gap > kBlocksMax * 32 || dst_gap > kBlocksMax * 32)))
    return fault(
        "copy_limits",
        fmt::format("{} blocks of {} bytes with gaps of {} and {}; {} blocks, lengths and gaps of {} bytes "
                    "are possible",
                    count, bytes, src_gap, dst_gap, kPiecesMax, kBlocksMax * 32),
        "split the copy");
  if (!aligned(src, "the source of DataCopy") || !aligned(dst, "the destination of DataCopy")) return;
  const Rows rows{count, bytes, bytes + src_gap, bytes + dst_gap, 0, bytes, 0, Rows::Fill::kNone};
  const bool from_gm = src.space == abi::Space::kGm, to_gm = dst.space == abi::Space::kGm;
  if (from_gm && to_gm)
    return fault("copy_path", "the device has no copy from GM to GM", "copy through a LocalTensor");
  from_gm ? load_rows(r, rows) : to_gm ? store_rows(r, rows) : chip_copy(r, rows);
}

void Core::data_copy_pad(const abi::Record& r) {
  if (r.operands < 2) return fault("bad_record", "a copy with fewer than two operands");
  const abi::Operand &dst = r.operand[0], &src = r.operand[1];
  const std::uint64_t count = low32(r.a[0]), bytes = high32(r.a[0]), src_stride = low32(r.a[1]),
                      dst_stride = high32(r.a[1]);
  if (count > kPiecesMax || bytes > kPieceBytesMax)
    return fault("copy_limits",
                 fmt::format("DataCopyPad of {} blocks of {} bytes; {} blocks of {} bytes are possible",
                             count, bytes, kPiecesMax, kPieceBytesMax),
                 "split the copy");
  if (count == 0 || bytes == 0) {
    note("copy_empty", "a copy of zero blocks or zero length does nothing");
    return scalar(cost_->issue);
  }
  if (!aligned(src, "the source of DataCopyPad") || !aligned(dst, "the destination of DataCopyPad")) return;
  if (src.space == abi::Space::kGm && dst.space != abi::Space::kGm) {
    const std::uint64_t size = element_bytes(dst), left = (r.a[2] & 0xffff) * size,
                        right = (r.a[2] >> 16 & 0xffff) * size, row = up32(bytes + left + right);
    if (left > 32 || right > 32)
      return fault("copy_limits", "DataCopyPad fills at most 32 bytes on each side",
                   "fill more by Duplicate");
    const bool pad = (r.a[2] >> 32) & 1;
    const auto fill = pad                       ? Rows::Fill::kValue
                      : left == 0 && right == 0 ? Rows::Fill::kFirstElement
                                                : Rows::Fill::kNone;
    return load_rows(r, {count, bytes, bytes + src_stride, row + dst_stride * 32, left, row, r.a[3], fill});
  }
  if (src.space != abi::Space::kGm && dst.space == abi::Space::kGm)
    return store_rows(
        r, {count, bytes, up32(bytes) + src_stride * 32, bytes + dst_stride, 0, bytes, 0, Rows::Fill::kNone});
  fault("copy_path", "DataCopyPad copies between GM and a LocalTensor", "use DataCopy within the chip");
}

// What stands around the data in a row of the chip's memory: the padding value, or copies of the first
// element.
void Core::fill_row(const Range& to, const Rows& rows, std::uint64_t size, const std::byte* first) {
  if (rows.fill == Rows::Fill::kNone || rows.row_bytes == rows.bytes) return;
  const auto* value =
      rows.fill == Rows::Fill::kValue ? reinterpret_cast<const std::byte*>(&rows.pad_bits) : first;
  const auto fill = [&](std::uint64_t from, std::uint64_t end) {
    for (std::uint64_t at = from; at + size <= end; at += size) std::memcpy(to.data + at, value, size);
  };
  fill(0, rows.left_bytes);
  fill(rows.left_bytes + (rows.bytes + size - 1) / size * size, rows.row_bytes);
}

void Core::load_rows(const abi::Record& r, const Rows& rows) {
  const abi::Operand &dst = r.operand[0], &src = r.operand[1];
  const std::uint64_t size = element_bytes(dst);
  std::uint64_t i = 0;
  for (; i < rows.count; ++i) {
    const Range from = range(src, i * rows.src_step, rows.bytes, false, kSource);
    if (!from.ok) break;
    const Range to = range(dst, i * rows.dst_step, rows.row_bytes, true, kDestination);
    if (!to.ok) break;
    touch(kMte2, src, from, false);
    touch(kMte2, dst, to, true);
    if (!to.data || !from.data) continue;
    std::memcpy(to.data + rows.left_bytes, from.data, rows.bytes);
    fill_row(to, rows, size, from.data);
  }
  charge_load(src, rows, i);
}

void Core::charge_load(const abi::Operand& src, const Rows& rows, std::uint64_t done) {
  BlockTotals& t = block_->totals;
  ++t.dma_count;
  t.read_bytes += done * rows.bytes;
  if (done == 0) return;
  const bool contiguous = rows.src_step == rows.bytes;
  const std::uint64_t pieces = contiguous ? 1 : done, bytes = contiguous ? done * rows.bytes : rows.bytes;
  double hbm = 0, cached = 0;
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const std::uint64_t at = src.addr + i * rows.src_step;
    const auto moved = static_cast<double>(cost_->bus_bytes(at, bytes));
    const double share = static_cast<double>(block_->l2.touch(at, at + bytes)) / static_cast<double>(bytes);
    cached += moved * share;
    hbm += moved * (1 - share);
  }
  t.hbm_read_bytes += hbm;
  t.cached_read_bytes += cached;
  const double cycles = cost_->load_cycles(pieces, hbm, cached);
  const double start = run_on(kMte2, cycles, cost_->load_latency);
  block_->copies.add(0, start, start + cycles);
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

void Core::set_atomic(const abi::Record& r) {
  scalar(cost_->issue);
  const auto dtype = static_cast<abi::DType>(r.mode);
  using abi::DType;
  const bool known = dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBf16 ||
                     dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32;
  if (r.a[0] > 3 || (r.a[0] != 0 && !known))
    return fault("dtype_unsupported", "this atomic operation does not exist on this device",
                 "use float, half, bfloat16_t, int8_t, int16_t or int32_t");
  block_->atomic = {static_cast<int>(r.a[0]), dtype};
}

void Core::store_rows(const abi::Record& r, const Rows& rows) {
  const abi::Operand &dst = r.operand[0], &src = r.operand[1];
  if (block_->atomic.kind != 0 && block_->atomic.dtype != src.dtype)
    return fault("atomic_dtype", "an atomic copy of a data type other than the one that was set",
                 "call SetAtomicAdd with the tensor's data type, and SetAtomicNone before other copies");
  std::uint64_t i = 0;
  for (; i < rows.count; ++i) {
    const Range from = range(src, i * rows.src_step, rows.bytes, false, kSource);
    if (!from.ok) break;
    const Range to = range(dst, i * rows.dst_step, rows.bytes, true, kDestination);
    if (!to.ok) break;
    touch(kMte3, src, from, false);
    touch(kMte3, dst, to, true);
    write_gm(to, from.data, rows.bytes, src.dtype);
  }
  charge_store(dst, rows, i);
}

void Core::charge_store(const abi::Operand& dst, const Rows& rows, std::uint64_t done) {
  BlockTotals& t = block_->totals;
  ++t.dma_count;
  t.write_bytes += done * rows.bytes;
  if (done == 0) return;
  const bool contiguous = rows.dst_step == rows.bytes;
  const std::uint64_t pieces = contiguous ? 1 : done, bytes = contiguous ? done * rows.bytes : rows.bytes;
  double moved = 0;
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const std::uint64_t at = dst.addr + i * rows.dst_step;
    moved += static_cast<double>(cost_->bus_bytes(at, bytes));
    block_->l2.touch(at, at + bytes);
  }
  t.bus_write_bytes += moved;
  const double cycles = cost_->store_cycles(pieces, moved);
  const double start = run_on(kMte3, cycles, cost_->store_latency);
  block_->copies.add(1, start, start + cycles);
}

// Within the chip: by the vector unit, or from L1 to the bias table.
void Core::chip_copy(const abi::Record& r, const Rows& rows) {
  const abi::Space from_space = r.operand[1].space, to_space = r.operand[0].space;
  if (from_space == abi::Space::kL1 && to_space == abi::Space::kBt) return bias_copy(r, rows);
  if (from_space != abi::Space::kUb || to_space != abi::Space::kUb)
    return fault("copy_path",
                 "DataCopy copies within UB, and from L1 to C2; this device has no other copy "
                 "between on-chip memories",
                 "LoadData fills A2 and B2, Fixpipe empties CO1");
  for (std::uint64_t i = 0; i < rows.count; ++i) {
    const Range from = range(r.operand[1], i * rows.src_step, rows.bytes, false, kSource);
    if (!from.ok) break;
    const Range to = range(r.operand[0], i * rows.dst_step, rows.bytes, true, kDestination);
    if (!to.ok) break;
    touch(kV, r.operand[1], from, false);
    touch(kV, r.operand[0], to, true);
    if (to.data && from.data) std::memmove(to.data, from.data, rows.bytes);
  }
  ++block_->totals.vector_instructions;
  const VectorCost cost = cost_->vector(r.op, abi::DType::kF32);
  run_on(kV, cost.head + static_cast<double>((rows.count * rows.bytes + 255) / 256) * cost.per_repeat);
}

// Fills GM with one value. The device does it from UB by copies.
void Core::init_gm(const abi::Record& r) {
  const abi::Operand& o = r.operand[0];
  const std::uint64_t size = element_bytes(o);
  if (r.operands < 1 || o.space != abi::Space::kGm || size > 8 || r.a[0] > (1ull << 40))
    return fault("bad_record", "a fill of memory that is not GM");
  const Range to = range(o, 0, r.a[0] * size, true, "the destination of a fill");
  if (!to.ok || to.bytes == 0) return;
  touch(kMte3, o, to, true);
  if (to.data)
    for (std::uint64_t at = 0; at < to.bytes; at += size) std::memcpy(to.data + at, &r.a[2], size);
  charge_store(o, {1, to.bytes, to.bytes, to.bytes, 0, to.bytes, 0, Rows::Fill::kNone}, 1);
}

void Core::charge_scalar_access(const abi::Operand& o, bool write) {
  ++block_->totals.scalar_accesses;
  if (o.space != abi::Space::kGm) return scalar(write ? cost_->ub_store : cost_->ub_load);
  const bool hit = block_->cache.touch(o.addr);
  if (!hit) block_->totals.hbm_read_bytes += 64;
  scalar(hit ? cost_->gm_hit : cost_->gm_miss);
}

std::uint64_t Core::get_value(const abi::Record& r) {
  const abi::Operand& o = r.operand[0];
  const std::uint64_t size = std::min<std::uint64_t>(8, element_bytes(o));
  const Range at = r.operands < 1 ? Range{} : range(o, 0, size, false, "GetValue");
  std::uint64_t bits = 0;
  if (at.ok) {
    touch(kS, o, at, false);
    if (at.data) std::memcpy(&bits, at.data, size);
    if (at.tensor) block_->totals.read_bytes += size;
  }
  charge_scalar_access(o, false);
  return bits;
}

void Core::set_value(const abi::Record& r) {
  const abi::Operand& o = r.operand[0];
  const std::uint64_t size = std::min<std::uint64_t>(8, element_bytes(o));
  const Range at = r.operands < 1 ? Range{} : range(o, 0, size, true, "SetValue");
  if (at.ok) {
    touch(kS, o, at, true);
    if (at.data) std::memcpy(at.data, &r.a[2], size);
    if (at.tensor) block_->totals.write_bytes += size;
  }
  charge_scalar_access(o, true);
}

Engine::Answer Core::read_gm(const abi::Record& r) {
  const std::uint64_t bytes = std::min<std::uint64_t>(r.a[0], abi::kBulkBytes);
  const Range at = r.operands < 1 ? Range{} : range(r.operand[0], 0, bytes, false, "a scalar read of GM");
  scalar(cost_->gm_miss * static_cast<double>((bytes + 63) / 64));
  answer_bulk_.assign(bytes, std::byte{0});
  if (at.ok) {
    touch(kS, r.operand[0], at, false);
    if (at.data) std::memcpy(answer_bulk_.data(), at.data, bytes);
  }
  return {0, answer_bulk_.data(), static_cast<std::uint32_t>(bytes), false};
}

}  // namespace evk::twin
