// npu-twin: the twin alone. Compiles an Ascend C project and runs it on the simulated device.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <memory>

#include "twin/cli/calibration_report.h"
#include "twin/cli/check.h"
#include "twin/cli/report.h"
#include "twin/cli/tensors.h"
#include "twin/program/child.h"
#include "twin/program/project.h"

namespace evk::twin {
namespace {

namespace fs = std::filesystem;
constexpr int kDone = 0, kFound = 1, kUnable = 3;

struct Options {
  std::string project, op, device = "ascend910b1", dump, csv, transport = "ring";
  std::vector<std::string> inputs, outputs;
  std::uint64_t seed = 1;
  int limit_s = 120;
  bool json = false, timing_only = false, profile = false;
};

fs::path executable_folder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

Result<std::string> twin_folder() {
  for (fs::path folder = executable_folder(); folder.has_relative_path(); folder = folder.parent_path()) {
    std::error_code ignored;
    if (fs::is_directory(folder / "twin" / "devices", ignored)) return (folder / "twin").string();
  }
  return failure("cannot find twin/devices above the program", Retry::kAfterFix);
}

// A folder in /tmp that goes away with its object.
class ScratchFolder {
 public:
  ScratchFolder() { valid_ = ::mkdtemp(name_) != nullptr; }
  ~ScratchFolder() {
    std::error_code ignored;
    if (valid_) fs::remove_all(name_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  bool valid() const { return valid_; }
  std::string path() const { return name_; }

 private:
  char name_[24] = "/tmp/npu-twin-XXXXXX";
  bool valid_ = false;
};

Result<Launch> launch_of(const Options& o) {
  Launch launch;
  launch.op = o.op;
  launch.move_data = !o.timing_only;
  launch.poison = o.seed;
  for (std::size_t i = 0; i < o.inputs.size(); ++i) {
    EVK_TRY(auto tensor, parse_tensor(o.inputs[i], fmt::format("input{}", i), launch.move_data, o.seed));
    launch.inputs.push_back(std::move(tensor));
  }
  for (std::size_t j = 0; j < o.outputs.size(); ++j) {
    EVK_TRY(auto tensor, parse_tensor(o.outputs[j], fmt::format("output{}", j), false, o.seed));
    launch.outputs.push_back(std::move(tensor));
  }
  return launch;
}

void print_json(const nlohmann::json& j) {
  fmt::print("{}\n", j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

Status dump(const RunReport& report, const std::string& folder) {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  for (std::size_t j = 0; j < report.outputs.size(); ++j) {
    const std::string path = folder + "/output" + std::to_string(j);
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(report.outputs[j].data()),
              static_cast<std::streamsize>(report.outputs[j].size()));
    if (!out) return failure("cannot write " + path, Retry::kAfterFix);
  }
  return {};
}

// The operator's name: as given, or that of the one kernel source.
Result<std::string> op_of(const Options& o) {
  if (!o.op.empty()) return o.op;
  std::error_code ignored;
  if (fs::is_regular_file(o.project, ignored)) return fs::path(o.project).stem().string();
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(o.project) / "op_kernel", ignored))
    if (entry.path().extension() == ".cpp") names.push_back(entry.path().stem().string());
  if (names.size() == 1) return names[0];
  return failure(
      fmt::format("{}: {} sources in op_kernel; name the operator by --op", o.project, names.size()),
      Retry::kAfterFix);
}

// What a command needs to run a launch, again and again if it likes.
class Workplace {
 public:
  // Fails if the machine is not fit, not if the project does not compile.
  static Result<std::unique_ptr<Workplace>> open(const Options& o) {
    auto place = std::make_unique<Workplace>(o);
    EVK_TRY(place->options_.op, op_of(o));
    EVK_TRY(const auto twin, twin_folder());
    EVK_TRY(place->device, find_device(twin + "/devices", o.device));
    EVK_TRY(place->launch, launch_of(place->options_));
    if (!place->folder_.valid()) return failure("cannot create a folder in /tmp", Retry::kAfterFix);
    place->recipe_ = build_recipe(twin, (executable_folder() / "npu-program").string());
    return place;
  }
  explicit Workplace(Options o) : options_(std::move(o)) {}
  // The error's message is the compiler's output.
  Status build() {
    const std::string project = fs::absolute(options_.project).lexically_normal().string();
    EVK_TRY(object_, build_project(recipe_, project, options_.op, folder_.path()));
    return {};
  }
  // REQUIRES: built.
  Result<RunReport> run(const Launch& what) const {
    return options_.transport == "direct"
               ? run_direct(device, what, object_)
               : run_in_child(device, what, object_, recipe_.program, std::chrono::seconds(options_.limit_s));
  }
  Device device;
  Launch launch;

 private:
  Options options_;
  ScratchFolder folder_;
  BuildRecipe recipe_;
  std::string object_;
};

Result<int> run(const Options& o) {
  EVK_TRY(const auto place, Workplace::open(o));
  if (const Status built = place->build(); !built) {
    fmt::print(stderr, "{}\nthe project does not compile\n", built.error().message);
    return kFound;
  }
  EVK_TRY(const RunReport report, place->run(place->launch));
  if (!o.dump.empty()) EVK_TRY_STATUS(dump(report, o.dump));
  if (!o.csv.empty()) EVK_TRY_STATUS(write_csv(report.profile, place->device, o.csv));
  if (o.json)
    print_json(to_json(report, place->launch.outputs, place->device));
  else
    show(report, place->launch.outputs);
  if (o.profile && !o.json) show_profile(report.profile, place->device);
  return report.end == RunEnd::kComplete && !report.faulted() ? kDone : kFound;
}

Result<int> check_project(const Options& o) {
  EVK_TRY(const auto place, Workplace::open(o));
  CheckReport report;
  if (const Status built = place->build(); !built) {
    report = does_not_compile(built.error().message);
  } else {
    EVK_TRY(report, check(place->launch, [&](const Launch& launch) { return place->run(launch); }));
  }
  if (o.json)
    print_json(to_json(report));
  else
    show(report);
  return report.clean() ? kDone : kFound;
}

struct CalibrateOptions {
  std::string device;
  bool json = false;
};

Result<int> calibrate_all(const CalibrateOptions& o) {
  EVK_TRY(const auto twin, twin_folder());
  std::vector<CalibrationRow> rows;
  for (const std::string& name : o.device.empty() ? calibrated_devices() : std::vector{o.device}) {
    EVK_TRY(const auto device, find_device(twin + "/devices", name));
    EVK_TRY(const auto of_device, calibrate(device));
    rows.insert(rows.end(), of_device.begin(), of_device.end());
  }
  if (rows.empty())
    return failure(
        fmt::format("no measurement of {} is published; leave --device out to see those that are", o.device),
        Retry::kAfterFix);
  return report_calibration(rows, o.json) ? kDone : kFound;
}

const char* const kCalibrateFooter = R"(
A row is one published measurement of a chip: what was measured, what the twin says of the same work, how far apart they
are, how far apart they may be. All rows of a chip share its file twin/devices/NAME.toml; where a row is off, the
model or the file is. Rows marked "not covered" say what the twin lacks for them, and count neither way.

Example:
  npu-twin calibrate --device ascend910b1

Exit status: 0 every covered row is within its tolerance, 1 some row is not, 2 usage, 3 unable to run.)";

const char* const kFooter = R"(
A project is a folder:
  op_host/NAME.cpp         tiling function, OpDef registration, OP_ADD
  op_host/NAME_tiling.h    BEGIN_TILING_DATA_DEF ... REGISTER_TILING_DATA_CLASS (optional)
  op_kernel/NAME.cpp       extern "C" __global__ __aicore__ void NAME(GM_ADDR inputs..., GM_ADDR outputs...,
                           GM_ADDR workspace, GM_ADDR tiling)

Example, z = x + y on random input:
  npu-twin run tests/twin/projects/add --input f32:64x1000 --input f32:64x1000 --output f32:64x1000

Exit status: 0 complete and clean, 1 findings or compile errors, 2 usage, 3 unable to run. All times are simulated: they
come from the device file's cost model, not from a device.)";

const char* const kCheckFooter = R"(
The kernel runs on these shapes with every check on: races, bounds, capacity, queues, synchronisation, instructions that
the device lacks, output bytes that nothing wrote. If that is clean it runs twice more, with its blocks in the opposite
order and with other bytes in all memories before; outputs that change are findings too. A race is found on the path
that was run: check several shapes, one with a short last tile.

Example:
  npu-twin check tests/twin/projects/direct/scale_add.asc --input f32:1003 --input f32:1003 --output f32:1003

Exit status: 0 nothing but notes, 1 findings or compile errors, 2 usage, 3 unable to run.)";

void add_launch_options(CLI::App& run, Options& o) {
  run.add_option("PROJECT", o.project, "Folder of the operator project, or a direct-launch file NAME.asc")
      ->required();
  run.add_option("--op", o.op, "Name of operator and kernel function; left out, that of the one source file");
  run.add_option(
      "--input", o.inputs,
      "An input: TYPE:SIZES[:random|:FILE], as f32:64x128:x.bin; in the order of the kernel's arguments");
  run.add_option("--output", o.outputs, "An output: TYPE:SIZES");
  run.add_option("--device", o.device, "A device file of twin/devices")->capture_default_str();
  run.add_option("--seed", o.seed, "Of random inputs, and of what uninitialised memory holds")
      ->capture_default_str();
  run.add_option("--transport", o.transport,
                 "Where the kernel runs: in a child process (ring) or in this one (direct)")
      ->check(CLI::IsMember({"ring", "direct"}))
      ->capture_default_str();
  run.add_option("--limit-s", o.limit_s, "Seconds after which a child is ended")->capture_default_str();
  run.add_flag("--json", o.json, "One JSON object instead of text");
}

void add_options(CLI::App& run, Options& o) {
  add_launch_options(run, o);
  run.add_option("--dump", o.dump, "Folder for the outputs' bytes: output0, output1, ...");
  run.add_flag("--timing-only", o.timing_only, "Move no data: times and checks only, cheap at any size");
  run.add_flag("--profile", o.profile, "What bounds the kernel, as a table");
  run.add_option("--csv", o.csv, "File for the pipes' times under the names of PipeUtilization.csv");
  run.footer(kFooter);
}

}  // namespace
}  // namespace evk::twin

int main(int argc, char** argv) {
  CLI::App app{
      "npu-twin compiles Ascend C on this machine and runs it on a simulated Atlas A2: results, races, "
      "bounds "
      "errors, cycles."};
  app.require_subcommand(1);
  evk::twin::Options options;
  CLI::App* run = app.add_subcommand("run", "Compile and run an operator project or a direct-launch file");
  evk::twin::add_options(*run, options);
  CLI::App* check = app.add_subcommand("check", "All that is wrong with a project or a direct-launch file");
  evk::twin::add_launch_options(*check, options);
  check->footer(evk::twin::kCheckFooter);
  evk::twin::CalibrateOptions calibration;
  CLI::App* calibrate = app.add_subcommand("calibrate", "Published measurements against simulated ones");
  calibrate->add_option("--device", calibration.device, "Only the measurements of this device");
  calibrate->add_flag("--json", calibration.json, "One JSON object instead of a table");
  calibrate->footer(evk::twin::kCalibrateFooter);
  app.footer("npu-twin run --help shows the layout of a project and an example.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  const auto code = *calibrate ? evk::twin::calibrate_all(calibration)
                    : *check   ? evk::twin::check_project(options)
                               : evk::twin::run(options);
  if (code) return *code;
  fmt::print(stderr, "error: {}\n", code.error().text());
  return evk::twin::kUnable;
}
