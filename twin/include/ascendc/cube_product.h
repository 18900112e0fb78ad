// One product on a cube core, as the instructions that the Matmul interface stands for: copies to L1 in
// chunks, loads of L0A and L0B, Mmad, Fixpipe, each stage with two buffers where they fit.
#pragma once

#include <initializer_list>

#include "ascendc/cube.h"

namespace AscendC {
namespace evk_detail {

// What is multiplied. Addresses lie in GM; pitches are the elements from row to row as they are stored.
struct CubeJob {
  std::uint64_t a = 0, b = 0, bias = 0, c = 0;
  abi::DType in = abi::DType::kF16, out = abi::DType::kF32, bias_type = abi::DType::kF32;
  bool trans_a = false, trans_b = false, has_bias = false, by_rows = false;
  bool sequential = false;  // tiles are stored one after the other, not at their places
  std::uint32_t m = 0, n = 0, k = 0;
  std::uint64_t pitch_a = 0, pitch_b = 0, pitch_c = 0;
  std::uint32_t base_m = 0, base_n = 0, base_k = 0, steps = 1;
  std::uint32_t first_tile = 0, tiles = 0;
  std::uint8_t atomic = 0;
  Loc loc{"", 0};

  std::uint32_t tiles_down() const { return base_m ? (m + base_m - 1) / base_m : 0; }
  std::uint32_t tiles_across() const { return base_n ? (n + base_n - 1) / base_n : 0; }
  std::uint32_t row_of(std::uint32_t tile) const {
    return (by_rows ? tile / tiles_across() : tile % tiles_down()) * base_m;
  }
  std::uint32_t column_of(std::uint32_t tile) const {
    return (by_rows ? tile % tiles_across() : tile / tiles_down()) * base_n;
  }
  std::uint32_t rows_of(std::uint32_t tile) const { return smaller(base_m, m - row_of(tile)); }
  std::uint32_t columns_of(std::uint32_t tile) const { return smaller(base_n, n - column_of(tile)); }
  static std::uint32_t smaller(std::uint32_t x, std::uint32_t y) { return x < y ? x : y; }
};

class CubeProduct {
 public:
  explicit CubeProduct(const CubeJob& job)
      : j_(job), size_(abi::bytes_of(job.in)), width_(32 / size_), square_(width_ > 16 ? width_ : 16) {
    turned_ = size_ == 4 && (j_.trans_a || !j_.trans_b);
    while (steps() > 1 && (chunk_bytes(j_.base_m) > kChunkA || chunk_bytes(j_.base_n) > kChunkB)) --j_.steps;
    const std::uint64_t deep = up(j_.base_k, square_);
    const bool pairs =
        up(j_.base_m, square_) * deep * size_ <= kHalfL0 && up(j_.base_n, square_) * deep * size_ <= kHalfL0;
    l0_slots_ = pairs ? 2 : 1;
    sum_slots_ = up(j_.base_m, 16) * up(j_.base_n, square_) * 4 <= kHalfL0C ? 2 : 1;
  }

  EVK_LIBRARY_CODE void run() {
    barrier(PIPE_ALL, j_.loc);
    each_free_flag(abi::Op::kSetFlag);
    if (j_.atomic) atomic(j_.atomic);
    for (std::uint32_t i = 0; i < j_.tiles; ++i) tile(j_.first_tile + i, i);
    if (j_.atomic) atomic(0);
    each_free_flag(abi::Op::kWaitFlag);
    barrier(PIPE_ALL, j_.loc);
  }

 private:
  // L1: two chunks of a, two of b, the bias. L0 and L0C by halves.
  static constexpr std::uint64_t kChunkA = 128 * 1024, kChunkB = 126 * 1024, kAtB = 2 * kChunkA,
                                 kAtBias = kAtB + 2 * kChunkB, kHalfL0 = 32 * 1024, kHalfL0C = 64 * 1024;
  static constexpr std::uint64_t kBiasFlag = 2;  // of M_MTE1: the bias table may be filled again

  static std::uint64_t up(std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; }
  std::uint32_t steps() const { return j_.steps; }
  std::uint64_t chunk_bytes(std::uint64_t side) const {
    return up(side, square_) * up(std::uint64_t{j_.base_k} * j_.steps, square_) * size_;
  }
  abi::Operand at(abi::Space space, std::uint64_t addr, abi::DType type) const {
    return {addr, 0, 0, space, type};
  }
  void send(abi::Op op, std::initializer_list<abi::Operand> operands, std::initializer_list<std::uint64_t> a,
            std::uint16_t mode = 0, std::uint16_t flags = 0) const {
    abi::Record r = record(op, j_.loc);
    r.mode = mode;
    r.flags = flags;
    for (const auto& operand : operands) r.operand[r.operands++] = operand;
    std::size_t i = 0;
    for (const std::uint64_t value : a) r.a[i++] = value;
    emit(r);
  }
  void set(int from, int to, std::uint64_t id) const {
    flag(abi::Op::kSetFlag, from, to, static_cast<int>(id), j_.loc);
  }
  void wait(int from, int to, std::uint64_t id) const {
    flag(abi::Op::kWaitFlag, from, to, static_cast<int>(id), j_.loc);
  }
  // Every buffer is free at first, and at last.
  void each_free_flag(abi::Op op) const {
    for (int id = 0; id < 2; ++id) flag(op, PIPE_MTE1, PIPE_MTE2, id, j_.loc);
    for (int id = 0; id < l0_slots_; ++id) flag(op, PIPE_M, PIPE_MTE1, id, j_.loc);
    if (j_.has_bias) flag(op, PIPE_M, PIPE_MTE1, kBiasFlag, j_.loc);
    for (int id = 0; id < sum_slots_; ++id) flag(op, PIPE_FIX, PIPE_M, id, j_.loc);
  }
  void atomic(std::uint8_t kind) const {
    send(abi::Op::kSetAtomic, {}, {kind}, kind ? static_cast<std::uint16_t>(j_.out) : 0);
  }

  void tile(std::uint32_t index, std::uint32_t nth) {
    const std::uint32_t m = j_.rows_of(index), n = j_.columns_of(index), deep = j_.base_k * j_.steps;
    const std::uint64_t sum_slot = nth % static_cast<std::uint32_t>(sum_slots_);
    wait(PIPE_FIX, PIPE_M, sum_slot);
    for (std::uint32_t k = 0; k < j_.k; k += deep)
      chunk(j_.row_of(index), j_.column_of(index), m, n, k, CubeJob::smaller(deep, j_.k - k),
            sum_slot * kHalfL0C);
    set(PIPE_M, PIPE_FIX, sum_slot);
    wait(PIPE_M, PIPE_FIX, sum_slot);
    store(index, nth, m, n, sum_slot * kHalfL0C);
    set(PIPE_FIX, PIPE_M, sum_slot);
  }

  void chunk(std::uint32_t row, std::uint32_t column, std::uint32_t m, std::uint32_t n, std::uint32_t k,
             std::uint32_t deep, std::uint64_t sum) {
    const std::uint64_t slot = chunks_++ % 2, a1 = slot * kChunkA, b1 = kAtB + slot * kChunkB;
    wait(PIPE_MTE1, PIPE_MTE2, slot);
    j_.trans_a ? to_l1(a1, j_.a, k, row, deep, m, j_.pitch_a, true)
               : to_l1(a1, j_.a, row, k, m, deep, j_.pitch_a, false);
    j_.trans_b ? to_l1(b1, j_.b, column, k, n, deep, j_.pitch_b, false)
               : to_l1(b1, j_.b, k, column, deep, n, j_.pitch_b, true);
    const bool bias = j_.has_bias && k == 0;
    if (bias) {
      const std::uint64_t size = abi::bytes_of(j_.bias_type);
      send(abi::Op::kDataCopyPad,
           {at(abi::Space::kL1, kAtBias + slot * 2048, j_.bias_type),
            at(abi::Space::kGm, j_.bias + column * size, j_.bias_type)},
           {1 | n * size << 32, 0, 1ull << 32, 0});
    }
    set(PIPE_MTE2, PIPE_MTE1, slot);
    wait(PIPE_MTE2, PIPE_MTE1, slot);
    if (bias) fill_bias(kAtBias + slot * 2048, n);
    for (std::uint32_t x = 0; x < deep; x += j_.base_k)
      multiply(a1, b1, m, n, deep, x, CubeJob::smaller(j_.base_k, deep - x), sum, k == 0 && x == 0);
    set(PIPE_MTE1, PIPE_MTE2, slot);
  }

  // A part of a stored matrix, as columns of 32 bytes; one that is to be turned and has four-byte elements in
  // stripes of 16 rows.
  void to_l1(std::uint64_t l1, std::uint64_t gm, std::uint64_t row, std::uint64_t column, std::uint64_t rows,
             std::uint64_t columns, std::uint64_t pitch, bool turn) const {
    const bool stripes = turn && size_ == 4;
    const std::uint64_t step = stripes ? 16 : rows, height = stripes ? 16 : up(rows, size_ == 1 ? 32 : 16);
    for (std::uint64_t r = 0; r < rows; r += step) {
      const std::uint64_t take = rows - r < step ? rows - r : step;
      send(abi::Op::kNd2Nz,
           {at(abi::Space::kL1, l1 + r * up(columns, 16) * size_, j_.in),
            at(abi::Space::kGm, gm + ((row + r) * pitch + column) * size_, j_.in)},
           {1, take, columns, 0, pitch, height | 1 << 16});
    }
  }
  void fill_bias(std::uint64_t l1, std::uint32_t n) const {
    wait(PIPE_M, PIPE_MTE1, kBiasFlag);
    send(abi::Op::kDataCopy, {at(abi::Space::kBt, 0, sum_type()), at(abi::Space::kL1, l1, j_.bias_type)},
         {1 | up(n * abi::bytes_of(j_.bias_type), 32) / 32 << 32, 0});
  }
  abi::DType sum_type() const { return size_ == 1 ? abi::DType::kI32 : abi::DType::kF32; }
  std::uint64_t columns_of_sum(std::uint32_t n) const { return size_ == 1 ? up(n, 32) : up(n, 16); }

  void multiply(std::uint64_t a1, std::uint64_t b1, std::uint32_t m, std::uint32_t n,
                std::uint32_t chunk_deep, std::uint32_t at_k, std::uint32_t k, std::uint64_t sum,
                bool first) {
    const std::uint64_t slot = products_++ % static_cast<std::uint64_t>(l0_slots_), l0 = slot * kHalfL0;
    const std::uint64_t k1 = up(k, turned_ ? 16 : width_) / width_;
    wait(PIPE_M, PIPE_MTE1, slot);
    j_.trans_a ? turn_a(a1, l0, m, chunk_deep, at_k, k1) : load_a(a1, l0, m, at_k, k1);
    j_.trans_b ? load_b(b1, l0, n, at_k, k1) : turn_b(b1, l0, n, chunk_deep, at_k, k1);
    set(PIPE_MTE1, PIPE_M, slot);
    wait(PIPE_MTE1, PIPE_M, slot);
    const std::uint64_t wide = columns_of_sum(n);
    const auto start = !first        ? abi::MmadStart::kAccumulate
                       : j_.has_bias ? abi::MmadStart::kBias
                                     : abi::MmadStart::kZero;
    const std::uint64_t shape = m | (size_ == 1 ? wide : n) << 16 | std::uint64_t{k} << 32;
    const abi::Operand c = at(abi::Space::kL0C, sum, sum_type()), a = at(abi::Space::kL0A, l0, j_.in),
                       b = at(abi::Space::kL0B, l0, j_.in);
    const auto flags = static_cast<std::uint16_t>(turned_ ? 2 : 0);
    if (start == abi::MmadStart::kBias)
      send(abi::Op::kMmad, {c, a, b, at(abi::Space::kBt, 0, sum_type())}, {shape},
           static_cast<std::uint16_t>(start), flags);
    else
      send(abi::Op::kMmad, {c, a, b}, {shape}, static_cast<std::uint16_t>(start), flags);
    if (up(m, 16) * wide < 10 * 256) barrier(PIPE_M, j_.loc);
    set(PIPE_M, PIPE_MTE1, slot);
    if (start == abi::MmadStart::kBias) set(PIPE_M, PIPE_MTE1, kBiasFlag);
  }

  void load(abi::Op op, abi::Space space, std::uint64_t dst, std::uint64_t src, std::uint64_t first,
            std::uint64_t repeats, std::uint64_t stride, std::uint64_t gap, bool turn) const {
    send(op, {at(space, dst, j_.in), at(abi::Space::kL1, src, j_.in)},
         {first | repeats << 16 | stride << 32, gap}, 0, turn ? 1 : 0);
  }
  void load_a(std::uint64_t l1, std::uint64_t l0, std::uint32_t m, std::uint32_t at_k,
              std::uint64_t k1) const {
    const std::uint64_t height = up(m, size_ == 1 ? 32 : 16) / 16;
    for (std::uint64_t i = 0; i < up(m, 16) / 16; ++i)
      load(abi::Op::kLoadData2D, abi::Space::kL0A, l0 + i * k1 * 512, l1, at_k / width_ * height + i, k1,
           height, 0, false);
  }
  void turn_a(std::uint64_t l1, std::uint64_t l0, std::uint32_t m, std::uint32_t deep, std::uint32_t at_k,
              std::uint64_t k1) const {
    const std::uint64_t rows = up(m, square_) / square_, height = up(deep, square_) / square_;
    for (std::uint64_t i = 0; i < rows; ++i) {
      const std::uint64_t dst = l0 + i * square_ / 16 * k1 * 512;
      if (size_ == 2)
        load(abi::Op::kLoadData2D, abi::Space::kL0A, dst, l1, i * height + at_k / 16, k1, 1, 0, true);
      else if (size_ == 4)
        load(abi::Op::kLoadDataTranspose, abi::Space::kL0A, dst, l1, at_k / 16 * rows + i, k1 / 2, rows, 1,
             false);
      else
        load(abi::Op::kLoadDataTranspose, abi::Space::kL0A, dst, l1, i * height + at_k / 32, k1, 1,
             (k1 - 1) << 16, false);
    }
  }
  void load_b(std::uint64_t l1, std::uint64_t l0, std::uint32_t n, std::uint32_t at_k,
              std::uint64_t k1) const {
    const std::uint64_t wide = columns_of_sum(n) / 16, all = k1 * wide;
    for (std::uint64_t i = 0; i < all; i += 255)
      load(abi::Op::kLoadData2D, abi::Space::kL0B, l0 + i * 512, l1, at_k / width_ * wide + i,
           all - i < 255 ? all - i : 255, 1, 0, false);
  }
  void turn_b(std::uint64_t l1, std::uint64_t l0, std::uint32_t n, std::uint32_t deep, std::uint32_t at_k,
              std::uint64_t k1) const {
    const std::uint64_t columns = up(n, square_) / square_, wide = columns_of_sum(n) / 16,
                        height = up(deep, square_) / square_;
    const std::uint64_t down = size_ == 4 ? k1 / 2 : k1;
    for (std::uint64_t i = 0; i < down; ++i) {
      if (size_ == 2)
        load(abi::Op::kLoadData2D, abi::Space::kL0B, l0 + i * wide * 512, l1, at_k / 16 + i, columns, height,
             0, true);
      else if (size_ == 4)
        load(abi::Op::kLoadDataTranspose, abi::Space::kL0B, l0 + 2 * i * wide * 512, l1,
             (at_k / 16 + i) * columns, columns, 1, (wide - 1) << 16, false);
      else
        load(abi::Op::kLoadDataTranspose, abi::Space::kL0B, l0 + i * wide * 512, l1, at_k / 32 + i, columns,
             height, 1, false);
    }
  }

  void store(std::uint32_t index, std::uint32_t nth, std::uint32_t m, std::uint32_t n,
             std::uint64_t sum) const {
    const std::uint64_t size = abi::bytes_of(j_.out), pitch = j_.sequential ? j_.base_n : j_.pitch_c;
    const std::uint64_t where = j_.sequential ? std::uint64_t{nth} * j_.base_m * j_.base_n
                                              : j_.row_of(index) * j_.pitch_c + j_.column_of(index);
    const abi::Quant quant = j_.out == abi::DType::kF16
                                 ? (size_ == 1 ? abi::Quant::kDequant : abi::Quant::kF32ToF16)
                             : j_.out == abi::DType::kBf16 ? abi::Quant::kF32ToBf16
                                                           : abi::Quant::kNone;
    send(abi::Op::kFixpipe,
         {at(abi::Space::kGm, j_.c + where * size, j_.out), at(abi::Space::kL0C, sum, sum_type())},
         {n | std::uint64_t{m} << 16, up(m, 16) | pitch << 32, bits_of(1.0f), 1, 0},
         static_cast<std::uint16_t>(quant), 2);
  }

  CubeJob j_;
  std::uint64_t size_, width_, square_;
  bool turned_ = false;
  int l0_slots_ = 2, sum_slots_ = 2;
  std::uint64_t chunks_ = 0, products_ = 0;
};

}  // namespace evk_detail
}  // namespace AscendC
