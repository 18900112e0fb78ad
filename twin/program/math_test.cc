// Functions of the high-level interface against double arithmetic.
#include <cmath>

#include "twin/program/kernel_bench.h"

namespace evk::twin::testing {
namespace {

class MathFunctions : public KernelBench {
 protected:
  struct Case {
    const char* name;
    double (*function)(double);
    float from, to;
    double relative, absolute;
  };
  static constexpr std::size_t kCount = 1000;

  // Each function is applied to its own row of x, in one kernel.
  std::vector<float> run_all(const std::vector<Case>& cases, std::vector<float>& x) {
    std::string code =
        "TPipe pipe; TBuf<TPosition::VECCALC> ab, bb; pipe.InitBuffer(ab, 4096); pipe.InitBuffer(bb, 4096);\n"
        "LocalTensor<float> a = ab.Get<float>(), b = bb.Get<float>();\n"
        "GlobalTensor<float> gx, gy; gx.SetGlobalBuffer((__gm__ float*)x, data.n); "
        "gy.SetGlobalBuffer((__gm__ float*)y);\n";
    for (std::size_t k = 0; k < cases.size(); ++k) {
      const std::string at = std::to_string(k * kCount);
      code += "DataCopy(a, gx[" + at +
              "], 1000); SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0);\n" +
              std::string(cases[k].name) +
              "(b, a, 1000u); SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0);\n"
              "DataCopy(gy[" +
              at + "], b, 1000); PipeBarrier<PIPE_ALL>();\n";
      for (std::size_t i = 0; i < kCount; ++i)
        x.push_back(cases[k].from + (cases[k].to - cases[k].from) * static_cast<float>(i) / (kCount - 1));
    }
    const RunReport report = run_kernel(code, x, static_cast<std::int64_t>(x.size()));
    expect_clean(report);
    return values_of(report.outputs[0]);
  }
  void expect_close(const std::vector<Case>& cases) {
    std::vector<float> x;
    const std::vector<float> y = run_all(cases, x);
    ASSERT_EQ(y.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Case& c = cases[i / kCount];
      const double want = c.function(static_cast<double>(x[i]));
      ASSERT_NEAR(static_cast<double>(y[i]), want, c.absolute + c.relative * std::fabs(want))
          << c.name << " of " << x[i];
    }
  }
};

TEST_F(MathFunctions, trigonometry_is_accurate_over_many_periods) {
  expect_close({{"Sin", std::sin, -300, 300, 0, 3e-7},
                {"Cos", std::cos, -300, 300, 0, 3e-7},
                {"Tan", std::tan, -1.55f, 1.55f, 5e-6, 1e-7},
                {"Asin", std::asin, -1, 1, 1e-6, 0},
                {"Acos", std::acos, -1, 1, 1e-6, 0},
                {"Atan", std::atan, -1e-3f, 1e-3f, 5e-7, 0},
                {"Atan", std::atan, -50, 50, 5e-7, 0}});
}

TEST_F(MathFunctions, hyperbolic_functions_keep_their_relative_accuracy_near_zero) {
  expect_close({{"Sinh", std::sinh, -1e-2f, 1e-2f, 1e-6, 0},
                {"Sinh", std::sinh, -80, 80, 2e-5, 0},
                {"Cosh", std::cosh, -80, 80, 2e-5, 0},
                {"Asinh", std::asinh, -0.5f, 0.5f, 1e-6, 0},
                {"Asinh", std::asinh, -1e6f, 1e6f, 1e-6, 0},
                {"Acosh", std::acosh, 1, 1000, 1e-6, 1e-6},
                {"Atanh", std::atanh, -0.999f, 0.999f, 2e-6, 0}});
}

TEST_F(MathFunctions, roundings_logarithms_and_error_functions) {
  expect_close({{"Floor", std::floor, -9.9f, 9.9f, 0, 0},
                {"Ceil", std::ceil, -9.9f, 9.9f, 0, 0},
                {"Trunc", std::trunc, -9.9f, 9.9f, 0, 0},
                {"Round", std::nearbyint, -12.5f, 487, 0, 0},
                {"Frac", [](double v) { return v - std::trunc(v); }, -9.9f, 9.9f, 0, 0},
                {"Sign", [](double v) { return v > 0   ? 1.0
                                               : v < 0 ? -1.0
                                                       : 0.0; }, -499.5f, 499.5f, 0, 0},
                {"Log", std::log, 1e-3f, 1e3f, 2e-7, 1e-7},
                {"Log2", std::log2, 1e-3f, 1e3f, 4e-7, 1e-7},
                {"Log10", std::log10, 1e-3f, 1e3f, 4e-7, 1e-7},
                {"Erf", std::erf, -5, 5, 5e-7, 0},
                {"Erfc", std::erfc, -5, 5, 4e-6, 0},
                {"FasterGelu", [](double v) { return v / (1 + std::exp(-1.702 * v)); }, -9, 9, 3e-6, 1e-9},
                {"FasterGeluV2", [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); }, -5, 5,
                 0, 0.03}});
}

TEST_F(MathFunctions, powers_and_quotients_of_two_tensors) {
  const RunReport report = run_kernel(
      "TPipe pipe; TBuf<TPosition::VECCALC> ab, bb, tb; pipe.InitBuffer(ab, 2048); pipe.InitBuffer(bb, "
      "2048); pipe.InitBuffer(tb, 4096);\n"
      "LocalTensor<float> a = ab.Get<float>(), b = bb.Get<float>(); LocalTensor<uint8_t> t = "
      "tb.Get<uint8_t>();\n"
      "GlobalTensor<float> gx, gy; gx.SetGlobalBuffer((__gm__ float*)x, data.n); gy.SetGlobalBuffer((__gm__ "
      "float*)y);\n"
      "#define OUT(at) SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0); DataCopy(gy[at], b, "
      "64); PipeBarrier<PIPE_ALL>()\n"
      "DataCopy(a, gx, 128); SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0);\n"
      "Power(b, a, a[64], t, 64); OUT(0); Power(b, a, 3.0f, 64); OUT(64); Power(b, 2.0f, a, t, 64); "
      "OUT(128); Fmod(b, a, a[64], 64); OUT(192);\n"
      "SwiGLU(b, a, a[64], 1.0f, 64); OUT(256); Exp<float, 10>(b, a, t, 64); OUT(320); Clamp(b, a, -1.0f, "
      "2.0f, 64); OUT(384);\n"
      "LocalTensor<int16_t> i = a.ReinterpretCast<int16_t>(), j = b.ReinterpretCast<int16_t>(); Xor(j, i, "
      "i[128], t, 128); OUT(448);",
      [] {
        std::vector<float> x = ramp(64, 0.25f, -8);
        for (int i = 0; i < 64; ++i)
          x.push_back(static_cast<float>(i % 7 - 3) * (i % 2 ? 1.0f : 0.5f) + (i % 7 == 3 ? 1.0f : 0.0f));
        return x;
      }(),
      512);
  expect_clean(report);
  const auto y = values_of(report.outputs[0]);
  for (std::size_t i = 0; i < 64; ++i) {
    const double a = -8 + 0.25 * static_cast<double>(i);
    const double b =
        static_cast<double>(static_cast<int>(i) % 7 - 3) * (i % 2 ? 1.0 : 0.5) + (i % 7 == 3 ? 1.0 : 0.0);
    const auto near = [&](std::size_t at, double want, double relative) {
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(y[at + i])) << at << " " << i;
        return;
      }
      if (std::isinf(want)) {
        EXPECT_EQ(static_cast<double>(y[at + i]), want) << at << " " << i;
        return;
      }
      EXPECT_NEAR(static_cast<double>(y[at + i]), want, std::fabs(want) * relative + 1e-7) << at << " " << i;
    };
    near(0, std::pow(a, b), 3e-6);
    near(64, std::pow(a, 3.0), 3e-6);
    near(128, std::exp2(a), 3e-6);
    near(192, std::fmod(a, b), 1e-5);
    near(256, a * b / (1 + std::exp(-b)), 1e-6);
    near(320, std::exp(a), 1e-6);
    near(384, std::fmin(std::fmax(a, -1.0), 2.0), 0);
    std::uint32_t p, q, r;
    const float fa = static_cast<float>(a), fb = static_cast<float>(b);
    std::memcpy(&p, &fa, 4), std::memcpy(&q, &fb, 4), std::memcpy(&r, &y[448 + i], 4);
    EXPECT_EQ(p ^ q, r);
  }
}

TEST_F(MathFunctions, half_goes_through_float_and_in_place) {
  const RunReport report = run_kernel(
      "TPipe pipe; TBuf<TPosition::VECCALC> ab, hb; pipe.InitBuffer(ab, 2048); pipe.InitBuffer(hb, 1024);\n"
      "LocalTensor<float> a = ab.Get<float>(); LocalTensor<half> h = hb.Get<half>();\n"
      "GlobalTensor<float> gx, gy; gx.SetGlobalBuffer((__gm__ float*)x, data.n); gy.SetGlobalBuffer((__gm__ "
      "float*)y);\n"
      "DataCopy(a, gx, 512); SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0);\n"
      "Cast(h, a, RoundMode::CAST_NONE, 512); Sin(h, h, 512u); Cast(a, h, RoundMode::CAST_NONE, 512);\n"
      "SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0); DataCopy(gy, a, 512);",
      ramp(512, 0.015625f, -4), 512);
  expect_clean(report);
  const auto y = values_of(report.outputs[0]);
  for (std::size_t i = 0; i < 512; ++i)
    ASSERT_NEAR(y[i], std::sin(-4 + 0.015625 * static_cast<double>(i)), 5e-4);
}

}  // namespace
}  // namespace evk::twin::testing
