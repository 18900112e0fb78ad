// Softmax, normalisations and sums of rows against double arithmetic.
#include <cmath>

#include "twin/program/kernel_bench.h"

namespace evk::twin::testing {
namespace {

using Rows = KernelBench;
constexpr std::size_t kRows = 3, kWidth = 200;

std::vector<float> waves() {
  std::vector<float> x(kRows * kWidth);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = 4 * std::sin(0.37f * static_cast<float>(i)) + static_cast<float>(i / kWidth);
  return x;
}

const std::string kAround = R"(
#define LOAD TPipe pipe; TBuf<TPosition::VECCALC> ab, bb, sb, mb, gb, tb; pipe.InitBuffer(ab, 2432); pipe.InitBuffer(bb, 2432); \
  pipe.InitBuffer(sb, 96); pipe.InitBuffer(mb, 96); pipe.InitBuffer(gb, 1600); pipe.InitBuffer(tb, 4096); \
  LocalTensor<float> a = ab.Get<float>(), b = bb.Get<float>(), s = sb.Get<float>(), m = mb.Get<float>(), g = gb.Get<float>(); \
  LocalTensor<uint8_t> t = tb.Get<uint8_t>(); GlobalTensor<float> gx, gy; \
  gx.SetGlobalBuffer((__gm__ float*)x, data.n); gy.SetGlobalBuffer((__gm__ float*)y); DataCopy(a, gx, 600); \
  SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0)
#define STORE PipeBarrier<PIPE_ALL>(); DataCopy(gy, b, 600); DataCopy(gy[600], s, 24); DataCopy(gy[624], m, 24)
)";

TEST_F(Rows, softmax_divides_exponentials_by_their_sum) {
  for (const bool logarithm : {false, true}) {
    const std::string name = logarithm ? "LogSoftMax" : "SoftMax";
    const RunReport report =
        run_kernel("LOAD; " + name + "Tiling k; k.set_srcM(3); k.set_srcK(200); " + name +
                       "(b, s, m, a, t, k, SoftMaxShapeInfo{3, 200, 3, 200}); STORE;",
                   waves(), 648, 1, kAround);
    expect_clean(report);
    const auto x = waves(), y = values_of(report.outputs[0]);
    for (std::size_t i = 0; i < kRows; ++i) {
      double most = -1e9, sum = 0;
      for (std::size_t j = 0; j < kWidth; ++j) most = std::fmax(most, static_cast<double>(x[i * kWidth + j]));
      for (std::size_t j = 0; j < kWidth; ++j) sum += std::exp(static_cast<double>(x[i * kWidth + j]) - most);
      for (std::size_t j = 0; j < kWidth; ++j) {
        const double v = static_cast<double>(x[i * kWidth + j]) - most,
                     want = logarithm ? v - std::log(sum) : std::exp(v) / sum;
        ASSERT_NEAR(y[i * kWidth + j], want, 1e-6 * std::fabs(want) + 1e-6 * logarithm);
      }
      for (std::size_t k = 0; k < 8; ++k) {
        EXPECT_NEAR(y[600 + i * 8 + k], sum, 1e-5 * sum);
        EXPECT_EQ(y[624 + i * 8 + k], static_cast<float>(most));
      }
    }
  }
}

TEST_F(Rows, layer_and_rms_norm_scale_by_their_statistics) {
  const std::string norms[] = {
      "LayerNormTiling k; k.bLength = 1; k.sLength = 3; k.hLength = k.originalHLength = 200; LayerNorm(b, m, "
      "s, a, g, g[200], t, 1e-5f, k);",
      "RmsNormTiling k; k.bLength = 1; k.sLength = 3; k.hLength = k.originalHLength = 200; Duplicate(s, "
      "0.0f, 24); Duplicate(m, 0.0f, 24); RmsNorm(b, a, g, t, 1e-5f, k);"};
  for (const bool rms : {false, true}) {
    const RunReport report =
        run_kernel("LOAD; Duplicate(g, 2.0f, 200); Duplicate(g[200], 0.5f, 200); " + norms[rms] + " STORE;",
                   waves(), 648, 1, kAround);
    expect_clean(report);
    const auto x = waves(), y = values_of(report.outputs[0]);
    for (std::size_t i = 0; i < kRows; ++i) {
      double mean = 0, square = 0;
      for (std::size_t j = 0; j < kWidth; ++j) mean += static_cast<double>(x[i * kWidth + j]) / kWidth;
      if (rms) mean = 0;
      for (std::size_t j = 0; j < kWidth; ++j)
        square += std::pow(static_cast<double>(x[i * kWidth + j]) - mean, 2) / kWidth;
      for (std::size_t j = 0; j < kWidth; ++j) {
        const double want =
            (static_cast<double>(x[i * kWidth + j]) - mean) / std::sqrt(square + 1e-5) * 2 + (rms ? 0 : 0.5);
        ASSERT_NEAR(y[i * kWidth + j], want, 3e-6);
      }
    }
  }
}

TEST_F(Rows, sums_means_and_broadcasts_of_rows) {
  const RunReport report = run_kernel(
      "LOAD; Sum(s, a, t, SumParams{3, 200, 190}); Mean(m, a, t, MeanParams{3, 200, 200}); const uint32_t "
      "to[2] = {3, 200}, from[2] = {1, 200}, column[2] = {3, 1};\n"
      "BroadCast<float, 2, 0>(b, a, to, from); BroadCast<float, 2, 1>(a, s, to, column); "
      "PipeBarrier<PIPE_ALL>(); DataCopy(b[400], a[400], 200); STORE;",
      waves(), 648, 1, kAround);
  EXPECT_FALSE(report.faulted()) << faults(report);
  const auto x = waves(), y = values_of(report.outputs[0]);
  for (std::size_t i = 0; i < kRows; ++i) {
    double sum = 0, mean = 0;
    for (std::size_t j = 0; j < kWidth; ++j) {
      sum += j < 190 ? static_cast<double>(x[i * kWidth + j]) : 0;
      mean += static_cast<double>(x[i * kWidth + j]) / kWidth;
    }
    EXPECT_NEAR(y[600 + i], sum, 1e-3);
    EXPECT_NEAR(y[624 + i], mean, 1e-5);
    for (std::size_t j = 0; j < kWidth; ++j) EXPECT_EQ(y[i * kWidth + j], i < 2 ? x[j] : y[602]);
  }
}

}  // namespace
}  // namespace evk::twin::testing
