// Results out of L0C: to rows of GM, or as fractals to GM or L1 (pipe FIX).
#include <bit>

#include "twin/engine/core.h"
#include "twin/engine/cube_exec.h"

namespace evk::twin {
namespace {

using abi::DType;
using abi::Quant;
using abi::Space;

std::uint64_t field(std::uint64_t word, int shift) { return word >> shift & 0xffff; }

bool fits(Quant quant, DType from, DType to) {
  switch (quant) {
    case Quant::kNone:
      return from == to && (from == DType::kF32 || from == DType::kI32);
    case Quant::kF32ToF16:
      return from == DType::kF32 && to == DType::kF16;
    case Quant::kF32ToBf16:
      return from == DType::kF32 && to == DType::kBf16;
    case Quant::kDequant:
      return from == DType::kI32 && to == DType::kF16;
  }
  return false;
}

}  // namespace

bool Core::check_fixpipe(const abi::Record& r) {
  if (r.operands < 2) return fault("bad_record", "Fixpipe with fewer than two operands"), false;
  const abi::Operand &dst = r.operand[0], &src = r.operand[1];
  const bool to_rows = r.flags & 2;
  if (src.space != Space::kL0C || !(dst.space == Space::kGm || (dst.space == Space::kL1 && !to_rows)))
    return fault("copy_path", "Fixpipe goes from L0C (CO1) to GM, or as fractals to L1",
                 "give a tensor of CO1 as the source"),
           false;
  if (!fits(static_cast<Quant>(r.mode), src.dtype, dst.dtype))
    return fault(
               "dtype_unsupported", "Fixpipe has no such conversion",
               "quantPre F322F16 for half, F322BF16 for bfloat16_t, NoQuant for the type of L0C, DEQF16 from "
               "int32_t to half"),
           false;
  if (block_->atomic.kind != 0 && dst.space == Space::kGm && block_->atomic.dtype != dst.dtype)
    return fault("atomic_dtype", "an atomic Fixpipe of another data type than was set",
                 "call SetAtomicAdd with the destination's data type"),
           false;
  return aligned(src, "the source of Fixpipe", 64) && aligned(dst, "the destination of Fixpipe");
}

void Core::fixpipe(const abi::Record& r) {
  if (!check_fixpipe(r)) return;
  const std::uint64_t n = field(r.a[0], 0), m = field(r.a[0], 16);
  const bool to_rows = r.flags & 2;
  const std::uint64_t matrices = to_rows ? field(r.a[3], 0) : 1, src_step = field(r.a[3], 16) * 1024,
                      dst_step = (r.a[4] & 0xffffffff) * abi::bytes_of(r.operand[0].dtype);
  if (m == 0 || n == 0 || matrices == 0) return note("copy_empty", "Fixpipe of an empty matrix does nothing");
  const std::uint64_t words = bytes_of_space(Space::kL0C) / 4;
  if (m * n > words || m * n * matrices > words)
    return fault("copy_limits", "Fixpipe of more elements than L0C holds", "store the result in parts");
  if (r.flags & 4) acquire(kFix, release(kM));  // the unit flag: it waits for the products by itself
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < matrices; ++i) {
    const std::uint64_t done =
        to_rows ? fix_rows(r, i * src_step, i * dst_step, m, n) : fix_fractals(r, m, n);
    if (done == 0) break;
    bytes += done;
  }
  charge_fixpipe(r, m * n * matrices, bytes);
}

// The source of n columns by m rows is strips of 16 columns, `strip` bytes apart.
bool Core::touch_fix_source(const abi::Record& r, std::uint64_t at, std::uint64_t m, std::uint64_t n,
                            std::uint64_t strip, Range& whole) {
  const abi::Operand& src = r.operand[1];
  const std::uint64_t strips = (n + 15) / 16, height = m * 64;
  whole = range(src, at, (strips - 1) * strip + height, false, "the source of Fixpipe");
  if (!whole.ok) return false;
  for (std::uint64_t i = 0; i < strips; ++i) {
    Range part = whole;
    part.lo += i * strip;
    part.bytes = height;
    touch(kFix, src, part, false);
  }
  return true;
}

std::uint64_t Core::fix_rows(const abi::Record& r, std::uint64_t src_at, std::uint64_t dst_at,
                             std::uint64_t m, std::uint64_t n) {
  const abi::Operand& dst = r.operand[0];
  const std::uint64_t size = abi::bytes_of(dst.dtype), strip = (r.a[1] & 0xffffffff) * 64,
                      pitch = (r.a[1] >> 32) * size, bytes = n * size;
  Range from;
  if (!touch_fix_source(r, src_at, m, n, strip, from)) return 0;
  const RowOut how{r.operand[1].dtype, dst.dtype, static_cast<Quant>(r.mode), (r.flags & 1) != 0,
                   std::bit_cast<float>(static_cast<std::uint32_t>(r.a[2]))};
  fix_row_.resize(bytes);
  for (std::uint64_t row = 0; row < m; ++row) {
    const Range to = range(dst, dst_at + row * pitch, bytes, true, "the destination of Fixpipe");
    if (!to.ok) return row * bytes;
    touch(kFix, dst, to, true);
    if (!to.data || !from.data) continue;
    row_out(how, fix_row_.data(), from.data + row * 64, strip, n);
    write_gm(to, fix_row_.data(), bytes, dst.dtype);
  }
  return m * bytes;
}

// Strips of 16 columns stay strips.
std::uint64_t Core::fix_fractals(const abi::Record& r, std::uint64_t m, std::uint64_t n) {
  const abi::Operand& dst = r.operand[0];
  const std::uint64_t size = abi::bytes_of(dst.dtype), strip = (r.a[1] & 0xffffffff) * 64,
                      step = (r.a[1] >> 32) * 32, bytes = m * 16 * size, strips = (n + 15) / 16;
  Range from;
  if (!touch_fix_source(r, 0, m, n, strip, from)) return 0;
  const RowOut how{r.operand[1].dtype, dst.dtype, static_cast<Quant>(r.mode), (r.flags & 1) != 0,
                   std::bit_cast<float>(static_cast<std::uint32_t>(r.a[2]))};
  fix_row_.resize(bytes);
  for (std::uint64_t i = 0; i < strips; ++i) {
    const Range to = range(dst, i * step, bytes, true, "the destination of Fixpipe");
    if (!to.ok) return i * bytes;
    touch(kFix, dst, to, true);
    if (!to.data || !from.data) continue;
    row_out(how, fix_row_.data(), from.data + i * strip, 64, m * 16);
    if (dst.space == Space::kGm)
      write_gm(to, fix_row_.data(), bytes, dst.dtype);
    else
      std::copy(fix_row_.begin(), fix_row_.end(), to.data);
  }
  return strips * bytes;
}

void Core::charge_fixpipe(const abi::Record& r, std::uint64_t elements, std::uint64_t bytes) {
  const abi::Operand& dst = r.operand[0];
  if (bytes == 0) return;
  if (dst.space != Space::kGm) {
    run_on(kFix, cost_->fixpipe_cycles(elements, 0));
    return;
  }
  BlockTotals& t = block_->totals;
  const bool to_rows = r.flags & 2;
  const std::uint64_t size = abi::bytes_of(dst.dtype), row = to_rows ? (r.a[0] & 0xffff) * size : bytes,
                      rows = bytes / row, pitch = to_rows ? (r.a[1] >> 32) * size : bytes;
  double moved = 0;
  for (std::uint64_t i = 0; i < rows; ++i) {
    moved += static_cast<double>(cost_->bus_bytes(dst.addr + i * pitch, row));
    block_->l2.touch(dst.addr + i * pitch, dst.addr + i * pitch + row);
  }
  ++t.dma_count;
  t.write_bytes += bytes;
  t.bus_write_bytes += moved;
  const double cycles = cost_->fixpipe_cycles(elements, moved);
  const double start = run_on(kFix, cycles, cost_->store_latency);
  block_->copies.add(1, start, start + cycles);
}

}  // namespace evk::twin
