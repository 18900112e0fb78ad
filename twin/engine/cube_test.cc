// The cube core against plain loops, its hazards, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>

#include "twin/engine/cost.h"
#include "twin/engine/cube_exec.h"
#include "twin/engine/numeric.h"
#include "twin/engine/program_builder.h"

namespace evk::twin::testing {
namespace {

using u64 = std::uint64_t;

Operand at(Space space, u64 addr, DType dtype) { return {addr, 0, 0, space, dtype}; }
u64 up(u64 n, u64 to) { return (n + to - 1) / to * to; }

// A small value that every type holds exactly.
int value_of(u64 row, u64 column) { return static_cast<int>((row * 7 + column * 13) % 23) - 11; }

std::vector<std::byte> matrix(DType dtype, u64 rows, u64 columns) {
  const u64 size = abi::bytes_of(dtype);
  std::vector<std::byte> bytes(rows * columns * size);
  for (u64 i = 0; i < rows * columns; ++i) {
    const int value = value_of(i / columns, i % columns);
    const auto f = static_cast<float>(value);
    if (dtype == DType::kI8)
      bytes[i] = static_cast<std::byte>(value);
    else if (dtype == DType::kF32)
      std::memcpy(&bytes[i * 4], &f, 4);
    else
      narrow(dtype, &f, &bytes[i * 2], 1);
  }
  return bytes;
}

struct Shape {
  u64 m, n, k;
};

// One product by hand: both matrices to L1, to L0, multiplied, to GM. `skip` leaves one step out.
enum class Skip { kNothing, kMte1ToM, kMToFix, kMte2ToMte1 };
class Cube : public ::testing::TestWithParam<DType> {
 protected:
  static Launch launch(DType dtype, const Shape& s, DType out) {
    Launch l;
    l.op = "product";
    l.inputs = {{"a",
                 dtype,
                 {static_cast<std::int64_t>(s.m), static_cast<std::int64_t>(s.k)},
                 matrix(dtype, s.m, s.k)},
                {"b",
                 dtype,
                 {static_cast<std::int64_t>(s.k), static_cast<std::int64_t>(s.n)},
                 matrix(dtype, s.k, s.n)}};
    l.outputs = {empty("c", static_cast<std::int64_t>(s.m * s.n), out)};
    return l;
  }
  static void nd2nz(Program& p, const Operand& dst, const Operand& src, u64 rows, u64 columns,
                    u64 pitch_rows) {
    p.op(Op::kNd2Nz, {1, rows, columns, 0, columns, pitch_rows | 1 << 16}, {dst, src});
  }
  static RunReport product(DType dtype, const Shape& s, DType out, abi::Quant quant = abi::Quant::kNone,
                           Skip skip = Skip::kNothing, u64 relu = 0) {
    const DType sum = dtype == DType::kI8 ? DType::kI32 : DType::kF32;
    const u64 size = abi::bytes_of(dtype), width = 32 / size, square = std::max<u64>(16, width);
    const u64 m1 = up(s.m, 16) / 16, k1 = up(s.k, width) / width, n1 = up(s.n, 16) / 16;
    const u64 deep = up(s.k, square), wide = up(s.n, square);
    Program p(launch(dtype, s, out), 1, a2(), abi::KernelKind::kAic);
    p.cube_core(0);
    const Operand a1 = at(Space::kL1, 0, dtype), b1 = at(Space::kL1, 131072, dtype);
    const Operand a2_ = at(Space::kL0A, 0, dtype), b2 = at(Space::kL0B, 0, dtype),
                  c = at(Space::kL0C, 0, sum);
    nd2nz(p, a1, p.input(0, 0, dtype), s.m, s.k, m1 * 16);
    nd2nz(p, b1, p.input(1, 0, dtype), s.k, s.n, deep);
    if (skip != Skip::kMte2ToMte1) p.sync(Pipe::kMte2, Pipe::kMte1);
    for (u64 i = 0; i < m1; ++i)
      p.op(Op::kLoadData2D, {i | k1 << 16 | m1 << 32}, {at(Space::kL0A, i * k1 * 512, dtype), a1});
    // Each square of b is turned: columns of fractals in L1, rows of fractals in L0B.
    const u64 per = size == 1 ? 2 : 1, squares = wide / square;
    for (u64 i = 0; i < deep / square; ++i)
      for (u64 j = 0; j < squares; ++j) {
        const u64 from = (j * deep / square + i) * per * 512;
        p.op(Op::kLoadDataTranspose, {1 << 16},
             {at(Space::kL0B, (i * n1 + j * per) * 512, dtype), at(Space::kL1, 131072 + from, dtype)});
      }
    if (skip != Skip::kMte1ToM) p.sync(Pipe::kMte1, Pipe::kM);
    p.op(Op::kMmad, {s.m | s.n << 16 | s.k << 32}, {c, a2_, b2});
    if (skip != Skip::kMToFix) p.sync(Pipe::kM, Pipe::kFix);
    abi::Record fix = Program::record(Op::kFixpipe, {p.output(0, 0, out), c},
                                      {s.n | s.m << 16, m1 * 16 | s.n << 32, 0x3f000000, 1, 0});
    fix.mode = static_cast<std::uint16_t>(quant);
    fix.flags = static_cast<std::uint16_t>(2 | relu);
    p.send(fix);
    p.end();
    return p.finish();
  }
  static double want(const Shape& s, u64 row, u64 column) {
    double sum = 0;
    for (u64 x = 0; x < s.k; ++x) sum += value_of(row, x) * value_of(x, column);
    return sum;
  }
};

TEST_F(Cube, multiplies_halves_and_bfloats_and_bytes_exactly) {
  const Shape s{40, 64, 96};
  for (const DType dtype : {DType::kF16, DType::kBf16}) {
    const RunReport report = product(dtype, s, DType::kF32);
    EXPECT_EQ(codes(report), "");
    const auto c = values_of<float>(report.outputs[0]);
    for (u64 i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], want(s, i / s.n, i % s.n)) << i;
  }
  const RunReport report = product(DType::kI8, s, DType::kI32);
  EXPECT_EQ(codes(report), "");
  const auto c = values_of<std::int32_t>(report.outputs[0]);
  for (u64 i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], want(s, i / s.n, i % s.n)) << i;
}

TEST_F(Cube, tails_of_every_side_are_left_out) {
  for (const Shape& s : {Shape{1, 1, 1}, Shape{17, 3, 5}, Shape{16, 33, 31}, Shape{31, 47, 65}}) {
    const RunReport report = product(DType::kF16, s, DType::kF32);
    EXPECT_EQ(codes(report), "");
    const auto c = values_of<float>(report.outputs[0]);
    for (u64 i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], want(s, i / s.n, i % s.n)) << s.m << " " << i;
  }
}

TEST_F(Cube, fixpipe_converts_and_clips) {
  const Shape s{20, 24, 16};
  const RunReport half = product(DType::kF16, s, DType::kF16, abi::Quant::kF32ToF16, Skip::kNothing, 1);
  const auto h = values_of<std::uint16_t>(half.outputs[0]);
  for (u64 i = 0; i < h.size(); ++i)
    ASSERT_EQ(h[i], half_of_float(static_cast<float>(std::max(0.0, want(s, i / s.n, i % s.n)))));
  const RunReport bfloat = product(DType::kF16, s, DType::kBf16, abi::Quant::kF32ToBf16);
  const auto b = values_of<std::uint16_t>(bfloat.outputs[0]);
  for (u64 i = 0; i < b.size(); ++i)
    ASSERT_EQ(b[i], bfloat_of_float(static_cast<float>(want(s, i / s.n, i % s.n))));
  // int32 to half by the scale 0.5.
  const RunReport dequant = product(DType::kI8, s, DType::kF16, abi::Quant::kDequant);
  const auto d = values_of<std::uint16_t>(dequant.outputs[0]);
  for (u64 i = 0; i < d.size(); ++i)
    ASSERT_EQ(d[i], half_of_float(static_cast<float>(want(s, i / s.n, i % s.n) * 0.5)));
}

TEST(CubeExec, products_of_floats_with_bias_and_on_top_of_sums) {
  // One fractal of rows by two fractals of depth: k = 12, n = 20.
  const u64 m = 5, n = 20, k = 12;
  std::vector<float> a(2 * 128, NAN), b(2 * 2 * 128, NAN), bias(32), c(2 * 256, 1.0f);
  for (u64 row = 0; row < m; ++row)
    for (u64 x = 0; x < k; ++x) a[x / 8 * 128 + row * 8 + x % 8] = static_cast<float>(value_of(row, x));
  for (u64 x = 0; x < k; ++x)
    for (u64 j = 0; j < n; ++j)
      b[(x / 8 * 2 + j / 16) * 128 + j % 16 * 8 + x % 8] = static_cast<float>(value_of(x, j));
  for (u64 j = 0; j < 32; ++j) bias[j] = static_cast<float>(j);
  const auto run = [&](const float* with, bool accumulate) {
    mmad(DType::kF32, reinterpret_cast<std::byte*>(c.data()), reinterpret_cast<const std::byte*>(a.data()),
         reinterpret_cast<const std::byte*>(b.data()), reinterpret_cast<const std::byte*>(with), accumulate,
         {m, n, k, 2});
  };
  const auto sum = [&](u64 row, u64 column) {
    double total = 0;
    for (u64 x = 0; x < k; ++x) total += value_of(row, x) * value_of(x, column);
    return total;
  };
  run(bias.data(), false);
  for (u64 row = 0; row < m; ++row)
    for (u64 j = 0; j < n; ++j)
      ASSERT_EQ(c[j / 16 * 256 + row * 16 + j % 16], sum(row, j) + static_cast<double>(j));
  run(nullptr, true);
  for (u64 row = 0; row < m; ++row)
    for (u64 j = 0; j < n; ++j)
      ASSERT_EQ(c[j / 16 * 256 + row * 16 + j % 16], 2 * sum(row, j) + static_cast<double>(j));
}

TEST(CubeExec, squares_of_every_size_are_transposed) {
  for (const u64 size : {1, 2, 4}) {
    const u64 width = 32 / size, side = std::max<u64>(16, width);
    std::vector<std::byte> src(1024), one(512), two(512);
    const auto place = [&](u64 row, u64 column) {
      return (size == 4 ? column / 8 * 512 : row / 16 * 512) + (row % 16 * width + column % width) * size;
    };
    for (u64 row = 0; row < side; ++row)
      for (u64 column = 0; column < side; ++column) {
        const auto id = static_cast<std::uint32_t>(row * 37 + column);
        std::memcpy(&src[place(row, column)], &id, size);
      }
    std::byte* to[2] = {one.data(), two.data()};
    transpose_square(to, src.data(), size);
    for (u64 row = 0; row < side; ++row)
      for (u64 column = 0; column < side; ++column) {
        const u64 where = place(column, row);
        ASSERT_EQ(std::memcmp((where < 512 ? one.data() : two.data()) + where % 512, &src[place(row, column)],
                              size),
                  0)
            << size << " " << row << " " << column;
      }
  }
}

TEST_F(Cube, a_missing_flag_is_a_race_that_names_both_lines) {
  const Shape s{64, 64, 32};
  const RunReport clean = product(DType::kF16, s, DType::kF32);
  EXPECT_EQ(codes(clean), "");
  EXPECT_NE(codes(product(DType::kF16, s, DType::kF32, abi::Quant::kNone, Skip::kMte1ToM))
                .find("race_read_after_write@"),
            std::string::npos);
  EXPECT_NE(codes(product(DType::kF16, s, DType::kF32, abi::Quant::kNone, Skip::kMToFix))
                .find("race_read_after_write@"),
            std::string::npos);
  const RunReport third = product(DType::kF16, s, DType::kF32, abi::Quant::kNone, Skip::kMte2ToMte1);
  ASSERT_FALSE(third.findings.empty());
  EXPECT_EQ(third.findings[0].code, "race_read_after_write");
  EXPECT_GT(third.findings[0].line, third.findings[0].other_line);
  EXPECT_NE(third.findings[0].message.find("MTE1 reads"), std::string::npos) << third.findings[0].message;
}

// Products of few fractals need PipeBarrier<PIPE_M> between them; those of many hide one another.
TEST_F(Cube, small_products_on_one_sum_need_a_barrier) {
  const auto twice = [](u64 m, u64 n, bool barrier) {
    Program p(launch(DType::kF16, {16, 16, 16}, DType::kF32), 1, a2(), abi::KernelKind::kAic);
    p.cube_core(0);
    for (int i = 0; i < 2; ++i) {
      abi::Record r = Program::record(
          Op::kMmad,
          {at(Space::kL0C, 0, DType::kF32), at(Space::kL0A, 0, DType::kF16), at(Space::kL0B, 0, DType::kF16)},
          {m | n << 16 | u64{16} << 32});
      r.mode = static_cast<std::uint16_t>(i);
      p.send(r);
      if (barrier) p.op(Op::kPipeBarrier, {static_cast<u64>(Pipe::kM)});
    }
    p.end();
    return p.finish();
  };
  EXPECT_TRUE(has(twice(32, 64, false), "race_read_after_write"));
  EXPECT_FALSE(twice(32, 64, true).faulted());
  EXPECT_FALSE(twice(64, 64, false).faulted());
}

TEST_F(Cube, what_the_device_lacks_is_refused) {
  const auto code_of = [](const abi::Record& r, abi::KernelKind kind = abi::KernelKind::kAic) {
    Program p(launch(DType::kF16, {16, 16, 16}, DType::kF32), 1, a2(), kind);
    kind == abi::KernelKind::kAic ? p.cube_core(0) : p.block(0);
    p.send(r);
    p.end();
    const RunReport report = p.finish();
    return report.findings.empty() ? std::string() : report.findings[0].code;
  };
  const auto mmad_of = [&](const Operand& c, const Operand& a, const Operand& b, u64 m = 16) {
    return Program::record(Op::kMmad, {c, a, b}, {m | 16 << 16 | u64{16} << 32});
  };
  const Operand c = at(Space::kL0C, 0, DType::kF32), a = at(Space::kL0A, 0, DType::kF16),
                b = at(Space::kL0B, 0, DType::kF16);
  EXPECT_EQ(code_of(mmad_of(at(Space::kL0C, 64, DType::kF32), a, b)), "misaligned");
  EXPECT_EQ(code_of(mmad_of(c, at(Space::kL0A, 32, DType::kF16), b)), "misaligned");
  EXPECT_EQ(code_of(mmad_of(c, b, a)), "copy_path");
  EXPECT_EQ(code_of(mmad_of(c, a, at(Space::kL0B, 0, DType::kF32))), "dtype_unsupported");
  EXPECT_EQ(code_of(mmad_of(at(Space::kL0C, 0, DType::kF16), a, b)), "dtype_unsupported");
  EXPECT_EQ(code_of(mmad_of(c, a, b, 5000)), "copy_limits");
  EXPECT_EQ(code_of(mmad_of(at(Space::kL0C, 131072, DType::kF32), a, b)), "chip_out_of_bounds");
  EXPECT_EQ(code_of(mmad_of(c, a, b), abi::KernelKind::kAiv), "wrong_core");
  EXPECT_EQ(code_of(Program::by_count(Op::kAdd, 64, {ub(0), ub(256), ub(512)})), "wrong_core");
  EXPECT_EQ(code_of(Program::record(Op::kLoadData2D, {c, at(Space::kL1, 0, DType::kF32)}, {1 << 16})),
            "copy_path");
  EXPECT_EQ(code_of(Program::record(Op::kLoadData2D, {a, at(Space::kL1, 524288, DType::kF16)}, {1 << 16})),
            "chip_out_of_bounds");
  EXPECT_EQ(
      code_of(Program::record(Op::kNd2Nz, {at(Space::kUb, 0, DType::kF16), at(Space::kGm, 0, DType::kF16)},
                              {1, 16, 16, 0, 16, 16 | 1 << 16})),
      "copy_path");
  EXPECT_EQ(code_of(Program::record(Op::kFixpipe, {at(Space::kGm, 0, DType::kI8), c},
                                    {16 | 16 << 16, 16 | 16ull << 32, 0, 1})),
            "dtype_unsupported");
}

TEST(CubeCost, products_cost_what_was_measured) {
  const CostModel cost(a2(), 1, abi::KernelKind::kAic);
  EXPECT_EQ(cost.mmad_cycles(DType::kF16, 40, 50, 60), 54);     // published: 54
  EXPECT_EQ(cost.mmad_cycles(DType::kF16, 128, 128, 64), 262);  // published: 262
  EXPECT_EQ(cost.mmad_cycles(DType::kF32, 120, 110, 50), 902);  // published: 902
  EXPECT_EQ(cost.mmad_cycles(DType::kI8, 16, 16, 64), 8);
  // 8192^3 in half on 24 cores at 1.85 GHz: published 3077 to 3082 us of cube time.
  const double tiles = 64.0 * 32 * 128 / 24;
  EXPECT_NEAR(cost.mmad_cycles(DType::kF16, 128, 256, 64) * tiles / 1850, 3077, 80);
}

}  // namespace
}  // namespace evk::twin::testing
