// Kernels on cube and vector cores together: flags between cores, their order, and where they hang.
#include "twin/program/kernel_bench.h"

namespace evk::twin::testing {
namespace {

// The vector cores double x, the cube core multiplies 2x by w, the vector cores add one: each half of the
// rows.
constexpr const char* kMixed = R"(// y = 2x * w + 1
#include "kernel_operator.h"
using namespace AscendC;
constexpr uint32_t kSide = 64;
__aicore__ inline void Cube(GM_ADDR w, GM_ADDR doubled, GM_ADDR product) {
  GlobalTensor<half> a, b;
  GlobalTensor<float> c;
  a.SetGlobalBuffer((__gm__ half*)doubled, kSide * kSide);
  b.SetGlobalBuffer((__gm__ half*)w, kSide * kSide);
  c.SetGlobalBuffer((__gm__ float*)product, kSide * kSide);
  LocalTensor<half> a1(TPosition::A1, 0, 4096), b1(TPosition::B1, 8192, 4096);
  LocalTensor<half> a2(TPosition::A2, 0, 4096), b2(TPosition::B2, 0, 4096);
  LocalTensor<float> sum(TPosition::CO1, 0, 4096);
  CrossCoreWaitFlag(3);  // W1
  DataCopy(a1, a, Nd2NzParams(1, 64, 64, 0, 64, 64, 1, 0));  // L1
  DataCopy(b1, b, Nd2NzParams(1, 64, 64, 0, 64, 64, 1, 0));
  SetFlag<HardEvent::MTE2_MTE1>(0); WaitFlag<HardEvent::MTE2_MTE1>(0);
  for (int i = 0; i < 4; ++i) LoadData(a2[i * 1024], a1[i * 256], LoadData2DParams(0, 4, 4, 0, 0, false, 0));
  for (int i = 0; i < 4; ++i) LoadData(b2[i * 1024], b1[i * 256], LoadData2DParams(0, 4, 4, 0, 0, true, 0));
  SetFlag<HardEvent::MTE1_M>(0); WaitFlag<HardEvent::MTE1_M>(0);
  Mmad(sum, a2, b2, MmadParams(64, 64, 64, false, 0, false, false, false));
  SetFlag<HardEvent::M_FIX>(0); WaitFlag<HardEvent::M_FIX>(0);
  Fixpipe(c, sum, FixpipeParamsV220(64, 64, 64, 64, false));  // F1
  CrossCoreSetFlag<2, PIPE_FIX>(4);  // S2
}
__aicore__ inline void Vector(GM_ADDR x, GM_ADDR doubled, GM_ADDR product, GM_ADDR y) {
  const uint32_t rows = kSide / GetSubBlockNum(), at = GetSubBlockIdx() * rows * kSide, n = rows * kSide;
  GlobalTensor<half> gx, gd;
  GlobalTensor<float> gc, gy;
  gx.SetGlobalBuffer((__gm__ half*)x + at, n);
  gd.SetGlobalBuffer((__gm__ half*)doubled + at, n);
  gc.SetGlobalBuffer((__gm__ float*)product + at, n);
  gy.SetGlobalBuffer((__gm__ float*)y + at, n);
  TPipe pipe;
  TBuf<TPosition::VECCALC> hb, fb;
  pipe.InitBuffer(hb, 4096 * 2);
  pipe.InitBuffer(fb, 4096 * 4);
  LocalTensor<half> h = hb.Get<half>();
  LocalTensor<float> f = fb.Get<float>();
  DataCopy(h, gx, n);
  SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0);
  Add(h, h, h, n);
  SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0);
  DataCopy(gd, h, n);  // D1
  CrossCoreSetFlag<2, PIPE_MTE3>(3);  // S1
  CrossCoreWaitFlag(4);  // W2
  DataCopy(f, gc, n);  // L2
  SetFlag<HardEvent::MTE2_V>(1); WaitFlag<HardEvent::MTE2_V>(1);
  Adds(f, f, 1.0f, n);
  SetFlag<HardEvent::V_MTE3>(1); WaitFlag<HardEvent::V_MTE3>(1);
  DataCopy(gy, f, n);
}
__global__ __mix__(1, 2) void Mixed(GM_ADDR x, GM_ADDR w, GM_ADDR doubled, GM_ADDR product, GM_ADDR y) {
  if ASCEND_IS_AIC { Cube(w, doubled, product); }
  if ASCEND_IS_AIV { Vector(x, doubled, product, y); }
}
extern "C" void launch_mixed(const npu::Tensor* in, const npu::Tensor* out, aclrtStream stream) {
  Mixed<<<1, nullptr, stream>>>(in[0].addr, in[1].addr, out[1].addr, out[2].addr, out[0].addr);
}
)";

constexpr std::size_t kSide = 64;

// Small integers as halves: 0 to 7 have few bits.
std::uint16_t half_of(int value) {
  constexpr std::uint16_t kHalves[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700};
  return kHalves[value & 7];
}
int value_of(std::size_t i) { return static_cast<int>(i * 2654435761u >> 9 & 7); }

class MixKernels : public KernelBench {
 protected:
  static LaunchTensor halves(const std::string& name) {
    LaunchTensor t{name, abi::DType::kF16, {64, 64}, std::vector<std::byte>(kSide * kSide * 2)};
    for (std::size_t i = 0; i < kSide * kSide; ++i) {
      const std::uint16_t bits = half_of(value_of(i));
      std::memcpy(&t.data[i * 2], &bits, 2);
    }
    return t;
  }
  Launch launch() {
    Launch l;
    l.op = "mixed";
    l.inputs = {halves("x"), halves("w")};
    l.outputs = {empty("y", {64, 64}), empty("doubled", {64, 64}, abi::DType::kF16),
                 empty("product", {64, 64})};
    return l;
  }
  static int line_of(const std::string& text, const std::string& mark) {
    const auto at = text.find(mark);
    EXPECT_NE(at, std::string::npos) << mark;
    return 1 +
           static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }
  // The kernel with one place replaced.
  RunReport run_with(const std::string& what, const std::string& by,
                     Transport transport = Transport::kDirect) {
    std::string text(kMixed);
    const auto at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    text.replace(at, what.size(), by);
    write("mixed.asc", text);
    const auto so = build_project(recipe(), folder_ + "/mixed.asc", "mixed", folder_);
    EXPECT_TRUE(so) << so.error().text();
    return so ? run(*so, launch(), transport) : no_report();
  }
  static bool found_at(const RunReport& report, const std::string& code, int line, int other) {
    for (const auto& f : report.findings)
      if (f.code == code &&
          ((f.line == line && f.other_line == other) || (f.line == other && f.other_line == line)))
        return true;
    return false;
  }
};

TEST_F(MixKernels, cube_and_vector_cores_work_together_over_both_transports) {
  const RunReport direct = run_with("// y = 2x * w + 1", "//");
  expect_clean(direct);
  const auto y = values_of(direct.outputs[0]);
  for (std::size_t i = 0; i < y.size(); ++i) {
    int want = 1;
    for (std::size_t k = 0; k < kSide; ++k)
      want += 2 * value_of(i / kSide * kSide + k) * value_of(k * kSide + i % kSide);
    ASSERT_EQ(y[i], static_cast<float>(want)) << i;
  }
  const RunReport ring = run_with("// y = 2x * w + 1", "//", Transport::kRing);
  EXPECT_EQ(direct.outputs, ring.outputs);
  EXPECT_EQ(direct.trace_hash, ring.trace_hash);
  EXPECT_EQ(direct.profile.total_cycles, ring.profile.total_cycles);
  EXPECT_GT(direct.profile.vec_ratio, 0);
  EXPECT_GT(direct.profile.mac_ratio, 0);
  // The vector cores wait for the cube core, whose clock has waited for them: one after the other.
  EXPECT_GT(static_cast<double>(direct.profile.total_cycles), 2 * device_.at("s.cross_flag_cycles"));
}

TEST_F(MixKernels, a_missing_wait_is_a_conflict_of_both_lines) {
  const std::string text(kMixed);
  const RunReport first = run_with("  CrossCoreWaitFlag(3);  // W1", "  //");
  EXPECT_TRUE(found_at(first, "block_conflict", line_of(text, "// D1"), line_of(text, "// L1")))
      << faults(first);
  const RunReport second = run_with("  CrossCoreWaitFlag(4);  // W2", "  //");
  EXPECT_TRUE(found_at(second, "block_conflict", line_of(text, "// F1"), line_of(text, "// L2")))
      << faults(second);
}

// The flag of another pipe says nothing of the copies to GM.
TEST_F(MixKernels, a_flag_of_the_wrong_pipe_orders_nothing) {
  const std::string text(kMixed);
  const RunReport report = run_with("CrossCoreSetFlag<2, PIPE_FIX>(4)", "CrossCoreSetFlag<2, PIPE_MTE2>(4)");
  EXPECT_TRUE(found_at(report, "block_conflict", line_of(text, "// F1"), line_of(text, "// L2")))
      << faults(report);
}

TEST_F(MixKernels, a_missing_set_is_a_deadlock_that_names_every_wait) {
  const std::string text(kMixed);
  const RunReport report = run_with("  CrossCoreSetFlag<2, PIPE_MTE3>(3);  // S1", "  //");
  EXPECT_EQ(report.end, RunEnd::kAborted);
  ASSERT_TRUE(found(report, "cross_core_deadlock")) << faults(report);
  const std::string message = report.findings[0].message;
  EXPECT_NE(
      message.find("block 0 cube waits for flag 3 at mixed.asc:" + std::to_string(line_of(text, "// W1"))),
      std::string::npos)
      << message;
  EXPECT_NE(message.find("block 0 vector 1 waits for flag 4 at mixed.asc:" +
                         std::to_string(line_of(text, "// W2"))),
            std::string::npos)
      << message;
  EXPECT_TRUE(found(run_with("CrossCoreSetFlag<2, PIPE_FIX>(4)", "CrossCoreSetFlag<2, PIPE_FIX>(5)"),
                    "cross_core_deadlock"));
  EXPECT_TRUE(found(run_with("CrossCoreSetFlag<2, PIPE_FIX>(4)", "CrossCoreSetFlag<2, PIPE_FIX>(40)"),
                    "flag_invalid"));
}

TEST_F(MixKernels, memories_of_the_other_core_are_refused) {
  EXPECT_TRUE(
      found(run_with("{ Cube(w, doubled, product); }", "{ Vector(x, doubled, product, y); }"), "wrong_core"));
}

// Direct launch of one kernel on `blocks` blocks with the output y of 1024 floats.
class Cores : public KernelBench {
 protected:
  RunReport run_cores(const std::string& kind, int blocks, const std::string& body) {
    write("cores.asc", R"(#include "kernel_operator.h"
using namespace AscendC;
__global__ )" + kind + R"( void Cores(GM_ADDR y) {
  GlobalTensor<float> gy;
  gy.SetGlobalBuffer((__gm__ float*)y, 1024);
)" + body + R"(
}
extern "C" void launch_cores(const npu::Tensor* in, const npu::Tensor* out, aclrtStream stream) {
  Cores<<<)" + std::to_string(blocks) +
                           R"(, nullptr, stream>>>(out[0].addr);
}
)");
    const auto so = build_project(recipe(), folder_ + "/cores.asc", "cores", folder_);
    EXPECT_TRUE(so) << so.error().text();
    Launch l;
    l.op = "cores";
    l.inputs = {floats("x", {8}, ramp(8))};
    l.outputs = {empty("y", {1024})};
    if (!so) return no_report();
    RunReport direct = run(*so, l);
    const RunReport ring = run(*so, l, Transport::kRing);
    EXPECT_EQ(direct.outputs, ring.outputs);
    EXPECT_EQ(direct.profile.total_cycles, ring.profile.total_cycles);
    EXPECT_EQ(direct.findings.size(), ring.findings.size());
    return direct;
  }
};

TEST_F(Cores, are_numbered_as_on_the_device) {
  const RunReport report =
      run_cores("__mix__(1, 2)", 3,
                "const int lane = g_coreType == AIC ? 0 : 1 + GetSubBlockIdx(), me = (g_coreType == AIC ? "
                "GetBlockIdx() : "
                "GetBlockIdx() / 2) * 3 + lane;\n"
                "gy.SetValue(me * 16, (float)GetBlockIdx()); gy.SetValue(me * 16 + 1, (float)GetBlockNum()); "
                "gy.SetValue(me * 16 + 2, (float)GetTaskRation());");
  EXPECT_EQ(faults(report), "");
  const auto y = values_of(report.outputs[0]);
  for (std::size_t block = 0; block < 3; ++block) {
    const float b = static_cast<float>(block);
    EXPECT_EQ(y[block * 48], b);
    EXPECT_EQ(y[block * 48 + 16], 2 * b);
    EXPECT_EQ(y[block * 48 + 32], 2 * b + 1);
    for (std::size_t lane = 0; lane < 3; ++lane) {
      EXPECT_EQ(y[block * 48 + lane * 16 + 1], 3);
      EXPECT_EQ(y[block * 48 + lane * 16 + 2], lane == 0 ? 1 : 2);
    }
  }
}

// Each core writes its place, all meet, each reads its neighbour's.
const char* const kExchange =
    "const int me = GetBlockIdx(), all = MEETING; if (MINE) { gy.SetValue(me * 16, (float)(me + 1)); }\n"
    "MEET; if (MINE) { gy.SetValue(512 + me * 16, gy.GetValue((me + 1) % all * 16)); }";
std::string exchange(const std::string& mine, const std::string& all, const std::string& meet) {
  return "#define MINE " + mine + "\n#define MEETING " + all + "\n#define MEET " + meet + "\n" + kExchange;
}

TEST_F(Cores, meet_in_every_mode) {
  const struct {
    const char *kind, *mine, *all, *meet;
    int blocks;
  } cases[] = {
      {"__vector__", "true", "4", "CrossCoreSetFlag<0, PIPE_S>(1); CrossCoreWaitFlag(1)", 4},
      {"__mix__(1, 2)", "g_coreType == AIV", "6",
       "if (MINE) { CrossCoreSetFlag<0, PIPE_S>(1); CrossCoreWaitFlag(1); }", 3},
      {"__mix__(1, 2)", "g_coreType == AIV", "2",
       "if (MINE) { CrossCoreSetFlag<1, PIPE_S>(7); CrossCoreWaitFlag(7); }", 1},
      {"__mix__(1, 2)", "g_coreType == AIV", "6", "if (MINE) { SyncAll(); }", 3},
      {"__mix__(1, 2)", "g_coreType == AIV", "6", "SyncAll<false>()", 3},
      {"__cube__", "true", "4", "SyncAll<false>()", 4},
      {"__vector__", "true", "2",
       "LocalTensor<int32_t> none; GlobalTensor<int32_t> place; IBSet(place, none, me, 0); IBWait(place, "
       "none, 1 - me, 0)",
       2},
  };
  for (const auto& c : cases) {
    const RunReport report = run_cores(c.kind, c.blocks, exchange(c.mine, c.all, c.meet));
    EXPECT_EQ(faults(report), "") << c.kind << " " << c.meet;
    const auto y = values_of(report.outputs[0]);
    const int all = std::stoi(c.all);
    for (int i = 0; i < all; ++i)
      EXPECT_EQ(y[static_cast<std::size_t>(512 + i * 16)], static_cast<float>((i + 1) % all + 1)) << c.meet;
    EXPECT_TRUE(found(run_cores(c.kind, c.blocks, exchange(c.mine, c.all, "")), "block_conflict")) << c.kind;
  }
}

TEST_F(Cores, a_flag_that_is_set_too_often_is_refused) {
  const RunReport report =
      run_cores("__mix__(1, 1)", 1,
                "if ASCEND_IS_AIC { for (int i = 0; i < 16; ++i) CrossCoreSetFlag<2, PIPE_FIX>(1); }");
  EXPECT_TRUE(found(report, "cross_flag_overflow")) << faults(report);
}

TEST_F(Cores, a_flag_that_nobody_waits_for_is_a_note) {
  const RunReport report =
      run_cores("__mix__(1, 1)", 2, "if ASCEND_IS_AIC { CrossCoreSetFlag<2, PIPE_FIX>(9); }");
  EXPECT_EQ(report.end, RunEnd::kComplete);
  EXPECT_EQ(faults(report), "");
  EXPECT_TRUE(found(report, "flag_left_set"));
}

TEST_F(Cores, those_that_wait_for_each_other_are_a_deadlock) {
  const RunReport report =
      run_cores("__mix__(1, 1)", 2,
                "if ASCEND_IS_AIC { CrossCoreWaitFlag(1); CrossCoreSetFlag<2, PIPE_FIX>(2); }\n"
                "if ASCEND_IS_AIV { CrossCoreWaitFlag(2); CrossCoreSetFlag<2, PIPE_MTE3>(1); }");
  EXPECT_TRUE(found(report, "cross_core_deadlock")) << faults(report);
  EXPECT_EQ(report.end, RunEnd::kAborted);
}

}  // namespace
}  // namespace evk::twin::testing
