// The cube core: rows to fractals (MTE2), fractals to L0A, L0B and the bias table (MTE1), products (M).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "twin/engine/core.h"
#include "twin/engine/cube_exec.h"
#include "twin/engine/numeric.h"

namespace evk::twin {
namespace {

using abi::DType;
using abi::Space;

std::uint64_t field(std::uint64_t word, int shift) { return word >> shift & 0xffff; }
std::uint64_t up(std::uint64_t n, std::uint64_t size) { return (n + size - 1) / size; }

constexpr std::uint64_t kMmadSideMax = 4095;
constexpr std::uint64_t kLoadRepeatsMax = 255;
// Below so many fractals of the result, a product does not hide the one before: the device wants a barrier.
constexpr std::uint64_t kFractalsInOrder = 10;

struct Nd2Nz {
  std::uint64_t count, rows, columns, src_step, src_row, column_step, row_step, dst_step;
};
Nd2Nz nd2nz_of(const abi::Record& r) {
  return {r.a[0],
          r.a[1],
          r.a[2],
          r.a[3],
          r.a[4],
          field(r.a[5], 0) * kFractalRowBytes,
          field(r.a[5], 16) * kFractalRowBytes,
          r.a[5] >> 32};
}

bool is_cube_type(DType t) {
  return t == DType::kF16 || t == DType::kBf16 || t == DType::kF32 || t == DType::kI8;
}

}  // namespace

void Core::cube(const abi::Record& r) {
  switch (r.op) {
    case abi::Op::kNd2Nz:
      return nd2nz(r);
    case abi::Op::kLoadData2D:
      return load_data_2d(r);
    case abi::Op::kLoadDataTranspose:
      return load_data_transpose(r);
    case abi::Op::kMmad:
      return mmad_instruction(r);
    default:
      return fixpipe(r);
  }
}

// Each block of 32 bytes of a row goes to a column of L1, one row below the other; the rest of a row's last
// block is zero.
void Core::nd2nz(const abi::Record& r) {
  const abi::Operand &dst = r.operand[0], &src = r.operand[1];
  const Nd2Nz p = nd2nz_of(r);
  const std::uint64_t size = abi::bytes_of(dst.dtype);
  if (r.operands < 2 || (size != 1 && size != 2 && size != 4) || std::max({p.count, p.rows}) > 0xffff ||
      std::max({p.columns, p.src_step, p.src_row, p.dst_step}) > 0xffffffff)
    return fault("bad_record", "a copy of rows to fractals whose fields have no meaning");
  if (src.space != Space::kGm || dst.space != Space::kL1)
    return fault("copy_path", "DataCopy with Nd2NzParams goes from GM to L1 (A1, B1, C1)",
                 "give a tensor of A1 or B1 as the destination");
  if (!aligned(dst, "the destination of DataCopy")) return;
  if (p.count == 0 || p.rows == 0 || p.columns == 0) {
    note("copy_empty", "a copy of zero rows or zero columns does nothing");
    return scalar(cost_->issue);
  }
  // No copy fills more blocks of 32 bytes than L1 has.
  const std::uint64_t blocks = bytes_of_space(Space::kL1) / kFractalRowBytes,
                      wide = up(p.columns * size, kFractalRowBytes);
  if (wide > blocks || p.rows * wide > blocks || p.count * p.rows * wide > blocks)
    return fault("copy_limits",
                 fmt::format("DataCopy of {} matrices of {} rows of {} bytes: L1 has {}", p.count, p.rows,
                             p.columns * size, bytes_of_space(Space::kL1)),
                 "split the copy");
  std::uint64_t done = 0;
  for (std::uint64_t i = 0; i < p.count; ++i)
    if (!nd2nz_matrix(r, i * p.src_step * size, i * p.dst_step * size, size, done)) break;
  const std::uint64_t bytes = p.columns * size;
  charge_load(src, {done, bytes, p.src_row * size, bytes, 0, bytes, 0, Rows::Fill::kNone}, done);
}

bool Core::nd2nz_matrix(const abi::Record& r, std::uint64_t from_at, std::uint64_t to_at, std::uint64_t size,
                        std::uint64_t& done) {
  const abi::Operand &dst = r.operand[0], &src = r.operand[1];
  const Nd2Nz p = nd2nz_of(r);
  const std::uint64_t bytes = p.columns * size, columns = up(bytes, kFractalRowBytes),
                      pitch = p.src_row * size;
  const Range whole = range(src, from_at, (p.rows - 1) * pitch + bytes, false, "the source of DataCopy");
  if (!whole.ok) return false;
  const bool dense = pitch == bytes;
  if (dense || whole.tensor->kind == GmTensor::Kind::kInput)
    touch(kMte2, src, whole, false);
  else
    for (std::uint64_t row = 0; row < p.rows; ++row)
      touch(kMte2, src, range(src, from_at + row * pitch, bytes, false, "the source of DataCopy"), false);
  const bool stacked = p.row_step == kFractalRowBytes;
  const std::uint64_t strips = stacked ? 1 : p.rows,
                      strip = stacked ? p.rows * kFractalRowBytes : kFractalRowBytes;
  for (std::uint64_t c = 0; c < columns; ++c)
    for (std::uint64_t s = 0; s < strips; ++s) {
      const Range to =
          range(dst, to_at + c * p.column_step + s * p.row_step, strip, true, "the destination of DataCopy");
      if (!to.ok) return false;
      touch(kMte2, dst, to, true);
      if (!to.data || !whole.data) continue;
      const std::uint64_t take = std::min(kFractalRowBytes, bytes - c * kFractalRowBytes);
      for (std::uint64_t row = 0; row < strip / kFractalRowBytes; ++row) {
        std::byte* at = to.data + row * kFractalRowBytes;
        std::memcpy(at, whole.data + (s + row) * pitch + c * kFractalRowBytes, take);
        if (take < kFractalRowBytes) std::memset(at + take, 0, kFractalRowBytes - take);
      }
    }
  done += p.rows;
  return true;
}

// Copies `bytes` between memories of the cube core on MTE1 (or MTE2 from GM).
bool Core::cube_copy(int pipe, const abi::Record& r, std::uint64_t src_at, std::uint64_t dst_at,
                     std::uint64_t bytes) {
  const Range from = range(r.operand[1], src_at, bytes, false, "the source of LoadData");
  if (!from.ok) return false;
  const Range to = range(r.operand[0], dst_at, bytes, true, "the destination of LoadData");
  if (!to.ok) return false;
  touch(pipe, r.operand[1], from, false);
  touch(pipe, r.operand[0], to, true);
  if (to.data && from.data) std::memcpy(to.data, from.data, bytes);
  return true;
}

bool Core::check_load(const abi::Record& r) {
  const abi::Operand &dst = r.operand[0], &src = r.operand[1];
  if (r.operands < 2) return fault("bad_record", "a load with fewer than two operands"), false;
  const bool to_l0 = dst.space == Space::kL0A || dst.space == Space::kL0B;
  const bool from_l1 = src.space == Space::kL1, from_gm = src.space == Space::kGm;
  if (!(to_l0 && (from_l1 || from_gm)) && !(dst.space == Space::kL1 && from_gm)) {
    fault("copy_path", "LoadData goes from L1 or GM to L0A (A2) or L0B (B2), and from GM to L1",
          "load A1 tensors to A2 and B1 tensors to B2");
    return false;
  }
  return aligned(dst, "the destination of LoadData", to_l0 ? kFractalBytes : 32) &&
         aligned(src, "the source of LoadData");
}

void Core::charge_cube_load(const abi::Record& r, int pipe, std::uint64_t bytes) {
  if (pipe == kMte2)
    return charge_load(r.operand[1], {1, bytes, bytes, bytes, 0, bytes, 0, Rows::Fill::kNone}, 1);
  run_on(kMte1, cost_->cube_load_cycles(r.operand[0].space, bytes));
}

void Core::load_data_2d(const abi::Record& r) {
  if (!check_load(r)) return;
  const std::uint64_t first = field(r.a[0], 0), repeats = field(r.a[0], 16), stride = field(r.a[0], 32),
                      gap = field(r.a[1], 0);
  const abi::Operand& dst = r.operand[0];
  const bool transpose = r.flags & 1, down = r.flags & 2;
  const int pipe = r.operand[1].space == Space::kGm ? kMte2 : kMte1;
  const std::uint64_t size = abi::bytes_of(dst.dtype);
  if (repeats > kLoadRepeatsMax) return fault("bad_record", "LoadData repeats at most 255 times");
  if (repeats == 0) return note("copy_empty", "LoadData with repeatTimes 0 does nothing");
  if (transpose && (size != 2 || pipe == kMte2))
    return fault("dtype_unsupported", "LoadData with ifTranspose is for two-byte types from L1",
                 "use LoadDataWithTranspose for float and int8_t");
  std::uint64_t done = 0;
  if (!transpose && stride == 1 && gap == 0 && !down) {
    if (cube_copy(pipe, r, first * kFractalBytes, 0, repeats * kFractalBytes)) done = repeats;
  } else {
    for (; done < repeats; ++done) {
      const std::uint64_t at = (down ? first - done * stride : first + done * stride) * kFractalBytes,
                          to = done * (1 + gap) * kFractalBytes;
      if (down && first < done * stride) return fault("chip_out_of_bounds", "LoadData runs below its source");
      if (transpose ? !load_square(r, at, to, to + kFractalBytes, size)
                    : !cube_copy(pipe, r, at, to, kFractalBytes))
        break;
    }
  }
  charge_cube_load(r, pipe, done * kFractalBytes);
}

// One square, transposed: one fractal of two-byte elements, two of others.
bool Core::load_square(const abi::Record& r, std::uint64_t src_at, std::uint64_t first, std::uint64_t second,
                       std::uint64_t size) {
  const std::uint64_t fractals = size == 2 ? 1 : 2;
  const Range from = range(r.operand[1], src_at, fractals * kFractalBytes, false, "the source of LoadData");
  if (!from.ok) return false;
  touch(kMte1, r.operand[1], from, false);
  std::byte* to[2] = {nullptr, nullptr};
  for (std::uint64_t i = 0; i < fractals; ++i) {
    const Range at =
        range(r.operand[0], i == 0 ? first : second, kFractalBytes, true, "the destination of LoadData");
    if (!at.ok) return false;
    touch(kMte1, r.operand[0], at, true);
    to[i] = at.data;
  }
  if (from.data && to[0]) transpose_square(to, from.data, size);
  return true;
}

void Core::load_data_transpose(const abi::Record& r) {
  if (!check_load(r)) return;
  const std::uint64_t first = field(r.a[0], 0), repeats = field(r.a[0], 16), stride = field(r.a[0], 32),
                      gap = field(r.a[1], 0), inner = field(r.a[1], 16);
  const std::uint64_t size = abi::bytes_of(r.operand[0].dtype);
  if (r.operand[1].space != Space::kL1 || (size != 1 && size != 2 && size != 4) || repeats > kLoadRepeatsMax)
    return fault("copy_path", "LoadDataWithTranspose loads from L1, elements of 1, 2 or 4 bytes",
                 "load B1 tensors to B2");
  const std::uint64_t fractals = size == 2 ? 1 : 2, square = fractals * kFractalBytes;
  std::uint64_t done = 0, at = 0;
  for (; done < repeats; ++done, at += (1 + gap) * kFractalBytes)
    if (!load_square(r, (first + done * stride) * square, at, at + (1 + inner) * kFractalBytes, size)) break;
  charge_cube_load(r, kMte1, done * square);
}

// L1 to the bias table; half becomes float on the way.
void Core::bias_copy(const abi::Record& r, const Rows& rows) {
  const abi::Operand &dst = r.operand[0], &src = r.operand[1];
  const bool widens = src.dtype == DType::kF16 && dst.dtype == DType::kF32;
  const std::uint64_t grown = widens ? 2 : 1;
  if (!aligned(dst, "the destination of DataCopy to C2", 64)) return;
  std::uint64_t i = 0;
  for (; i < rows.count; ++i) {
    const Range from = range(src, i * rows.src_step, rows.bytes, false, "the source of DataCopy");
    if (!from.ok) break;
    const Range to = range(dst, i * rows.dst_step, rows.bytes * grown, true, "the destination of DataCopy");
    if (!to.ok) break;
    touch(kMte1, src, from, false);
    touch(kMte1, dst, to, true);
    if (!to.data || !from.data) continue;
    if (widens)
      widen(DType::kF16, from.data, reinterpret_cast<float*>(to.data), rows.bytes / 2);
    else
      std::memcpy(to.data, from.data, rows.bytes);
  }
  run_on(kMte1, cost_->cube_load_cycles(Space::kBt, i * rows.bytes));
}

bool Core::check_mmad(const abi::Record& r, std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  const abi::Operand &c = r.operand[0], &a = r.operand[1], &b = r.operand[2];
  if (r.operands < 3 || r.mode > static_cast<std::uint16_t>(abi::MmadStart::kBias) ||
      (r.mode == static_cast<std::uint16_t>(abi::MmadStart::kBias) && r.operands < 4))
    return fault("bad_record", "Mmad with too few operands"), false;
  const DType sum = a.dtype == DType::kI8 ? DType::kI32 : DType::kF32;
  if (!is_cube_type(a.dtype) || a.dtype != b.dtype || c.dtype != sum)
    return fault("dtype_unsupported", "Mmad has no such combination of data types",
                 "half, bfloat16_t and float give float; int8_t gives int32_t"),
           false;
  if (a.space != Space::kL0A || b.space != Space::kL0B || c.space != Space::kL0C ||
      (r.operands > 3 && r.operand[3].space != Space::kBt))
    return fault("copy_path", "Mmad takes L0A (A2), L0B (B2) and L0C (CO1), and a bias in C2",
                 "load the operands by LoadData first"),
           false;
  if (std::max({m, n, k}) > kMmadSideMax)
    return fault("copy_limits", fmt::format("Mmad of {} x {} x {}; {} are possible", m, n, k, kMmadSideMax),
                 "use smaller tiles"),
           false;
  return aligned(c, "the result of Mmad", 1024) && aligned(a, "the left matrix of Mmad", kFractalBytes) &&
         aligned(b, "the right matrix of Mmad", kFractalBytes) &&
         (r.operands < 4 || aligned(r.operand[3], "the bias of Mmad", 64));
}

// Products that keep the cube busy long enough follow one another without a barrier.
void Core::order_products(std::uint64_t fractals) {
  if (fractals < kFractalsInOrder) return;
  const Flag before = release(kM);
  join(block_->clock[kM], before.clock);
}

void Core::mmad_instruction(const abi::Record& r) {
  const std::uint64_t m = field(r.a[0], 0), n = field(r.a[0], 16), k = field(r.a[0], 32);
  if (!check_mmad(r, m, n, k)) return;
  if (m == 0 || n == 0 || k == 0) return note("copy_empty", "Mmad of an empty matrix does nothing");
  const abi::Operand &c = r.operand[0], &a = r.operand[1], &b = r.operand[2];
  const auto start = static_cast<abi::MmadStart>(r.mode);
  const std::uint64_t width = kFractalRowBytes / abi::bytes_of(a.dtype), m1 = up(m, 16), n1 = up(n, 16),
                      k1 = r.flags & 2 ? up(k, 16) * 16 / width : up(k, width);
  const Range left = range(a, 0, m1 * k1 * kFractalBytes, false, "the left matrix of Mmad");
  const Range right = range(b, 0, k1 * n1 * kFractalBytes, false, "the right matrix of Mmad");
  const Range sum = range(c, 0, m1 * n1 * 1024, true, "the result of Mmad");
  Range bias;
  if (start == abi::MmadStart::kBias) {
    bias = range(r.operand[3], 0, n * 4, false, "the bias of Mmad");
    if (!bias.ok) return;
  }
  if (!left.ok || !right.ok || !sum.ok) return;
  if (r.flags & 1) acquire(kM, release(kFix));  // the unit flag: Fixpipe frees what it has read
  order_products(m1 * n1);
  touch(kM, a, left, false);
  touch(kM, b, right, false);
  if (bias.ok) touch(kM, r.operand[3], bias, false);
  if (start == abi::MmadStart::kAccumulate) touch(kM, c, sum, false);
  touch(kM, c, sum, true);
  if (sum.data)
    mmad(a.dtype, sum.data, left.data, right.data, bias.data, start == abi::MmadStart::kAccumulate,
         {m, n, k, k1});
  run_on(kM, cost_->mmad_cycles(a.dtype, m, n, k));
}

}  // namespace evk::twin
