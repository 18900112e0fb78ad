// The examples of knowledge/ascendc, each run on the twin (knowledge/README.md says how they are written).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "twin/program/kernel_bench.h"

namespace evk::twin::testing {
namespace {

struct Example {
  std::string file, code;
};

// The blocks of `fence` in every file, in the order of file names.
std::vector<Example> examples(const std::string& fence) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(EVK_SOURCE_DIR "/knowledge/ascendc"))
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Example> found;
  for (const auto& file : files) {
    std::ifstream in(file);
    std::string line, code;
    bool inside = false;
    while (std::getline(in, line)) {
      if (line == fence) {
        inside = true;
      } else if (inside && line == "```") {
        found.push_back({std::filesystem::path(file).stem(), code});
        code.clear();
        inside = false;
      } else if (inside) {
        code += line + "\n";
      }
    }
  }
  return found;
}

// What an example finds: three tensors of floats, two of halves, and so on, filled and in order.
constexpr const char* kBefore = R"(
#define EVK_EXAMPLE_BEGIN(name)                                                                             \
  __aicore__ inline void name(GM_ADDR gmx, GM_ADDR gmy) {                                                   \
    constexpr uint32_t count = 256;                                                                         \
    TPipe pipe;                                                                                             \
    TBuf<TPosition::VECCALC> bx, by, bz, bh, bg, bi, bj, bs, bt, bu, bo;                                    \
    pipe.InitBuffer(bx, 4096); pipe.InitBuffer(by, 4096); pipe.InitBuffer(bz, 4096);                        \
    pipe.InitBuffer(bh, 2048); pipe.InitBuffer(bg, 2048); pipe.InitBuffer(bi, 4096);                        \
    pipe.InitBuffer(bj, 4096); pipe.InitBuffer(bs, 2048); pipe.InitBuffer(bt, 2048);                        \
    pipe.InitBuffer(bu, 4096); pipe.InitBuffer(bo, 4096);                                                   \
    LocalTensor<float> x = bx.Get<float>(), y = by.Get<float>(), z = bz.Get<float>();                       \
    LocalTensor<half> h = bh.Get<half>(), g = bg.Get<half>();                                               \
    LocalTensor<int32_t> i = bi.Get<int32_t>(), j = bj.Get<int32_t>();                                      \
    LocalTensor<int16_t> s = bs.Get<int16_t>(), t = bt.Get<int16_t>();                                      \
    LocalTensor<uint8_t> u = bu.Get<uint8_t>();                                                             \
    LocalTensor<uint32_t> o = bo.Get<uint32_t>();                                                           \
    GlobalTensor<float> source, result;                                                                     \
    source.SetGlobalBuffer((__gm__ float*)gmx, 1024);                                                       \
    result.SetGlobalBuffer((__gm__ float*)gmy, 1024);                                                       \
    Duplicate(x, 1.5f, 1024); Duplicate(y, 2.0f, 1024); Duplicate(z, 0.0f, 1024);                           \
    Duplicate(h, (half)1.5f, 1024); Duplicate(g, (half)2.0f, 1024);                                         \
    Duplicate(i, 5, 1024); Duplicate(j, 3, 1024);                                                           \
    Duplicate(s, (int16_t)5, 1024); Duplicate(t, (int16_t)3, 1024);                                         \
    Duplicate(u.ReinterpretCast<int32_t>(), 0, 1024); Duplicate(o.ReinterpretCast<int32_t>(), 0, 1024);     \
    PipeBarrier<PIPE_ALL>();
#define EVK_EXAMPLE_END }
)";

class Examples : public KernelBench {};

TEST_F(Examples, of_kernels_run_without_a_fault) {
  const auto all = examples("```cpp run");
  ASSERT_GE(all.size(), 70u);
  std::string before = kBefore, body = "switch (data.n - 4096) {\n";
  for (std::size_t k = 0; k < all.size(); ++k) {
    before += "EVK_EXAMPLE_BEGIN(example_" + std::to_string(k) + ")\n" + all[k].code + "EVK_EXAMPLE_END\n";
    body += "  case " + std::to_string(k) + ": return example_" + std::to_string(k) + "(x, y);\n";
  }
  const auto so = build_kernel(body + "}\n", 1, before);
  ASSERT_TRUE(so) << so.error().text();
  for (std::size_t k = 0; k < all.size(); ++k) {
    Launch launch;
    launch.op = "probe";
    launch.inputs = {floats("x", {static_cast<std::int64_t>(4096 + k)}, ramp(4096 + k, 0.001f, 0.5f))};
    launch.outputs = {empty("y", {1024})};
    const RunReport report = run(*so, launch);
    EXPECT_EQ(report.end, RunEnd::kComplete) << all[k].file;
    for (const Finding& finding : report.findings)
      EXPECT_TRUE(finding.note) << all[k].file << ": " << finding.code << ": " << finding.message << "\n"
                                << all[k].code;
  }
}

TEST_F(Examples, of_tiling_run) {
  const auto all = examples("```cpp host");
  ASSERT_GE(all.size(), 8u);
  std::string host =
      "#include \"register/op_def_registry.h\"\n#include \"tiling/platform/platform_ascendc.h\"\n";
  std::string table;
  for (std::size_t k = 0; k < all.size(); ++k) {
    host += "static ge::graphStatus host_" + std::to_string(k) + "(gert::TilingContext* context) {\n" +
            all[k].code + "  return ge::GRAPH_SUCCESS;\n}\n";
    table += (k ? ", host_" : "host_") + std::to_string(k);
  }
  host +=
      "static ge::graphStatus Tiling(gert::TilingContext* context) {\n"
      "  ge::graphStatus (*const all[])(gert::TilingContext*) = {" +
      table +
      "};\n"
      "  return all[context->GetInputShape(0)->GetStorageShape().GetDim(0) - 1](context);\n}\n"
      "namespace ops {\nstruct Probe : OpDef {\n  explicit Probe(const char* name) : OpDef(name) {\n"
      "    Input(\"x\").ParamType(REQUIRED).DataType({ge::DT_FLOAT});\n"
      "    Output(\"y\").ParamType(REQUIRED).DataType({ge::DT_FLOAT});\n"
      "    Attr(\"eps\").AttrType(OPTIONAL).Float(1e-5);\n"
      "    AICore().SetTiling(Tiling).AddConfig(\"ascend910b\");\n  }\n};\nOP_ADD(Probe);\n}\n";
  write("p/op_host/probe.cpp", host);
  write("p/op_kernel/probe.cpp",
        "#include \"kernel_operator.h\"\nextern \"C\" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y, "
        "GM_ADDR "
        "workspace, GM_ADDR tiling) {}\n");
  const auto so = build_project(recipe(), folder_ + "/p", "probe", folder_);
  ASSERT_TRUE(so) << so.error().text();
  for (std::size_t k = 0; k < all.size(); ++k) {
    Launch launch;
    launch.op = "probe";
    launch.tiling_only = true;
    const auto n = static_cast<std::int64_t>(k + 1);
    launch.inputs = {floats("x", {n, 3}, ramp(static_cast<std::size_t>(n) * 3))};
    launch.outputs = {empty("y", {1})};
    const RunReport report = run(*so, launch);
    EXPECT_EQ(report.end, RunEnd::kComplete) << all[k].file;
    for (const Finding& finding : report.findings)
      EXPECT_TRUE(finding.note) << all[k].file << ": " << finding.message;
  }
}

}  // namespace
}  // namespace evk::twin::testing
