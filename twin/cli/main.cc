// npu-twin: the twin alone. Compiles an operator project and runs it on the simulated device.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "twin/engine/session.h"
#include "twin/program/child.h"
#include "twin/program/project.h"

namespace evk::twin {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string project, op, device = "ascend910b1", dump;
  std::vector<std::string> inputs, outputs;
  bool json = false, timing_only = false;
};

std::string executable_folder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path().string();
}

Result<std::string> twin_folder() {
  for (fs::path folder = executable_folder(); folder.has_relative_path(); folder = folder.parent_path()) {
    std::error_code ignored;
    if (fs::is_directory(folder / "twin" / "devices", ignored)) return (folder / "twin").string();
  }
  return failure("cannot find twin/devices above the program", Retry::kAfterFix);
}

Result<abi::DType> dtype_named(const std::string& name) {
  static const std::map<std::string, abi::DType> names = {
      {"f32", abi::DType::kF32}, {"f16", abi::DType::kF16}, {"bf16", abi::DType::kBf16},
      {"i8", abi::DType::kI8},   {"i16", abi::DType::kI16}, {"i32", abi::DType::kI32},
      {"i64", abi::DType::kI64}, {"u8", abi::DType::kU8}};
  const auto found = names.find(name);
  if (found == names.end())
    return failure(fmt::format("'{}' is no type; there are f32, f16, bf16, i8, i16, i32, i64, u8", name));
  return found->second;
}

// "f32:64x128[:FILE]"
Result<LaunchTensor> parse_tensor(const std::string& text, const std::string& name, bool with_data,
                                  bool move_data) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == ':' && parts.size() < 3)
      parts.emplace_back();
    else
      parts.back() += c;
  if (parts.size() < 2) return failure(fmt::format("'{}': write a tensor as f32:64x128", text));
  LaunchTensor tensor;
  tensor.name = name;
  EVK_TRY(tensor.dtype, dtype_named(parts[0]));
  std::uint64_t bytes = abi::bytes_of(tensor.dtype);
  std::stringstream sizes(parts[1]);
  for (std::string size; std::getline(sizes, size, 'x');) {
    const long long n = std::atoll(size.c_str());
    if (n < 1 || n > (1ll << 32)) return failure(fmt::format("'{}': sizes are positive numbers", text));
    tensor.shape.push_back(n);
    bytes *= static_cast<std::uint64_t>(n);
    if (bytes > (1ull << 34)) return failure(fmt::format("'{}': larger than 16 GiB", text));
  }
  if (!with_data || !move_data) return tensor;
  tensor.data.resize(bytes);
  if (parts.size() == 3) {
    std::ifstream in(parts[2], std::ios::binary);
    if (!in.read(reinterpret_cast<char*>(tensor.data.data()), static_cast<std::streamsize>(bytes)))
      return failure(fmt::format("{}: cannot read {} bytes", parts[2], bytes));
  } else if (tensor.dtype == abi::DType::kF32) {
    Random random(hash64(name));
    for (std::uint64_t at = 0; at < bytes; at += 4) {
      const auto v = static_cast<float>(random.uniform() * 4 - 2);
      std::memcpy(tensor.data.data() + at, &v, 4);
    }
  }
  return tensor;
}

std::string end_text(RunEnd end) {
  switch (end) {
    case RunEnd::kComplete:
      return "complete";
    case RunEnd::kTilingFailed:
      return "tiling failed";
    case RunEnd::kAborted:
      return "aborted";
    case RunEnd::kTimedOut:
      return "timed out";
    case RunEnd::kRunaway:
      return "runaway";
  }
  return "aborted";
}

nlohmann::json to_json(const RunReport& r) {
  nlohmann::json findings = nlohmann::json::array(), lines = nlohmann::json::array();
  for (const auto& f : r.findings)
    findings.push_back({{"code", f.code},
                        {"message", f.message},
                        {"remedy", f.remedy},
                        {"file", f.file},
                        {"line", f.line},
                        {"other_line", f.other_line},
                        {"count", f.count},
                        {"note", f.note}});
  const auto& p = r.profile;
  for (const auto& l : p.lines)
    lines.push_back({{"where", l.where}, {"pipe", l.pipe}, {"busy", l.busy}, {"stalled", l.stalled}});
  return {{"schema", 1},
          {"end", end_text(r.end)},
          {"simulated", true},
          {"findings", findings},
          {"trace_hash", r.trace_hash},
          {"profile",
           {{"total_ns", p.total_ns},
            {"launch_ns", p.launch_ns},
            {"block_dim", p.block_dim},
            {"aiv_vec_ratio", p.vec_ratio},
            {"aiv_scalar_ratio", p.scalar_ratio},
            {"aiv_mte2_ratio", p.mte2_ratio},
            {"aiv_mte3_ratio", p.mte3_ratio},
            {"gm_read_bytes", p.gm_read_bytes},
            {"gm_write_bytes", p.gm_write_bytes},
            {"ub_peak_bytes", p.ub_peak_bytes},
            {"bank_conflict_ratio", p.bank_conflict_ratio},
            {"block_imbalance", p.block_imbalance},
            {"lines", lines}}}};
}

void show(const RunReport& r) {
  fmt::print("{}; {} blocks; simulated {:.2f} us + launch {:.2f} us\n", end_text(r.end), r.profile.block_dim,
             r.profile.total_ns / 1e3, r.profile.launch_ns / 1e3);
  fmt::print("busy: vector {:.0f} %, scalar {:.0f} %, load {:.0f} %, store {:.0f} %; UB peak {} bytes\n",
             100 * r.profile.vec_ratio, 100 * r.profile.scalar_ratio, 100 * r.profile.mte2_ratio,
             100 * r.profile.mte3_ratio, r.profile.ub_peak_bytes);
  for (const auto& f : r.findings)
    fmt::print("{}: {}:{}: [{}] {}{}{}\n", f.note ? "note" : "FINDING", f.file, f.line, f.code, f.message,
               f.other_line ? fmt::format(" (other access: line {})", f.other_line) : "",
               f.count > 1 ? fmt::format(" ({} times)", f.count) : "");
  for (std::size_t i = 0; i < r.profile.lines.size() && i < 8; ++i) {
    const auto& l = r.profile.lines[i];
    fmt::print("  {:<40} {:<5} busy {:>10.0f}  stalled {:>10.0f} cycles\n", l.where, l.pipe, l.busy,
               l.stalled);
  }
  if (!r.printed.empty()) fmt::print("printed:\n{}\n", r.printed);
}

Result<int> run(const Options& o) {
  EVK_TRY(const auto twin, twin_folder());
  EVK_TRY(const auto device, find_device(twin + "/devices", o.device));
  Launch launch;
  launch.op = o.op;
  launch.move_data = !o.timing_only;
  launch.poison = 1;
  for (std::size_t i = 0; i < o.inputs.size(); ++i) {
    EVK_TRY(auto tensor, parse_tensor(o.inputs[i], fmt::format("input{}", i), true, launch.move_data));
    launch.inputs.push_back(std::move(tensor));
  }
  for (std::size_t i = 0; i < o.outputs.size(); ++i) {
    EVK_TRY(auto tensor, parse_tensor(o.outputs[i], fmt::format("output{}", i), false, false));
    launch.outputs.push_back(std::move(tensor));
  }
  char folder[] = "/tmp/npu-twin-XXXXXX";
  if (!::mkdtemp(folder)) return failure("cannot create a folder in /tmp", Retry::kAfterFix);
  auto so = build_project(build_recipe(twin, executable_folder() + "/npu-program"), o.project, o.op, folder);
  const auto report = so ? run_direct(device, launch, *so) : tl::unexpected<Error>(so.error());
  fs::remove_all(folder);
  if (!report) return tl::unexpected<Error>(report.error());
  if (!o.dump.empty())
    for (std::size_t j = 0; j < report->outputs.size(); ++j)
      std::ofstream(o.dump + "/output" + std::to_string(j), std::ios::binary)
          .write(reinterpret_cast<const char*>(report->outputs[j].data()),
                 static_cast<std::streamsize>(report->outputs[j].size()));
  if (o.json)
    fmt::print("{}\n", to_json(*report).dump(2));
  else
    show(*report);
  return report->end == RunEnd::kComplete && !report->faulted() ? 0 : 1;
}

}  // namespace
}  // namespace evk::twin

int main(int argc, char** argv) {
  CLI::App app{
      "npu-twin compiles Ascend C on this machine and runs it on a simulated Atlas A2: results, races, "
      "bounds errors, cycles."};
  app.require_subcommand(1);
  CLI::App* run =
      app.add_subcommand("run", "Compile and run an operator project (op_host/<op>.cpp, op_kernel/<op>.cpp)");
  evk::twin::Options options;
  run->add_option("PROJECT", options.project, "Folder of the project")->required();
  run->add_option("--op", options.op, "Name of operator and kernel function")->required();
  run->add_option("--input", options.inputs,
                  "Input as TYPE:SIZES[:FILE], f32:64x128; random without a file; once per input");
  run->add_option("--output", options.outputs, "Output as TYPE:SIZES; once per output");
  run->add_option("--device", options.device, "Device file of twin/devices")->capture_default_str();
  run->add_option("--dump", options.dump, "Folder for the outputs as raw files");
  run->add_flag("--timing-only", options.timing_only,
                "Move no data: times and checks only, cheap at any size");
  run->add_flag("--json", options.json, "One JSON object instead of text");
  CLI11_PARSE(app, argc, argv);
  const auto code = evk::twin::run(options);
  if (code) return *code;
  fmt::print(stderr, "error: {}\n", code.error().text());
  return 3;
}
