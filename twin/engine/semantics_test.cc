// What each instruction computes, against plain loops over doubles and integers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "twin/engine/numeric.h"
#include "twin/engine/program_builder.h"

namespace evk::twin {
namespace {

using namespace testing;

constexpr auto kMte2 = Pipe::kMte2, kMte3 = Pipe::kMte3, kV = Pipe::kV;
constexpr std::uint64_t kPlace = 16384;  // bytes between operands in UB

// Loads each input to its place in UB, lets `work` use them, and stores `bytes` of the last place.
std::vector<std::byte> computed(const std::vector<std::vector<std::byte>>& inputs, std::uint64_t bytes,
                                const std::function<void(Program&, std::uint64_t)>& work) {
  Launch launch;
  launch.op = "t";
  for (const auto& data : inputs)
    launch.inputs.push_back({"x", DType::kU8, {static_cast<std::int64_t>(data.size())}, data});
  launch.outputs.push_back(empty("y", static_cast<std::int64_t>(bytes), DType::kU8));
  Program p(launch);
  p.block(0);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    p.copy_pad(ub(i * kPlace, DType::kU8), p.input(i, 0, DType::kU8), inputs[i].size());
  p.sync(kMte2, kV);
  const std::uint64_t out = inputs.size() * kPlace;
  work(p, out);
  p.sync(kV, kMte3);
  p.copy_pad(p.output(0, 0, DType::kU8), ub(out, DType::kU8), bytes);
  p.end();
  const RunReport report = p.finish();
  EXPECT_EQ(codes(report), "");
  EXPECT_EQ(report.end, RunEnd::kComplete);
  return report.outputs.at(0);
}

std::vector<float> drawn(std::size_t n, float lo, float hi, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(lo, hi);
  std::vector<float> v(n);
  for (float& x : v) x = uniform(engine);
  return v;
}
template <typename T>
std::vector<T> drawn_ints(std::size_t n, unsigned seed = 1) {
  std::mt19937_64 engine(seed);
  std::vector<T> v(n);
  for (T& x : v) x = static_cast<T>(engine());
  return v;
}
std::vector<std::uint16_t> halves(const std::vector<float>& v) {
  std::vector<std::uint16_t> bits;
  for (const float x : v) bits.push_back(half_of_float(x));
  return bits;
}
std::vector<float> widened(const std::vector<std::uint16_t>& bits) {
  std::vector<float> v;
  for (const auto b : bits) v.push_back(float_of_half(b));
  return v;
}

// dst = a op b by count, of any element type.
template <typename T>
std::vector<T> binary_result(Op op, DType t, const std::vector<T>& a, const std::vector<T>& b) {
  return values_of<T>(
      computed({bytes_of(a), bytes_of(b)}, a.size() * sizeof(T), [&](Program& p, std::uint64_t out) {
        p.send(Program::by_count(op, a.size(), {ub(out, t), ub(0, t), ub(kPlace, t)}));
      }));
}
template <typename T>
std::vector<T> unary_result(Op op, DType t, const std::vector<T>& a, std::uint64_t scalar = 0) {
  return values_of<T>(computed({bytes_of(a)}, a.size() * sizeof(T), [&](Program& p, std::uint64_t out) {
    p.send(Program::by_count(op, a.size(), {ub(out, t), ub(0, t)}, scalar));
  }));
}

using Binary = double (*)(double, double);
const std::pair<Op, Binary> kBinary[] = {
    {Op::kAdd, [](double a, double b) { return a + b; }},
    {Op::kSub, [](double a, double b) { return a - b; }},
    {Op::kMul, [](double a, double b) { return a * b; }},
    {Op::kDiv, [](double a, double b) { return a / b; }},
    {Op::kMax, [](double a, double b) { return std::max(a, b); }},
    {Op::kMin, [](double a, double b) { return std::min(a, b); }},
    {Op::kAddRelu, [](double a, double b) { return std::max(a + b, 0.0); }},
    {Op::kSubRelu, [](double a, double b) { return std::max(a - b, 0.0); }},
};

TEST(Semantics, arithmetic_of_two_floats_is_rounded_once) {
  for (const std::size_t n : {1u, 8u, 63u, 1000u}) {
    const auto a = drawn(n, -9, 9, 1), b = drawn(n, 0.5f, 3, 2);
    for (const auto& [op, plain] : kBinary) {
      const auto y = binary_result(op, DType::kF32, a, b);
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_EQ(y[i], static_cast<float>(plain(static_cast<double>(a[i]), static_cast<double>(b[i])))) << i;
    }
  }
}

TEST(Semantics, arithmetic_of_two_halves_is_rounded_once) {
  const auto a = halves(drawn(700, -90, 90, 3)), b = halves(drawn(700, 0.5f, 30, 4));
  for (const auto& [op, plain] : kBinary) {
    const auto y = binary_result(op, DType::kF16, a, b);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double exact =
          plain(static_cast<double>(float_of_half(a[i])), static_cast<double>(float_of_half(b[i])));
      ASSERT_EQ(y[i], half_of_float(static_cast<float>(exact))) << i;
    }
  }
}

TEST(Semantics, integers_wrap) {
  const auto a = drawn_ints<std::int32_t>(300, 1), b = drawn_ints<std::int32_t>(300, 2);
  const auto sum = binary_result(Op::kAdd, DType::kI32, a, b),
             product = binary_result(Op::kMul, DType::kI32, a, b),
             most = binary_result(Op::kMax, DType::kI32, a, b);
  const auto c = drawn_ints<std::int16_t>(300, 3), d = drawn_ints<std::int16_t>(300, 4);
  const auto difference = binary_result(Op::kSub, DType::kI16, c, d),
             both = binary_result(Op::kAnd, DType::kI16, c, d),
             either = binary_result(Op::kOr, DType::kI16, c, d);
  for (std::size_t i = 0; i < 300; ++i) {
    ASSERT_EQ(sum[i], static_cast<std::int32_t>(std::int64_t{a[i]} + b[i]));
    ASSERT_EQ(product[i], static_cast<std::int32_t>(std::int64_t{a[i]} * b[i]));
    ASSERT_EQ(most[i], std::max(a[i], b[i]));
    ASSERT_EQ(difference[i], static_cast<std::int16_t>(c[i] - d[i]));
    ASSERT_EQ(both[i], static_cast<std::int16_t>(c[i] & d[i]));
    ASSERT_EQ(either[i], static_cast<std::int16_t>(c[i] | d[i]));
  }
  const auto inverted = unary_result(Op::kNot, DType::kI16, c);
  const auto left = unary_result(Op::kShiftLeft, DType::kI32, a, 3),
             right = unary_result(Op::kShiftRight, DType::kI32, a, 3);
  for (std::size_t i = 0; i < 300; ++i) {
    ASSERT_EQ(inverted[i], static_cast<std::int16_t>(~c[i]));
    ASSERT_EQ(left[i], static_cast<std::int32_t>(static_cast<std::uint32_t>(a[i]) << 3));
    ASSERT_EQ(right[i], a[i] >> 3);
  }
}

TEST(Semantics, functions_of_floats_are_within_one_unit_in_the_last_place) {
  const auto x = drawn(4000, 0.01f, 20);
  const std::pair<Op, double (*)(double)> functions[] = {
      {Op::kExp, [](double v) { return std::exp(v); }},
      {Op::kLn, [](double v) { return std::log(v); }},
      {Op::kSqrt, [](double v) { return std::sqrt(v); }},
      {Op::kAbs, [](double v) { return std::fabs(v); }},
      {Op::kRelu, [](double v) { return std::max(v, 0.0); }}};
  for (const auto& [op, plain] : functions) {
    const auto y = unary_result(op, DType::kF32, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto exact = static_cast<float>(plain(static_cast<double>(x[i])));
      const float unit = std::nextafter(std::fabs(exact), HUGE_VALF) - std::fabs(exact);
      ASSERT_LE(std::fabs(y[i] - exact), unit) << x[i];
    }
  }
}

TEST(Semantics, estimates_are_as_coarse_as_the_device_documents) {
  const auto x = drawn(2000, 0.01f, 20);
  for (const Op op : {Op::kReciprocal, Op::kRsqrt}) {
    const auto y = unary_result(op, DType::kF32, x);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double v = static_cast<double>(x[i]), exact = op == Op::kReciprocal ? 1 / v : 1 / std::sqrt(v);
      worst = std::max(worst, std::fabs(static_cast<double>(y[i]) / exact - 1));
    }
    EXPECT_GT(worst, 0.8e-4);
    EXPECT_LT(worst, 1.3e-4);
    const auto half = widened(unary_result(op, DType::kF16, halves(x)));
    const auto in = widened(halves(x));
    worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double v = static_cast<double>(in[i]), exact = op == Op::kReciprocal ? 1 / v : 1 / std::sqrt(v);
      worst = std::max(worst, std::fabs(static_cast<double>(half[i]) / exact - 1));
    }
    EXPECT_GT(worst, 0.6e-3);
    EXPECT_LT(worst, 1.6e-3);
  }
}

TEST(Semantics, scalars_meet_every_element) {
  const auto x = drawn(500, -5, 5);
  const std::pair<Op, Binary> ops[] = {
      {Op::kAdds, kBinary[0].second},
      {Op::kMuls, kBinary[2].second},
      {Op::kMaxs, kBinary[4].second},
      {Op::kMins, kBinary[5].second},
      {Op::kLeakyRelu, [](double a, double s) { return a >= 0 ? a : a * s; }}};
  for (const auto& [op, plain] : ops) {
    const auto y = unary_result(op, DType::kF32, x, std::bit_cast<std::uint32_t>(0.37f));
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(y[i], static_cast<float>(plain(static_cast<double>(x[i]), static_cast<double>(0.37f))));
  }
}

TEST(Semantics, fused_instructions_round_once) {
  const auto a = drawn(256, -3, 3, 1), b = drawn(256, -3, 3, 2), c = drawn(256, -3, 3, 3);
  const auto run = [&](Op op) {
    return values_of<float>(
        computed({bytes_of(a), bytes_of(b), bytes_of(c)}, 1024, [&](Program& p, std::uint64_t out) {
          p.vec(Op::kAdds, 256, {ub(out), ub(2 * kPlace)}, 0.0f);
          p.send(Program::by_count(op, 256, {ub(out), ub(0), ub(kPlace)}));
        }));
  };
  const auto dst = run(Op::kMulAddDst), fused = run(Op::kFusedMulAdd), relu = run(Op::kFusedMulAddRelu);
  for (std::size_t i = 0; i < 256; ++i) {
    ASSERT_EQ(dst[i], std::fma(a[i], b[i], c[i]));
    ASSERT_EQ(fused[i], std::fma(a[i], c[i], b[i]));
    ASSERT_EQ(relu[i], std::max(0.0f, std::fma(a[i], c[i], b[i])));
  }
  // Axpy from half to float.
  const auto h = halves(a);
  const auto y =
      values_of<float>(computed({bytes_of(h), bytes_of(c)}, 1024, [&](Program& p, std::uint64_t out) {
        p.vec(Op::kAdds, 256, {ub(out), ub(kPlace)}, 0.0f);
        p.send(Program::by_count(Op::kAxpy, 256, {ub(out), ub(0, DType::kF16)}, half_of_float(1.5f)));
      }));
  for (std::size_t i = 0; i < 256; ++i) ASSERT_EQ(y[i], std::fma(float_of_half(h[i]), 1.5f, c[i]));
}

TEST(Semantics, masks_repeats_and_strides_choose_elements) {
  const auto x = drawn(1024, -5, 5);
  abi::Strides s;
  s.repeat = 3;
  s.dst_block = 2, s.src0_block = 1, s.dst_repeat = 20, s.src0_repeat = 10;
  const std::uint64_t mask = 0xf0f0'0000'8001'00ffull;
  const auto y = values_of<float>(computed({bytes_of(x)}, 4096, [&](Program& p, std::uint64_t out) {
    p.vec(Op::kDuplicate, 1024, {ub(out)}, 7.0f);
    p.send(Program::by_repeat(Op::kMuls, mask, 0, s, {ub(out), ub(0)}, std::bit_cast<std::uint32_t>(2.0f)));
  }));
  std::vector<float> want(1024, 7.0f);
  for (std::size_t rep = 0; rep < 3; ++rep)
    for (std::size_t i = 0; i < 64; ++i)
      if (mask >> i & 1) want[rep * 160 + i / 8 * 16 + i % 8] = 2 * x[rep * 80 + i];
  EXPECT_EQ(y, want);
}

TEST(Semantics, counter_mode_covers_the_total_and_widening_casts_walk_each_operand_by_its_own_blocks) {
  const auto x = halves(drawn(512, -5, 5));
  abi::Strides s;
  s.src0_repeat = 4;  // 64 elements a repeat: four blocks of half, eight of float
  auto r = Program::by_repeat(Op::kCast, 150, 0, s, {ub(kPlace), ub(0, DType::kF16)});
  r.form = abi::Form::kCounter;
  const auto y = values_of<float>(computed({bytes_of(x)}, 1024, [&](Program& p, std::uint64_t) {
    p.vec(Op::kDuplicate, 256, {ub(kPlace)}, 9.0f);
    p.send(r);
  }));
  for (std::size_t i = 0; i < 256; ++i) ASSERT_EQ(y[i], i < 150 ? float_of_half(x[i]) : 9.0f) << i;
}

TEST(Semantics, casts_round_by_their_mode) {
  const std::vector<float> x = {0.5f, 1.5f,  2.5f,    -0.5f,  -1.5f, 0.49999997f, 2.75f,  -2.75f,
                                3e9f, -3e9f, 8388609, 1e-30f, NAN,   32767.5f,    -40000, 2147483520.0f};
  const auto run = [&](std::uint16_t mode) {
    return values_of<std::int32_t>(computed({bytes_of(x)}, 64, [&](Program& p, std::uint64_t out) {
      p.send(Program::by_count(Op::kCast, 16, {ub(out, DType::kI32), ub(0)}, 0, mode));
    }));
  };
  double (*const rounding[])(double) = {nullptr,   std::nearbyint, std::floor,
                                        std::ceil, std::round,     std::trunc};
  for (std::uint16_t mode = 1; mode <= 5; ++mode) {
    const auto y = run(mode);
    for (std::size_t i = 0; i < 16; ++i) {
      const double v = rounding[mode](static_cast<double>(x[i]));
      const auto want = std::isnan(v)       ? 0
                        : v > 2147483647.0  ? std::numeric_limits<std::int32_t>::max()
                        : v < -2147483648.0 ? std::numeric_limits<std::int32_t>::min()
                                            : static_cast<std::int32_t>(v);
      ASSERT_EQ(y[i], want) << "mode " << mode << ", " << x[i];
    }
  }
}

// The neighbour of a half towards the mode's side, found by search among all halves.
std::uint16_t half_by_search(double v, std::uint16_t mode) {
  std::uint16_t below = 0xfbff, above = 0x7bff;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto b = static_cast<std::uint16_t>(bits);
    const double h = static_cast<double>(float_of_half(b));
    if (!std::isfinite(h)) continue;
    if (h <= v && h >= static_cast<double>(float_of_half(below))) below = b;
    if (h >= v && h < static_cast<double>(float_of_half(above))) above = b;
  }
  const double lo = static_cast<double>(float_of_half(below)), hi = static_cast<double>(float_of_half(above));
  if (lo == v) return below;
  switch (mode) {
    case 2:
      return below;
    case 3:
      return above;
    case 5:
      return v > 0 ? below : above;
    case 6:
      return below & 1 ? below : above;
    default: {
      const double middle = (lo + hi) / 2;
      if (v != middle) return v < middle ? below : above;
      return mode == 4 ? (v > 0 ? above : below) : below & 1 ? above : below;
    }
  }
}

TEST(Semantics, casts_to_half_find_the_neighbour_that_their_mode_names) {
  std::vector<float> x = {1.00048828125f, 1.000732421875f, -1.00048828125f, 3e-8f,
                          0.1f,           -0.1f,           60001.5f,        2.0f};
  const auto more = drawn(8, -3, 3);
  x.insert(x.end(), more.begin(), more.end());
  for (std::uint16_t mode = 0; mode <= 6; ++mode) {
    const auto y = values_of<std::uint16_t>(computed({bytes_of(x)}, 32, [&](Program& p, std::uint64_t out) {
      p.send(Program::by_count(Op::kCast, 16, {ub(out, DType::kF16), ub(0)}, 0, mode));
    }));
    for (std::size_t i = 0; i < 16; ++i)
      ASSERT_EQ(float_of_half(y[i]), float_of_half(half_by_search(static_cast<double>(x[i]), mode)))
          << "mode " << mode << ", " << x[i];
  }
}

TEST(Semantics, other_casts_keep_saturate_or_round) {
  const auto run = [&](auto from_values, DType from, DType to, std::uint16_t mode, std::uint64_t size) {
    return computed({bytes_of(from_values)}, from_values.size() * size, [&](Program& p, std::uint64_t out) {
      p.send(Program::by_count(Op::kCast, from_values.size(), {ub(out, to), ub(0, from)}, 0, mode));
    });
  };
  const std::vector<std::int64_t> wide = {5, -7, 1ll << 40, -(1ll << 40), (1ll << 53) + 1, 0, 1, -1};
  EXPECT_EQ(values_of<std::int32_t>(run(wide, DType::kI64, DType::kI32, 0, 4)),
            (std::vector<std::int32_t>{5, -7, INT32_MAX, INT32_MIN, INT32_MAX, 0, 1, -1}));
  const std::vector<std::int32_t> whole = {16777217, -16777217, 5, 70000, -70000, 0, 1, 2};
  EXPECT_EQ(values_of<float>(run(whole, DType::kI32, DType::kF32, 3, 4)),
            (std::vector<float>{16777218, -16777216, 5, 70000, -70000, 0, 1, 2}));
  EXPECT_EQ(values_of<std::int16_t>(run(whole, DType::kI32, DType::kI16, 0, 2)),
            (std::vector<std::int16_t>{32767, -32768, 5, 32767, -32768, 0, 1, 2}));
  const auto h = halves({1.5f, -1.5f, 300, -300, 127.5f, 0, 2.5f, -0.5f});
  EXPECT_EQ(values_of<std::int8_t>(run(h, DType::kF16, DType::kI8, 1, 1)),
            (std::vector<std::int8_t>{2, -2, 127, -128, 127, 0, 2, 0}));
  EXPECT_EQ(values_of<std::uint8_t>(run(h, DType::kF16, DType::kU8, 5, 1)),
            (std::vector<std::uint8_t>{1, 0, 255, 0, 127, 0, 2, 0}));
  const std::vector<float> x = {1.00390625f, 1.01171875f, 3.3e38f, -2.5f, 0, 1, 2, 3};
  const auto near = values_of<std::uint16_t>(run(x, DType::kF32, DType::kBf16, 1, 2));
  EXPECT_EQ(near[0], 0x3f80) << "ties to even";
  EXPECT_EQ(near[1], 0x3f82);
  EXPECT_EQ(float_of_bfloat(near[3]), -2.5f);
}

TEST(Semantics, comparisons_give_bits_and_select_reads_them) {
  const auto a = drawn(192, -1, 1, 1), b = drawn(192, -1, 1, 2);
  const std::function<bool(float, float)> holds[] = {std::less<>(),          std::greater<>(),
                                                     std::equal_to<>(),      std::less_equal<>(),
                                                     std::greater_equal<>(), std::not_equal_to<>()};
  for (std::uint16_t mode = 0; mode < 6; ++mode) {
    const auto y = values_of<
        float>(computed({bytes_of(a), bytes_of(b)}, 768, [&](Program& p, std::uint64_t out) {
      p.send(Program::by_count(Op::kCompare, 192, {ub(3 * kPlace, DType::kU8), ub(0), ub(kPlace)}, 0, mode));
      p.send(Program::by_count(Op::kSelect, 192, {ub(out), ub(0), ub(kPlace), ub(3 * kPlace, DType::kU8)}, 0,
                               2));
    }));
    for (std::size_t i = 0; i < 192; ++i) ASSERT_EQ(y[i], holds[mode](a[i], b[i]) ? a[i] : b[i]);
    const auto bits = computed({bytes_of(a)}, 24, [&](Program& p, std::uint64_t out) {
      p.send(Program::by_count(Op::kCompareScalar, 192, {ub(out, DType::kU8), ub(0)},
                               std::bit_cast<std::uint32_t>(0.25f), mode));
    });
    for (std::size_t i = 0; i < 192; ++i)
      ASSERT_EQ(static_cast<unsigned>(bits[i / 8]) >> (i % 8) & 1, holds[mode](a[i], 0.25f) ? 1u : 0u);
  }
}

// The device's order of additions, written down once more.
float tree(std::vector<float> x, bool half) {
  x.resize(half ? 128 : 64, 0.0f);
  while (x.size() > 1) {
    std::vector<float> next;
    for (std::size_t i = 0; i < x.size(); i += 2)
      next.push_back(half ? float_of_half(half_of_float(x[i] + x[i + 1])) : x[i] + x[i + 1]);
    x = next;
  }
  return x[0];
}

TEST(Semantics, sums_by_count_add_the_trees_of_the_repeats_in_order) {
  for (const std::size_t n : {1u, 7u, 64u, 65u, 500u, 4000u}) {
    const auto x = drawn(n, -5, 5);
    const auto y = values_of<float>(computed({bytes_of(x)}, 4, [&](Program& p, std::uint64_t out) {
      p.send(Program::by_count(Op::kReduceSum, n, {ub(out), ub(0), ub(out + 4096)}));
    }));
    float want = 0;
    for (std::size_t at = 0; at < n; at += 64)
      want += tree({x.begin() + static_cast<std::ptrdiff_t>(at),
                    x.begin() + static_cast<std::ptrdiff_t>(std::min(n, at + 64))},
                   false);
    EXPECT_EQ(y[0], want) << n;
    const auto h = halves(x);
    const auto z = values_of<std::uint16_t>(computed({bytes_of(h)}, 2, [&](Program& p, std::uint64_t out) {
      p.send(Program::by_count(Op::kReduceSum, n,
                               {ub(out, DType::kF16), ub(0, DType::kF16), ub(out + 4096, DType::kF16)}));
    }));
    const auto wide = widened(h);
    want = 0;
    for (std::size_t at = 0; at < n; at += 128)
      want = float_of_half(
          half_of_float(want + tree({wide.begin() + static_cast<std::ptrdiff_t>(at),
                                     wide.begin() + static_cast<std::ptrdiff_t>(std::min(n, at + 128))},
                                    true)));
    EXPECT_EQ(float_of_half(z[0]), want) << n;
  }
}

TEST(Semantics, extremes_give_the_first_place_of_the_value) {
  auto x = drawn(777, -5, 5);
  x[123] = x[600] = 9, x[55] = x[56] = -9;
  for (const bool largest : {true, false}) {
    const auto y = computed({bytes_of(x)}, 8, [&](Program& p, std::uint64_t out) {
      auto r = Program::by_count(largest ? Op::kReduceMax : Op::kReduceMin, x.size(),
                                 {ub(out), ub(0), ub(out + 4096)});
      r.a[5] = 1;
      p.send(r);
    });
    EXPECT_EQ(values_of<float>(y)[0], largest ? 9 : -9);
    EXPECT_EQ(values_of<std::uint32_t>(y)[1], largest ? 123u : 55u);
  }
}

TEST(Semantics, reductions_by_repeat_give_one_result_a_repeat_block_or_pair) {
  const auto x = drawn(256, -5, 5);
  abi::Strides s;
  s.repeat = 4;
  s.dst_repeat = 1;
  const auto run = [&](Op op, std::uint64_t order, std::uint64_t mask, std::uint64_t bytes) {
    return computed({bytes_of(x)}, bytes, [&](Program& p, std::uint64_t out) {
      p.vec(Op::kDuplicate, 256, {ub(out)}, 0.0f);
      auto r = Program::by_repeat(op, mask, 0, s, {ub(out), ub(0)});
      r.a[5] = order;
      p.send(r);
    });
  };
  const auto part = [&](std::size_t at, std::size_t n) {
    return std::vector<float>(x.begin() + static_cast<std::ptrdiff_t>(at),
                              x.begin() + static_cast<std::ptrdiff_t>(at + n));
  };
  const auto sums = values_of<float>(run(Op::kWholeReduceSum, 0, (1ull << 40) - 1, 16));
  const auto blocks = values_of<float>(run(Op::kBlockReduceMax, 0, ~0ull, 128));
  const auto pairs = values_of<float>(run(Op::kPairReduceSum, 0, ~0ull, 512));
  const auto both = run(Op::kWholeReduceMin, 0, ~0ull, 32), swapped = run(Op::kWholeReduceMin, 1, ~0ull, 32),
             values = run(Op::kWholeReduceMin, 2, ~0ull, 16), places = run(Op::kWholeReduceMin, 3, ~0ull, 16);
  for (std::size_t rep = 0; rep < 4; ++rep) {
    EXPECT_EQ(sums[rep], tree(part(64 * rep, 40), false));
    const auto all = part(64 * rep, 64);
    const auto least = std::min_element(all.begin(), all.end());
    const auto where = static_cast<std::uint32_t>(least - all.begin());
    EXPECT_EQ(values_of<float>(both)[2 * rep], *least);
    EXPECT_EQ(values_of<std::uint32_t>(both)[2 * rep + 1], where);
    EXPECT_EQ(values_of<float>(swapped)[2 * rep + 1], *least);
    EXPECT_EQ(values_of<std::uint32_t>(swapped)[2 * rep], where);
    EXPECT_EQ(values_of<float>(values)[rep], *least);
    EXPECT_EQ(values_of<std::uint32_t>(places)[rep], where);
    for (std::size_t b = 0; b < 8; ++b) {
      const auto block = part(64 * rep + 8 * b, 8);
      EXPECT_EQ(blocks[8 * rep + b], *std::max_element(block.begin(), block.end()));
    }
    for (std::size_t i = 0; i < 32; ++i)
      EXPECT_EQ(pairs[32 * rep + i], x[64 * rep + 2 * i] + x[64 * rep + 2 * i + 1]);
  }
}

TEST(Semantics, elements_move_as_gather_brcb_index_and_copy_say) {
  const auto x = drawn(256, -5, 5);
  std::vector<std::int32_t> offsets(100);
  for (std::size_t i = 0; i < 100; ++i) offsets[i] = static_cast<std::int32_t>(4 * (i * 37 % 256));
  const auto gathered =
      values_of<float>(computed({bytes_of(x), bytes_of(offsets)}, 400, [&](Program& p, std::uint64_t out) {
        p.send(Program::by_count(Op::kGather, 100, {ub(out), ub(0), ub(kPlace, DType::kU32)}));
      }));
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(gathered[i], x[i * 37 % 256]);
  abi::Strides s;
  s.repeat = 2;
  const auto spread = values_of<float>(computed({bytes_of(x)}, 512, [&](Program& p, std::uint64_t out) {
    p.send(Program::by_repeat(Op::kBrcb, 0, 0, s, {ub(out), ub(0)}));
  }));
  for (std::size_t i = 0; i < 128; ++i) EXPECT_EQ(spread[i], x[i / 8]);
  const auto index = values_of<std::int32_t>(computed({}, 400, [&](Program& p, std::uint64_t out) {
    p.send(Program::by_count(Op::kCreateVecIndex, 100, {ub(out, DType::kI32)}, 5));
  }));
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(index[i], static_cast<std::int32_t>(5 + i));
  const auto kept = values_of<float>(computed({bytes_of(x)}, 512, [&](Program& p, std::uint64_t out) {
    auto r = Program::by_count(Op::kGatherMask, 256, {ub(out), ub(0)});
    r.a[1] = 2;
    p.send(r);
  }));
  for (std::size_t i = 0; i < 128; ++i) EXPECT_EQ(kept[i], x[2 * i + 1]);
  s.dst_block = 2, s.dst_repeat = 16;
  const auto copied = values_of<float>(computed({bytes_of(x)}, 1024, [&](Program& p, std::uint64_t out) {
    p.vec(Op::kDuplicate, 256, {ub(out)}, 1.0f);
    p.send(Program::by_repeat(Op::kCopy, ~0ull, 0, s, {ub(out), ub(0)}));
  }));
  for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(copied[i], i / 8 % 2 == 0 ? x[i / 16 * 8 + i % 8] : 1.0f);
}

TEST(Semantics, transpose_turns_a_matrix_of_sixteen_by_sixteen) {
  const auto x = drawn_ints<std::int16_t>(256);
  const auto y = values_of<std::int16_t>(computed({bytes_of(x)}, 512, [&](Program& p, std::uint64_t out) {
    p.send(Program::by_count(Op::kTranspose, 256, {ub(out, DType::kI16), ub(0, DType::kI16)}));
  }));
  for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(y[i % 16 * 16 + i / 16], x[i]);
}

// --- copies

TEST(Semantics, strided_copies_skip_gaps_in_both_memories) {
  std::vector<float> x(512);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  Program p({"t", {filled("x", x)}, {empty("y", 512)}});
  p.block(0);
  p.vec(Op::kDuplicate, 512, {ub(0)}, -1.0f);
  p.sync(kV, kMte2);
  // Four blocks of 64 bytes; gaps of 32 bytes in x, of 64 in UB.
  p.op(Op::kDataCopy, {4 | 2ull << 32, 1 | 2ull << 32}, {ub(0), p.input(0)});
  p.sync(kMte2, kMte3);
  p.op(Op::kDataCopy, {4 | 2ull << 32, 2 | 1ull << 32}, {p.output(0), ub(0)});
  p.end();
  const RunReport report = p.finish();
  EXPECT_EQ(codes(report), "");
  const auto y = values_of<float>(report.outputs[0]);
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(y[row * 24 + i], static_cast<float>(row * 24 + i));
}

TEST(Semantics, padded_copies_fill_rows_up_to_a_block) {
  std::vector<float> x(100);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  const auto run = [&](std::uint64_t pad, float value) {
    Program p({"t", {filled("x", x)}, {empty("y", 48)}});
    p.block(0);
    // Three rows of five floats, ten floats apart; in UB one empty block after each row.
    p.op(Op::kDataCopyPad, {3 | 20ull << 32, 20 | 1ull << 32, pad, std::bit_cast<std::uint32_t>(value)},
         {ub(0), p.input(0)});
    p.sync(kMte2, kMte3);
    for (std::uint64_t row = 0; row < 3; ++row) p.copy(p.output(0, row * 16), ub(row * 64), 32);
    p.end();
    const RunReport report = p.finish();
    EXPECT_EQ(codes(report), "");
    return values_of<float>(report.outputs[0]);
  };
  const auto plain = run(0, 0), padded = run(1 | 1ull << 16 | 1ull << 32, 7.5f);
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t i = 0; i < 8; ++i)
      EXPECT_EQ(plain[row * 16 + i], i < 5 ? x[row * 10 + i] : x[row * 10])
          << "the first element fills the block";
    for (std::size_t i = 0; i < 8; ++i)
      EXPECT_EQ(padded[row * 16 + i], i >= 1 && i < 6 ? x[row * 10 + i - 1] : 7.5f);
  }
}

TEST(Semantics, atomic_copies_add_or_keep_the_extreme_in_gm) {
  const auto x = drawn(64, -5, 5, 1), z = drawn(64, -5, 5, 2);
  for (const std::uint64_t kind : {1, 2, 3}) {
    Program p({"t", {filled("x", x), filled("z", z)}, {empty("y", 64)}});
    p.block(0);
    p.copy(ub(0), p.input(0), 256);
    p.copy(ub(1024), p.input(1), 256);
    p.sync(kMte2, kMte3);
    p.copy(p.output(0), ub(0), 256);
    abi::Record r = Program::record(Op::kSetAtomic, {}, {kind});
    r.mode = static_cast<std::uint16_t>(DType::kF32);
    p.op(Op::kPipeBarrier, {static_cast<std::uint64_t>(kMte3)});
    p.send(r);
    p.copy(p.output(0), ub(1024), 256);
    p.op(Op::kSetAtomic, {0});
    p.end();
    const RunReport report = p.finish();
    EXPECT_EQ(codes(report, true), "");
    const auto y = values_of<float>(report.outputs[0]);
    for (std::size_t i = 0; i < 64; ++i)
      EXPECT_EQ(y[i], kind == 1 ? x[i] + z[i] : kind == 2 ? std::max(x[i], z[i]) : std::min(x[i], z[i]));
  }
}

TEST(Semantics, scalar_access_reads_and_writes_elements_of_every_memory) {
  Program p({"t", {filled("x", std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8})}, {empty("y", 8)}});
  p.block(0);
  p.copy(ub(0), p.input(0), 32);
  EXPECT_EQ(p.get(ub(8)), std::bit_cast<std::uint32_t>(3.0f));
  EXPECT_EQ(p.get(p.input(0, 6)), std::bit_cast<std::uint32_t>(7.0f));
  p.op(Op::kSetValue, {0, 0, std::bit_cast<std::uint32_t>(9.5f)}, {p.output(0, 1)});
  EXPECT_EQ(p.get(p.output(0, 1)), std::bit_cast<std::uint32_t>(9.5f));
  const auto answer = p.send(Program::record(Op::kReadGm, {p.input(0)}, {32}));
  ASSERT_EQ(answer.bulk_bytes, 32u);
  EXPECT_EQ(std::memcmp(answer.bulk, bytes_of(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}).data(), 32), 0);
  abi::Record fill =
      Program::record(Op::kInitGm, {p.output(0, 4)}, {4, 0, std::bit_cast<std::uint32_t>(2.5f)});
  p.send(fill);
  p.end();
  const RunReport report = p.finish();
  EXPECT_EQ(codes(report), "");
  const auto y = values_of<float>(report.outputs[0]);
  EXPECT_EQ(y[1], 9.5f);
  EXPECT_EQ(y[7], 2.5f);
}

TEST(Semantics, memories_start_with_words_that_differ_from_launch_to_launch_and_are_never_zero) {
  std::vector<std::vector<std::byte>> seen;
  for (const std::uint64_t poison : {1, 2}) {
    Launch launch{"t", {}, {empty("y", 1000)}};
    launch.poison = poison;
    Program p(launch);
    p.block(0);
    EXPECT_NE(p.get(ub(64)), 0u);
    EXPECT_NE(p.get({p.workspace + 70000, 0, 0, Space::kGm, DType::kF32}), 0u);
    p.end();
    seen.push_back(p.finish().outputs[0]);
  }
  EXPECT_NE(seen[0], seen[1]);
  for (const float v : values_of<float>(seen[0])) EXPECT_TRUE(std::isnan(v) || std::fabs(v) > 1e29f);
}

}  // namespace
}  // namespace evk::twin
