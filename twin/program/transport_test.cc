// Both transports, whole projects: equal reports, and the ends that a program may come to.
#include <cmath>

#include "twin/program/kernel_bench.h"

namespace evk::twin::testing {
namespace {

class Transports : public KernelBench {
 protected:
  // Runs by both and requires that nothing differs.
  RunReport both(const std::string& so, const Launch& launch) {
    RunReport direct = run(so, launch, Transport::kDirect);
    const RunReport ring = run(so, launch, Transport::kRing);
    EXPECT_EQ(direct.end, ring.end);
    EXPECT_EQ(direct.outputs, ring.outputs);
    EXPECT_EQ(direct.trace_hash, ring.trace_hash);
    EXPECT_EQ(direct.records, ring.records);
    EXPECT_EQ(direct.profile.total_cycles, ring.profile.total_cycles);
    EXPECT_EQ(direct.findings.size(), ring.findings.size());
    for (std::size_t i = 0; i < std::min(direct.findings.size(), ring.findings.size()); ++i) {
      EXPECT_EQ(direct.findings[i].code, ring.findings[i].code);
      EXPECT_EQ(direct.findings[i].message, ring.findings[i].message);
      EXPECT_EQ(direct.findings[i].line, ring.findings[i].line);
    }
    return direct;
  }
};

TEST_F(Transports, add_is_exact_and_equal_in_both) {
  const std::string so = build_sample("add");
  for (const std::int64_t n : {1, 7, 2048, 5000, 100'003}) {
    std::vector<float> a = ramp(static_cast<std::size_t>(n), 0.25f),
                       b = ramp(static_cast<std::size_t>(n), -3, 17);
    Launch launch;
    launch.op = "add";
    launch.inputs = {floats("x", {n}, a), floats("y", {n}, b)};
    launch.outputs = {empty("z", {n})};
    const RunReport report = both(so, launch);
    expect_clean(report);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    EXPECT_EQ(values_of(report.outputs[0]), a) << n << " elements";
  }
}

TEST_F(Transports, a_direct_launch_file_runs_in_both) {
  const auto so = build_project(recipe(), EVK_SOURCE_DIR "/tests/twin/projects/direct/scale_add.asc",
                                "scale_add", folder_);
  ASSERT_TRUE(so) << so.error().text();
  constexpr std::int64_t kN = 12'345;
  const std::vector<float> x = ramp(kN, 0.5f), y = ramp(kN, -2);
  Launch launch;
  launch.op = "scale_add";
  launch.inputs = {floats("x", {kN}, x), floats("y", {kN}, y)};
  launch.outputs = {empty("z", {kN})};
  const RunReport report = both(*so, launch);
  expect_clean(report);
  EXPECT_EQ(report.profile.block_dim, 7u);
  const std::vector<float> z = values_of(report.outputs[0]);
  for (std::size_t i = 0; i < z.size(); ++i) ASSERT_EQ(z[i], x[i] * 2 + y[i]);
}

TEST_F(Transports, a_second_launch_and_none_are_findings) {
  const auto run_file = [&](const std::string& body) {
    write("two.asc",
          "#include \"kernel_operator.h\"\n__global__ __aicore__ void k(int n) {}\n"
          "extern \"C\" void launch_two(const npu::Tensor*, const npu::Tensor*, aclrtStream s) {" +
              body + "}\n");
    const auto so = build_project(recipe(), folder_ + "/two.asc", "two", folder_);
    EXPECT_TRUE(so) << so.error().text();
    Launch launch;
    launch.op = "two";
    launch.inputs = {floats("x", {8}, ramp(8))};
    launch.outputs = {empty("y", {8})};
    return both(so.value_or(""), launch);
  };
  EXPECT_EQ(run_file("k<<<2, nullptr, s>>>(3);").end, RunEnd::kComplete);
  EXPECT_TRUE(found(run_file("k<<<2, nullptr, s>>>(3); k<<<2, nullptr, s>>>(3);"), "launch_twice"));
  EXPECT_TRUE(found(run_file(""), "launch_missing"));
  EXPECT_TRUE(found(run_file("k<<<0, nullptr, s>>>(3);"), "block_dim_invalid"));
}

TEST_F(Transports, softmax_is_right_and_equal_in_both) {
  const std::string so = build_sample("softmax");
  constexpr std::int64_t kRows = 60, kColumns = 333;
  std::vector<float> x(kRows * kColumns);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 1000) / 250.0f - 2.0f;
  Launch launch;
  launch.op = "softmax";
  launch.inputs = {floats("x", {kRows, kColumns}, x)};
  launch.outputs = {empty("y", {kRows, kColumns})};
  const RunReport report = both(so, launch);
  expect_clean(report);
  const std::vector<float> y = values_of(report.outputs[0]);
  for (std::size_t row = 0; row < kRows; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < kColumns; ++i) sum += std::exp(static_cast<double>(x[row * kColumns + i]));
    for (std::size_t i = 0; i < kColumns; ++i)
      ASSERT_NEAR(y[row * kColumns + i], std::exp(static_cast<double>(x[row * kColumns + i])) / sum, 1e-7);
  }
}

TEST_F(Transports, blocks_run_in_the_order_that_is_asked_for_with_equal_outputs) {
  const std::string so = build_sample("add");
  const std::vector<float> a = ramp(10'000), b = ramp(10'000, 2);
  Launch launch;
  launch.op = "add";
  launch.inputs = {floats("x", {10'000}, a), floats("y", {10'000}, b)};
  launch.outputs = {empty("z", {10'000})};
  const RunReport ascending = both(so, launch);
  for (std::uint32_t i = 0; i < 4096; ++i) launch.block_order.push_back(4095 - i);
  const RunReport descending = both(so, launch);
  EXPECT_EQ(ascending.outputs, descending.outputs);
}

TEST_F(Transports, a_wild_pointer_is_a_finding_at_the_last_place) {
  const auto so = build_kernel(
      "GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)y);\n  SetFlag<HardEvent::MTE2_V>(0);\n  "
      "*(float*)x = 1;");
  ASSERT_TRUE(so) << so.error().text();
  Launch launch;
  launch.op = "probe";
  launch.inputs = {floats("x", {8}, ramp(8))};
  launch.outputs = {empty("y", {8})};
  const RunReport report = both(*so, launch);
  EXPECT_EQ(report.end, RunEnd::kAborted);
  ASSERT_TRUE(found(report, "crash_memory"));
  EXPECT_EQ(report.findings[0].line, 7) << report.findings[0].file;
}

TEST_F(Transports, deep_recursion_and_writes_to_tiling_data_are_findings) {
  for (const char* code : {"y[0] = Deep(data.n);", "*(uint32_t*)tiling = 3;"}) {
    const auto so = build_kernel(code, 2,
                                 "int Deep(int n) { volatile char big[4096]; big[n & 7] = n; return n < 0 ? "
                                 "0 : Deep(n + 1) + big[3]; }");
    ASSERT_TRUE(so) << so.error().text();
    Launch launch;
    launch.op = "probe";
    launch.inputs = {floats("x", {8}, ramp(8))};
    launch.outputs = {empty("y", {8})};
    EXPECT_TRUE(found(both(*so, launch), "crash_memory")) << code;
  }
}

TEST_F(Transports, a_queue_that_would_hang_ends_the_program) {
  const auto so = build_kernel(
      "TPipe pipe; TQue<TPosition::VECIN, 1> q; pipe.InitBuffer(q, 1, 64);\n  q.AllocTensor<float>(); "
      "q.AllocTensor<float>();");
  ASSERT_TRUE(so) << so.error().text();
  Launch launch;
  launch.op = "probe";
  launch.inputs = {floats("x", {8}, ramp(8))};
  launch.outputs = {empty("y", {8})};
  const RunReport report = both(*so, launch);
  EXPECT_EQ(report.end, RunEnd::kAborted);
  EXPECT_TRUE(found(report, "queue_stalled")) << faults(report);
}

TEST_F(Transports, an_endless_loop_ends_at_the_deadline) {
  const auto so = build_kernel("volatile int forever = 1; while (forever) {}");
  ASSERT_TRUE(so) << so.error().text();
  Launch launch;
  launch.op = "probe";
  launch.inputs = {floats("x", {8}, ramp(8))};
  launch.outputs = {empty("y", {8})};
  const auto report = run_in_child(device_, launch, *so, recipe().program, std::chrono::milliseconds(300));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->end, RunEnd::kTimedOut);
}

TEST_F(Transports, a_tiling_that_refuses_throws_or_asks_for_no_blocks_is_told_apart) {
  const auto run_with = [&](const std::string& tiling) {
    EXPECT_TRUE(build_kernel(""));
    write("p/op_host/probe.cpp",
          "#include \"probe_tiling.h\"\n#include \"register/op_def_registry.h\"\nstatic ge::graphStatus "
          "Tiling(gert::TilingContext* context) { " +
              tiling +
              " }\nnamespace ops { struct Probe : OpDef { explicit Probe(const char* n) : OpDef(n) { "
              "Input(\"x\").DataType({ge::DT_FLOAT}); Output(\"y\").DataType({ge::DT_FLOAT}); "
              "AICore().SetTiling(Tiling).AddConfig(\"ascend910b\"); } }; OP_ADD(Probe); }\n");
    const auto so = build_project(recipe(), folder_ + "/p", "probe", folder_);
    EXPECT_TRUE(so) << so.error().text();
    Launch launch;
    launch.op = "probe";
    launch.inputs = {floats("x", {8}, ramp(8))};
    launch.outputs = {empty("y", {8})};
    return both(so.value_or(""), launch);
  };
  EXPECT_EQ(run_with("return ge::GRAPH_FAILED;").end, RunEnd::kTilingFailed);
  EXPECT_TRUE(found(run_with("return ge::GRAPH_SUCCESS;"), "block_dim_invalid"));
  EXPECT_TRUE(found(run_with("throw 1;"), "tiling_exception"));
  EXPECT_TRUE(found(run_with("return *(int*)8;"), "crash_memory"));
}

// The child is no program of ours: it writes what it likes into the ring.
TEST_F(Transports, a_hostile_ring_ends_without_harm) {
  Launch launch;
  launch.op = "probe";
  launch.inputs = {floats("x", {8}, ramp(8))};
  launch.outputs = {empty("y", {8})};
  write("hostile.cc", R"(#include <sys/mman.h>
#include <sys/stat.h>
#include <cstdlib>
#include <cstdint>
int main() {
  struct stat info; fstat(3, &info);
  auto* at = static_cast<unsigned char*>(mmap(nullptr, info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0));
  uint32_t seed = 12345;
  for (long i = 0; i < 40; ++i)
    for (long k = 0; k < info.st_size; ++k) { seed = seed * 1664525 + 1013904223; at[k] = seed >> 24; }
}
)");
  ASSERT_EQ(std::system(("g++ -O1 -o " + folder_ + "/hostile " + folder_ + "/hostile.cc").c_str()), 0);
  const auto report = run_in_child(device_, launch, "none", folder_ + "/hostile", std::chrono::seconds(5));
  ASSERT_TRUE(report);
  EXPECT_NE(report->end, RunEnd::kComplete);
}

}  // namespace
}  // namespace evk::twin::testing
