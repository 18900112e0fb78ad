// Kernels on cube cores: alike over both transports, right, and faulty where a step is left out.
#include <sstream>

#include "twin/program/kernel_bench.h"

namespace evk::twin::testing {
namespace {

std::uint16_t half_of(int value) {  // small integers
  if (value == 0) return 0;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - (112u << 10)));
}

int value_of(std::size_t i) { return static_cast<int>(i * 2654435761u >> 8 & 15) - 7; }

LaunchTensor halves(const std::string& name, std::int64_t rows, std::int64_t columns) {
  LaunchTensor t{name, abi::DType::kF16, {rows, columns}, {}};
  t.data.resize(static_cast<std::size_t>(rows * columns) * 2);
  for (std::size_t i = 0; i < t.data.size() / 2; ++i) {
    const std::uint16_t bits = half_of(value_of(i));
    std::memcpy(&t.data[i * 2], &bits, 2);
  }
  return t;
}

std::vector<float> product(std::size_t m, std::size_t n, std::size_t k) {
  std::vector<float> c(m * n, 0.0f);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t x = 0; x < k; ++x)
      for (std::size_t j = 0; j < n; ++j)
        c[i * n + j] += static_cast<float>(value_of(i * k + x) * value_of(x * n + j));
  return c;
}

class CubeKernels : public KernelBench {
 protected:
  static Launch launch(std::int64_t m, std::int64_t n, std::int64_t k) {
    Launch l;
    l.op = "matmul_tile";
    l.inputs = {halves("a", m, k), halves("b", k, n)};
    l.outputs = {empty("c", {m, n})};
    return l;
  }
  static std::string text_of_sample() {
    std::ifstream in(EVK_SOURCE_DIR "/tests/twin/projects/direct/matmul_tile.asc");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // The sample with one place of it replaced.
  std::string build(const std::string& what, const std::string& by) {
    std::string text = text_of_sample();
    const auto at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    if (at != std::string::npos) text.replace(at, what.size(), by);
    write("matmul_tile.asc", text);
    const auto so = build_project(recipe(), folder_ + "/matmul_tile.asc", "matmul_tile", folder_);
    EXPECT_TRUE(so) << so.error().text();
    return so.value_or("");
  }
};

void expect_alike(const RunReport& a, const RunReport& b) {
  EXPECT_EQ(a.end, b.end);
  EXPECT_EQ(a.outputs, b.outputs);
  EXPECT_EQ(a.trace_hash, b.trace_hash);
  EXPECT_EQ(a.profile.total_cycles, b.profile.total_cycles);
  ASSERT_EQ(a.findings.size(), b.findings.size());
  for (std::size_t i = 0; i < a.findings.size(); ++i) {
    EXPECT_EQ(a.findings[i].code, b.findings[i].code);
    EXPECT_EQ(a.findings[i].line, b.findings[i].line);
    EXPECT_EQ(a.findings[i].other_line, b.findings[i].other_line);
  }
}

TEST_F(CubeKernels, a_product_by_tiles_is_exact_over_both_transports) {
  const std::string so = build("constexpr uint32_t kTileM", "constexpr uint32_t kTileM");
  for (const auto& [m, n, k] :
       {std::tuple(256, 512, 192), std::tuple(130, 272, 80), std::tuple(17, 48, 33)}) {
    const RunReport direct = run(so, launch(m, n, k));
    expect_clean(direct);
    EXPECT_EQ(values_of(direct.outputs[0]),
              product(static_cast<std::size_t>(m), static_cast<std::size_t>(n), static_cast<std::size_t>(k)));
    expect_alike(direct, run(so, launch(m, n, k), Transport::kRing));
    EXPECT_GT(direct.profile.mac_ratio, 0);
    EXPECT_GT(direct.profile.mte1_ratio, 0);
    EXPECT_GT(direct.profile.fixpipe_ratio, 0);
  }
}

TEST_F(CubeKernels, timing_only_runs_take_the_same_cycles) {
  const std::string so = build("constexpr uint32_t kTileM", "constexpr uint32_t kTileM");
  const RunReport whole = run(so, launch(256, 256, 128));
  Launch timing = launch(256, 256, 128);
  timing.move_data = false;
  EXPECT_EQ(run(so, timing).profile.total_cycles, whole.profile.total_cycles);
}

TEST_F(CubeKernels, seeded_faults_are_found) {
  const struct {
    const char *what, *by, *code;
  } cases[] = {
      // What a queue carries across is not waited for.
      {"    a2_.EnQue(a);\n", "", "queue_stalled"},
      {"    a1_.FreeTensor(left);\n", "", "queue_stalled"},
      {"c_.EnQue(sum);\n    sum = c_.DeQue<float>();", "", "race_read_after_write"},
      {"    PipeBarrier<PIPE_M>();\n", "", ""},  // products of many fractals need none
      {"pipe.InitBuffer(c_, 1, kTileM * kTileN * sizeof(float));",
       "pipe.InitBuffer(c_, 2, kTileM * kTileN * sizeof(float));", "ub_overflow"},
      {"pipe.InitBuffer(a2_, 2, kTileM * kTileK * sizeof(half));",
       "pipe.InitBuffer(a2_, 2, kTileM * kTileK);", "buffer_overrun"},
      {"params.srcDValue = pitch;", "params.srcDValue = pitch + 1;", "gm_read_out_of_bounds"},
      {"out.dstStride = pitch_b;", "out.dstStride = pitch_b + 8;", "gm_write_out_of_bounds"},
      {"LoadData(a[i * depth * 256], left[i * 256], params);",
       "LoadData(a[i * depth * 256 + 16], left[i * 256], params);", "misaligned"},
      {"__global__ __cube__ void MatmulTiles", "__global__ __vector__ void MatmulTiles", "wrong_core"},
  };
  for (const auto& c : cases) {
    const RunReport report = run(build(c.what, c.by), launch(256, 256, 256));
    if (*c.code)
      EXPECT_TRUE(found(report, c.code)) << c.what << "\n" << faults(report);
    else
      EXPECT_EQ(faults(report), "") << c.what;
  }
}

// Flags by hand, in place of queues: each that is missing is a race between the two lines that it would
// order.
constexpr const char* kByHand = R"(
// c = a * b by one core, twice.
#include "kernel_operator.h"
using namespace AscendC;
__global__ __cube__ void Product(GM_ADDR x, GM_ADDR y, GM_ADDR z) {
  GlobalTensor<half> a, b;
  GlobalTensor<float> c;
  a.SetGlobalBuffer((__gm__ half*)x, 64 * 64);
  b.SetGlobalBuffer((__gm__ half*)y, 64 * 64);
  c.SetGlobalBuffer((__gm__ float*)z, 64 * 64);
  LocalTensor<half> a1(TPosition::A1, 0, 4096), b1(TPosition::B1, 8192, 4096);
  LocalTensor<half> a2(TPosition::A2, 0, 4096), b2(TPosition::B2, 0, 4096);
  LocalTensor<float> sum(TPosition::CO1, 0, 4096);
  for (int round = 0; round < 2; ++round) {
    DataCopy(a1, a, Nd2NzParams{1, 64, 64, 0, 64, 64, 1, 0});                  // line 15
    DataCopy(b1, b, Nd2NzParams{1, 64, 64, 0, 64, 64, 1, 0});                  // line 16
    SetFlag<HardEvent::MTE2_MTE1>(0); WaitFlag<HardEvent::MTE2_MTE1>(0);       // a
    if (round) { WaitFlag<HardEvent::M_MTE1>(1); }                             // b
    for (int i = 0; i < 4; ++i) LoadData(a2[i * 1024], a1[i * 256], LoadData2DParams(0, 4, 4, 0, 0, false, 0));  // line 19
    for (int i = 0; i < 4; ++i) LoadData(b2[i * 1024], b1[i * 256], LoadData2DParams(0, 4, 4, 0, 0, true, 0));   // line 20
    SetFlag<HardEvent::MTE1_M>(0); WaitFlag<HardEvent::MTE1_M>(0);             // c
    SetFlag<HardEvent::MTE1_MTE2>(3); WaitFlag<HardEvent::MTE1_MTE2>(3);       // d
    if (round) { WaitFlag<HardEvent::FIX_M>(2); }                              // e
    Mmad(sum, a2, b2, MmadParams(64, 64, 64, false, 0, false, false, false));  // line 24
    if (!round) { SetFlag<HardEvent::M_MTE1>(1); }                             // f
    SetFlag<HardEvent::M_FIX>(0); WaitFlag<HardEvent::M_FIX>(0);               // g
    Fixpipe(c, sum, FixpipeParamsV220(64, 64, 64, 64, false));                 // line 27
    if (!round) { SetFlag<HardEvent::FIX_M>(2); }                              // h
    PipeBarrier<PIPE_FIX>();
  }
}
extern "C" void launch_product(const npu::Tensor* in, const npu::Tensor* out, aclrtStream stream) {
  Product<<<1, nullptr, stream>>>(in[0].addr, in[1].addr, out[0].addr);
}
)";

TEST_F(CubeKernels, each_missing_flag_is_a_race_of_the_two_lines_that_it_orders) {
  const auto run_without = [&](const std::string& lines) {
    std::string text, line;
    std::istringstream all(kByHand);
    while (std::getline(all, line)) {
      const bool out = line.size() > 4 && line.substr(line.size() - 4, 3) == "// " &&
                       lines.find(line.back()) != std::string::npos;
      text += (out ? "" : line) + "\n";
    }
    write("product.asc", text);
    const auto so = build_project(recipe(), folder_ + "/product.asc", "product", folder_);
    EXPECT_TRUE(so) << so.error().text();
    Launch l = launch(64, 64, 64);
    l.op = "product";
    return so ? run(*so, l) : no_report();
  };
  const RunReport whole = run_without("");
  expect_clean(whole);
  EXPECT_EQ(values_of(whole.outputs[0]), product(64, 64, 64));
  const struct {
    const char *without, *code;
    int line, other;
  } cases[] = {{"a", "race_read_after_write", 19, 15},  {"c", "race_read_after_write", 24, 19},
               {"d", "race_write_after_read", 15, 19},  {"g", "race_read_after_write", 27, 24},
               {"bf", "race_write_after_read", 19, 24}, {"eh", "race_write_after_read", 24, 27}};
  for (const auto& c : cases) {
    const RunReport report = run_without(c.without);
    bool there = false;
    for (const auto& f : report.findings)
      there = there || (f.code == c.code && f.line == c.line && f.other_line == c.other);
    EXPECT_TRUE(there) << "without " << c.without << ":\n" << faults(report);
  }
  EXPECT_TRUE(found(run_without("f"), "wait_without_set"));
  EXPECT_TRUE(found(run_without("e"), "flag_left_set"));
}

}  // namespace
}  // namespace evk::twin::testing
