// For tests: compiles a kernel given as text, with a plain host side, and runs it through a transport.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "twin/program/child.h"
#include "twin/program/project.h"

namespace evk::twin::testing {

enum class Transport { kDirect, kRing };

inline LaunchTensor floats(const std::string& name, std::vector<std::int64_t> shape,
                           const std::vector<float>& values) {
  LaunchTensor t{name, abi::DType::kF32, std::move(shape), std::vector<std::byte>(values.size() * 4)};
  std::memcpy(t.data.data(), values.data(), t.data.size());
  return t;
}
inline LaunchTensor empty(const std::string& name, std::vector<std::int64_t> shape,
                          abi::DType dtype = abi::DType::kF32) {
  return {name, dtype, std::move(shape), {}};
}
template <typename T = float>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}
inline std::vector<float> ramp(std::size_t n, float step = 1, float first = 0) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = first + step * static_cast<float>(i);
  return values;
}

class KernelBench : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/evk-twin-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    const auto device = find_device(EVK_SOURCE_DIR "/twin/devices", "ascend910b1");
    ASSERT_TRUE(device) << device.error().text();
    device_ = *device;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static BuildRecipe recipe() { return build_recipe(EVK_SOURCE_DIR "/twin", EVK_PROGRAM); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + path).parent_path());
    std::ofstream(folder_ + "/" + path) << text;
  }

  // The shared object of a project in this repository.
  std::string build_sample(const std::string& op) {
    const auto so = build_project(recipe(), EVK_SOURCE_DIR "/tests/twin/projects/" + op, op, folder_);
    EXPECT_TRUE(so) << so.error().text();
    return so.value_or("");
  }

  // Compiles a kernel with the body `code` and the arguments (GM_ADDR x, GM_ADDR y), one input and one output
  // of floats, launched on `blocks` blocks. `data.n` is the input's number of elements.
  Result<std::string> build_kernel(const std::string& code, int blocks = 1, const std::string& before = "") {
    write("p/op_host/probe_tiling.h", R"(#include "register/tilingdata_base.h"
namespace optiling {
BEGIN_TILING_DATA_DEF(ProbeTilingData)
TILING_DATA_FIELD_DEF(uint32_t, n);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Probe, ProbeTilingData)
}
)");
    write("p/op_host/probe.cpp", R"(#include "probe_tiling.h"
#include "register/op_def_registry.h"
static ge::graphStatus Tiling(gert::TilingContext* context) {
  optiling::ProbeTilingData data;
  data.set_n(static_cast<uint32_t>(context->GetInputShape(0)->GetStorageShape().GetShapeSize()));
  context->SetBlockDim()" + std::to_string(blocks) +
                                     R"();
  data.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
  context->GetRawTilingData()->SetDataSize(data.GetDataSize());
  context->GetWorkspaceSizes(1)[0] = 4096;
  return ge::GRAPH_SUCCESS;
}
namespace ops {
struct Probe : OpDef {
  explicit Probe(const char* name) : OpDef(name) {
    Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_FLOAT16}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
    Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_FLOAT16}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
    AICore().SetTiling(Tiling).AddConfig("ascend910b");
  }
};
OP_ADD(Probe);
}
)");
    write("p/op_kernel/probe.cpp",
          "#include \"kernel_operator.h\"\nusing namespace AscendC;\n" + before +
              "\nextern \"C\" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y, GM_ADDR "
              "workspace, GM_ADDR tiling) {\n  GET_TILING_DATA(data, tiling);\n" +
              code + "\n}\n");
    return build_project(recipe(), folder_ + "/p", "probe", folder_);
  }

  RunReport run(const std::string& so, const Launch& launch, Transport transport = Transport::kDirect) {
    auto report = transport == Transport::kDirect
                      ? run_direct(device_, launch, so)
                      : run_in_child(device_, launch, so, recipe().program, std::chrono::seconds(60));
    EXPECT_TRUE(report) << report.error().text();
    return report ? *std::move(report) : no_report();
  }

  // Builds and runs a kernel of one input and one output.
  RunReport run_kernel(const std::string& code, const std::vector<float>& x, std::int64_t outputs,
                       int blocks = 1, const std::string& before = "") {
    const auto so = build_kernel(code, blocks, before);
    EXPECT_TRUE(so) << so.error().text();
    if (!so) return no_report();
    Launch launch;
    launch.op = "probe";
    launch.inputs = {floats("x", {static_cast<std::int64_t>(x.size())}, x)};
    launch.outputs = {empty("y", {outputs})};
    return run(*so, launch);
  }

  // Of a run that did not take place: a failure is recorded, and comparisons of outputs may go on.
  static RunReport no_report() {
    RunReport report;
    report.outputs.resize(1);
    return report;
  }

  static std::string faults(const RunReport& report) {
    std::string text;
    for (const auto& f : report.findings)
      if (!f.note) text += f.code + " at " + f.file + ":" + std::to_string(f.line) + ": " + f.message + "\n";
    return text;
  }
  static void expect_clean(const RunReport& report) {
    EXPECT_EQ(report.end, RunEnd::kComplete);
    EXPECT_FALSE(report.faulted()) << faults(report);
  }
  static bool found(const RunReport& report, const std::string& code) {
    for (const auto& f : report.findings)
      if (f.code == code) return true;
    return false;
  }

  std::string folder_;
  Device device_;
};

}  // namespace evk::twin::testing
