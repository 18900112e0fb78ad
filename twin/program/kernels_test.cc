// Small kernels, each showing that a call does on the engine what its documentation says.
#include <cmath>

#include "twin/program/kernel_bench.h"

namespace evk::twin::testing {
namespace {

using Kernels = KernelBench;

// Copies x to UB tensor `a` of 1024 floats, and `b` of the same size back to y.
const std::string kAround = R"(
#define LOAD(count) TPipe pipe; TBuf<TPosition::VECCALC> ab, bb, cb, ub; pipe.InitBuffer(ab, 4096); pipe.InitBuffer(bb, 4096); \
  pipe.InitBuffer(cb, 4096); pipe.InitBuffer(ub, 4096); \
  LocalTensor<float> a = ab.Get<float>(), b = bb.Get<float>(), c = cb.Get<float>(); LocalTensor<uint8_t> u = ub.Get<uint8_t>(); \
  GlobalTensor<float> gx, gy; gx.SetGlobalBuffer((__gm__ float*)x, data.n); gy.SetGlobalBuffer((__gm__ float*)y); \
  DataCopyPad(a, gx, DataCopyExtParams{1, (uint32_t)(count) * 4, 0, 0, 0}, DataCopyPadExtParams<float>{false, 0, 0, 0}); \
  SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0)
#define STORE(t, count) SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0); \
  DataCopyPad(gy, t, DataCopyExtParams{1, (uint32_t)(count) * 4, 0, 0, 0})
)";

TEST_F(Kernels, reduce_a_tail_that_fills_no_block) {
  const RunReport report = run_kernel(
      "LOAD(101); ReduceSum(b, a, c, 101); ReduceMax(b[8], a, c, 101, true); ReduceMin(b[16], a, c, 101);\n"
      "float sum = b.GetValue(0), most = b.GetValue(8), least = b.GetValue(16);\n"
      "int32_t where = b[8].ReinterpretCast<int32_t>().GetValue(1);\n"
      "c.SetValue(0, sum); c.SetValue(1, most); c.SetValue(2, least); c.SetValue(3, (float)where);\n"
      "SetFlag<HardEvent::S_MTE3>(1); WaitFlag<HardEvent::S_MTE3>(1); STORE(c, 4);",
      ramp(101, 0.5f, -3), 4, 1, kAround);
  expect_clean(report);
  EXPECT_EQ(values_of(report.outputs[0]), (std::vector<float>{101 * (-3) + 0.5f * 5050, 47, -3, 100}));
}

TEST_F(Kernels, masks_and_repeats_touch_what_they_name) {
  // Two repeats of 64 floats: a mask of 3 elements, then bits 0 and 2, then the counter mode of 70.
  const RunReport report = run_kernel(
      "LOAD(128); Duplicate(b, 0.0f, 128); Adds(b, a, 100.0f, 3, 2, {1, 1, 8, 8});\n"
      "uint64_t bits[2] = {0b101ull << 8, 0}; Muls(b, a, -1.0f, bits, 2, {1, 1, 8, 8});\n"
      "SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(70); Duplicate(c, 0.0f, 128);\n"
      "Adds<float, false>(c, b, 1.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8}); SetMaskNorm(); ResetMask(); "
      "STORE(c, 128);",
      ramp(128), 128, 1, kAround);
  expect_clean(report);
  std::vector<float> want(128, 0.0f);
  for (const std::size_t rep : {0, 64}) {
    for (std::size_t i = 0; i < 3; ++i) want[rep + i] = 100 + static_cast<float>(rep + i);
    for (const std::size_t i : {8, 10}) want[rep + i] = -static_cast<float>(rep + i);
  }
  for (std::size_t i = 0; i < 128; ++i) want[i] = i < 70 ? want[i] + 1 : 0;
  EXPECT_EQ(values_of(report.outputs[0]), want);
}

TEST_F(Kernels, operators_work_on_all_of_the_destination) {
  const RunReport report = run_kernel(
      "LOAD(64); LocalTensor<float> d = bb.Get<float>(64); d = a + a; d = d * a; d = d - a; STORE(d, 64);",
      ramp(64), 64, 1, kAround);
  expect_clean(report);
  std::vector<float> want = ramp(64);
  for (float& v : want) v = (v + v) * v - v;
  EXPECT_EQ(values_of(report.outputs[0]), want);
}

TEST_F(Kernels, compare_and_select_choose_by_bits) {
  const RunReport report = run_kernel(
      "LOAD(64); CompareScalar(u, a, 0.0f, CMPMODE::GT, 64); Select(b, u, a, 0.5f, "
      "SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);\n"
      "STORE(b, 64);",
      ramp(64, 1, -32), 64, 1, kAround);
  expect_clean(report);
  std::vector<float> want = ramp(64, 1, -32);
  for (float& v : want) v = v > 0 ? v : 0.5f;
  EXPECT_EQ(values_of(report.outputs[0]), want);
}

TEST_F(Kernels, casts_round_as_asked) {
  const RunReport report = run_kernel(
      "LOAD(64); LocalTensor<int32_t> i = bb.Get<int32_t>(); Cast(i, a, RoundMode::CAST_FLOOR, 64); Cast(c, "
      "i, RoundMode::CAST_NONE, 64);\n"
      "LocalTensor<half> h = ub.Get<half>(); Cast(h, c, RoundMode::CAST_NONE, 64); Cast(c, h, "
      "RoundMode::CAST_NONE, 64); STORE(c, 64);",
      ramp(64, 0.3f, -9), 64, 1, kAround);
  expect_clean(report);
  std::vector<float> want = ramp(64, 0.3f, -9);
  for (float& v : want) v = std::floor(v);
  EXPECT_EQ(values_of(report.outputs[0]), want);
}

TEST_F(Kernels, scalar_access_reads_and_writes_elements) {
  const RunReport report = run_kernel(
      "GlobalTensor<float> gx, gy; gx.SetGlobalBuffer((__gm__ float*)x, data.n); gy.SetGlobalBuffer((__gm__ "
      "float*)y, data.n);\n"
      "for (uint32_t i = 0; i < data.n; ++i) gy.SetValue(i, gx.GetValue(data.n - 1 - i) * 2);",
      ramp(33), 33);
  expect_clean(report);
  const std::vector<float> y = values_of(report.outputs[0]);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], 2 * static_cast<float>(32 - i));
}

// Each block writes its own part of the workspace; after SyncAll each reads its neighbour's.
TEST_F(Kernels, sync_all_lets_blocks_read_what_others_wrote) {
  const std::string part =
      "TPipe pipe; TBuf<TPosition::VECCALC> ab; pipe.InitBuffer(ab, 32); LocalTensor<float> a = "
      "ab.Get<float>();\n"
      "GlobalTensor<float> w, gy; w.SetGlobalBuffer((__gm__ float*)workspace); gy.SetGlobalBuffer((__gm__ "
      "float*)y);\n"
      "const int me = GetBlockIdx(), all = GetBlockNum(); Duplicate(a, (float)(me + 1), 8);\n"
      "SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0); DataCopy(w[me * 8], a, 8);\n";
  const std::string rest =
      "SetFlag<HardEvent::MTE3_MTE2>(0); WaitFlag<HardEvent::MTE3_MTE2>(0); DataCopy(a, w[(me + 1) % all * "
      "8], 8);\n"
      "SetFlag<HardEvent::MTE2_MTE3>(0); WaitFlag<HardEvent::MTE2_MTE3>(0); DataCopy(gy[me * 8], a, 8);";
  const RunReport report = run_kernel(part + "SyncAll();\n" + rest, ramp(8), 40, 5);
  expect_clean(report);
  const std::vector<float> y = values_of(report.outputs[0]);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(y[i], static_cast<float>((i / 8 + 1) % 5 + 1));
  EXPECT_TRUE(found(run_kernel(part + rest, ramp(8), 40, 5), "block_conflict"));
}

TEST_F(Kernels, sync_all_that_one_block_leaves_out_is_a_finding) {
  const RunReport report = run_kernel("if (GetBlockIdx() != 2) SyncAll();", ramp(8), 8, 4);
  EXPECT_EQ(report.end, RunEnd::kAborted);
  EXPECT_TRUE(found(report, "sync_all_mismatch")) << faults(report);
}

TEST_F(Kernels, each_block_has_its_own_pipe) {
  const RunReport report =
      run_kernel("TPipe pipe; SyncAll(); ASSERT(GetTPipePtr() == &pipe); SyncAll();", ramp(8), 8, 3);
  EXPECT_FALSE(found(report, "assert_failed"));
  EXPECT_EQ(report.end, RunEnd::kComplete);
}

// A device has one copy of a variable per core.
TEST_F(Kernels, blocks_share_no_variables) {
  const std::string before =
      "static int met = 40; static int zero; inline int Count() { static int calls = 1; return calls++; }";
  const RunReport report = run_kernel(
      "GlobalTensor<float> gy; gy.SetGlobalBuffer((__gm__ float*)y, 32); met += GetBlockIdx(); zero++; "
      "Count();\n"
      "SyncAll(); met += 100; gy.SetValue(GetBlockIdx() * 8, (float)(met * 100 + zero * 10 + Count()));",
      ramp(8), 32, 4, before);
  const std::vector<float> y = values_of(report.outputs[0]);
  for (std::size_t block = 0; block < 4; ++block)
    EXPECT_EQ(y[block * 8], static_cast<float>((140 + block) * 100 + 10 + 2));
}

TEST_F(Kernels, memory_of_an_ended_pipe_may_be_used_again) {
  const std::string stage =
      "{ TPipe pipe; TBuf<TPosition::VECCALC> t; pipe.InitBuffer(t, 256); LocalTensor<float> a = "
      "t.Get<float>();\n"
      "  DataCopy(a, gx, 64); SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0); Adds(a, a, "
      "1.0f, 64);\n"
      "  SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0); DataCopy(gy, a, 64); }\n";
  const RunReport report = run_kernel(
      "GlobalTensor<float> gx, gy; gx.SetGlobalBuffer((__gm__ float*)x, 64); gy.SetGlobalBuffer((__gm__ "
      "float*)y, 64);\n" +
          stage + stage,
      ramp(64), 64);
  expect_clean(report);
  EXPECT_EQ(values_of(report.outputs[0]), ramp(64, 1, 1));
}

TEST_F(Kernels, half_rounds_once_to_nearest_even) {
  const RunReport report = run_kernel(
      "GlobalTensor<float> gy; gy.SetGlobalBuffer((__gm__ float*)y, 6);\n"
      "const float v[] = {1.0f + 1.0f / 2048, 1.0f + 3.0f / 2048, 65519.0f, 65520.0f, 5.9e-8f, -2.0e-8f};\n"
      "for (int i = 0; i < 6; ++i) gy.SetValue(i, (float)(half)v[i]);",
      ramp(8), 6);
  expect_clean(report);
  EXPECT_EQ(values_of(report.outputs[0]),
            (std::vector<float>{1.0f, 1.0f + 2.0f / 1024, 65504.0f, INFINITY, 1.0f / 16777216, -0.0f}));
}

TEST_F(Kernels, activations_compute_what_their_names_say) {
  using Function = double (*)(double);
  const std::pair<const char*, Function> cases[] = {
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"Silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"Gelu",
       [](double x) { return 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x))); }}};
  const std::vector<float> x = ramp(1000, 0.02f, -10);
  for (const auto& [name, function] : cases) {
    const RunReport report = run_kernel(std::string("LOAD(1000); ") + name + "(b, a, 1000u); STORE(b, 1000);",
                                        x, 1000, 1, kAround);
    expect_clean(report);
    const std::vector<float> y = values_of(report.outputs[0]);
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_NEAR(y[i], function(static_cast<double>(x[i])), 3e-6) << name << " of " << x[i];
  }
}

TEST_F(Kernels, activations_of_half_and_in_place) {
  const RunReport report = run_kernel(
      "LOAD(512); LocalTensor<half> h = ub.Get<half>(512); Cast(h, a, RoundMode::CAST_NONE, 512); Tanh(h, "
      "h);\n"
      "Cast(b, h, RoundMode::CAST_NONE, 512); STORE(b, 512);",
      ramp(512, 0.01f, -2), 512, 1, kAround);
  expect_clean(report);
  const std::vector<float> y = values_of(report.outputs[0]);
  for (std::size_t i = 0; i < y.size(); ++i)
    ASSERT_NEAR(y[i], std::tanh(-2 + 0.01 * static_cast<double>(i)), 1e-3);
}

TEST_F(Kernels, an_activation_without_memory_left_is_a_finding) {
  const RunReport report = run_kernel(
      "TPipe pipe; TBuf<TPosition::VECCALC> t; pipe.InitBuffer(t, 196000); LocalTensor<float> a = "
      "t.Get<float>();\n"
      "Duplicate(a, 1.0f, 1024); Sigmoid(a, a, 1024u);",
      ramp(8), 8);
  EXPECT_TRUE(found(report, "chip_out_of_bounds")) << faults(report);
}

TEST_F(Kernels, scalar_code_between_calls_takes_time) {
  const std::string loop = "volatile int v = 0; for (int i = 0; i < ROUNDS; ++i) v = v + i;";
  const RunReport none = run_kernel(loop, ramp(8), 8, 1, "constexpr int ROUNDS = 0;");
  const RunReport many = run_kernel(loop, ramp(8), 8, 1, "constexpr int ROUNDS = 100000;");
  const double extra = static_cast<double>(many.profile.total_cycles - none.profile.total_cycles) /
                       device_.at("s.block_cycles");
  EXPECT_GE(extra, 100'000);
  EXPECT_LE(extra, 300'000);
}

TEST_F(Kernels, print_reaches_the_report) {
  const RunReport report = run_kernel("PRINTF(\"n is %u, %s\\n\", data.n, \"done\");", ramp(9), 9);
  EXPECT_EQ(report.printed, "n is 9, done\n");
}

}  // namespace
}  // namespace evk::twin::testing
