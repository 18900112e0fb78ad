#include "backend/ascendc_twin.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "backend/compile_step.h"
#include "backend/object_check.h"
#include "backend/twin_report.h"
#include "base/check.h"
#include "base/sha256.h"
#include "sandbox/child.h"

namespace evk {
namespace {

constexpr std::string_view kVersion = "ascendc_twin 1";
constexpr std::uint64_t kStateMax = 64 * 1024, kConstantsMax = 128 * 1024;

twin::abi::DType abi_type(DType type) {
  switch (type) {
    case DType::kFloat32:
      return twin::abi::DType::kF32;
    case DType::kFloat16:
      return twin::abi::DType::kF16;
    case DType::kBFloat16:
      return twin::abi::DType::kBf16;
    case DType::kFloat64:
      return twin::abi::DType::kF64;
    case DType::kInt8:
      return twin::abi::DType::kI8;
    case DType::kUInt8:
      return twin::abi::DType::kU8;
    case DType::kInt16:
      return twin::abi::DType::kI16;
    case DType::kInt32:
      return twin::abi::DType::kI32;
    case DType::kInt64:
      return twin::abi::DType::kI64;
    case DType::kBool:
      return twin::abi::DType::kBool;
  }
  return twin::abi::DType::kNone;
}

twin::LaunchTensor launch_tensor(const BackendTensor& tensor) {
  return {tensor.name, abi_type(tensor.type.dtype), tensor.type.shape, tensor.data, tensor.padding_bytes};
}

Finding object_finding(std::string code, std::string message, std::string remedy) {
  Finding finding;
  finding.code = std::move(code);
  finding.message = std::move(message);
  finding.remedy = std::move(remedy);
  return finding;
}

// What the source's words did not show.
std::vector<Finding> check_object(const ObjectFacts& facts) {
  std::vector<Finding> findings;
  for (const ObjectSymbol& symbol : facts.symbols) {
    if (symbol.defined || symbol.name.empty() || allowed_symbol(symbol.name)) continue;
    findings.push_back(object_finding(
        "object.symbol",
        fmt::format("the code calls '{}', which a kernel has no use for or which does not exist",
                    symbol.name.substr(0, 120)),
        "use the Ascend C interface"));
    if (findings.size() == 5) return findings;
  }
  if (facts.data_bytes + facts.bss_bytes + facts.thread_bytes > kStateMax) {
    findings.push_back(object_finding("object.state",
                                      fmt::format("the code keeps {} bytes of writable data",
                                                  facts.data_bytes + facts.bss_bytes + facts.thread_bytes),
                                      "use local variables, buffers of TPipe or the workspace"));
  }
  if (facts.constant_bytes > kConstantsMax) {
    findings.push_back(object_finding(
        "object.constants", fmt::format("the code holds {} bytes of constants", facts.constant_bytes),
        "compute the values"));
  }
  return findings;
}

class AscendCTwin final : public Backend {
 public:
  AscendCTwin(AscendCTwinConfig config, twin::Device device, twin::BuildRecipe recipe,
              std::unique_ptr<CompileStep> step, std::string fingerprint)
      : config_(std::move(config)),
        device_(std::move(device)),
        recipe_(std::move(recipe)),
        step_(std::move(step)),
        fingerprint_(std::move(fingerprint)) {}

  Result<BuildOutcome> build(const Candidate& candidate) override {
    EVK_TRY(BuildOutcome outcome, step_->build(candidate));
    const auto* built = std::get_if<Built>(&outcome);
    if (built == nullptr) return outcome;
    EVK_TRY(const ObjectFacts facts, read_object(built->library));
    if (std::vector<Finding> findings = check_object(facts); !findings.empty())
      return BuildOutcome(BuildFailed{std::move(findings), {}});
    return outcome;
  }

  Result<RunResult> run(const Built& built, const RunRequest& request) override {
    EVK_TRY(const std::unique_ptr<twin::RingSession> session,
            twin::RingSession::create(device_, launch_of(request)));
    EVK_TRY(const std::unique_ptr<Child> child, Child::start(child_spec(built, session->program_fd())));
    const auto deadline = std::chrono::steady_clock::now() + config_.run_wall;
    twin::RunReport report = session->serve(deadline, [&] { return child->alive(); });
    // An orderly program is about to leave by itself; any other has had its chance.
    if (report.end != twin::RunEnd::kComplete && report.end != twin::RunEnd::kAborted && child->alive())
      child->kill();
    EVK_TRY(const ChildEnd end, settled(*child, report.end));
    return result_of(std::move(report), end, device_);
  }

  double floor_ns(std::uint64_t gm_bytes) const override {
    return static_cast<double>(gm_bytes) / device_.at("gm.total_bytes_per_cycle") / device_.clock_ghz;
  }

  std::string fingerprint() const override { return fingerprint_; }

 private:
  twin::Launch launch_of(const RunRequest& request) const {
    twin::Launch launch;
    launch.op = request.op;
    for (const BackendTensor& tensor : request.inputs) launch.inputs.push_back(launch_tensor(tensor));
    for (const BackendTensor& tensor : request.outputs) launch.outputs.push_back(launch_tensor(tensor));
    launch.poison = request.poison;
    launch.move_data = request.move_data;
    launch.records_max = config_.records_max;
    if (request.reversed_blocks) {
      // The block dim is not known before the tiling; applied modulo a smaller one, a descent stays a
      // descent.
      for (std::uint32_t i = 0; i < 4096; ++i) launch.block_order.push_back(4095 - i);
    }
    return launch;
  }

  ChildSpec child_spec(const Built& built, int program_fd) const {
    ChildSpec spec;
    spec.argv = {recipe_.program, "3", "@in/kernel.so"};
    spec.read_only_paths = runtime_paths();
    spec.read_only_paths.push_back(recipe_.program);
    spec.descriptors = {{program_fd, 3}};
    spec.files = {{"kernel.so", built.library}};
    spec.scratch_bytes = 1 << 20;
    spec.limits.wall = config_.run_wall;
    spec.limits.cpu_seconds = config_.run_cpu_seconds;
    spec.limits.address_space_bytes = 4ull << 30;
    spec.limits.memory_bytes = 1ull << 30;
    spec.limits.file_bytes = 1 << 20;
    return spec;
  }

  // After a complete run the child's own end no longer matters, but a program that lingers is not waited for.
  static Result<ChildEnd> settled(Child& child, twin::RunEnd end) {
    if (end == twin::RunEnd::kComplete) {
      const auto patience = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
      while (child.alive() && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
      child.kill();
    }
    return child.wait();
  }

  const AscendCTwinConfig config_;
  const twin::Device device_;
  const twin::BuildRecipe recipe_;
  const std::unique_ptr<CompileStep> step_;
  const std::string fingerprint_;
};

Result<std::string> text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return failure(fmt::format("{} cannot be read", path), Retry::kAfterFix);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string fingerprint_of(const AscendCTwinConfig& config, const std::string& device,
                           const std::string& program, const std::string& headers) {
  Sha256 hash;
  hash.field(kVersion).field(device).field(program).field(headers);
  for (const auto number : {static_cast<std::uint64_t>(config.compile_cpu_seconds),
                            static_cast<std::uint64_t>(config.run_cpu_seconds),
                            static_cast<std::uint64_t>(config.run_wall.count()), config.records_max}) {
    hash.field(std::to_string(number));
  }
  return hash.hex();
}

}  // namespace

std::string default_backend_cache() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::string(cache) + "/evokernel";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr && *home == '/' ? home : "/tmp") + "/.cache/evokernel";
}

Result<std::unique_ptr<Backend>> make_ascendc_twin(const AscendCTwinConfig& given) {
  AscendCTwinConfig config = given;
  if (config.cache_dir.empty()) config.cache_dir = default_backend_cache();
  std::error_code error;
  config.cache_dir = std::filesystem::absolute(config.cache_dir, error).string();
  EVK_TRY(const std::string device_text, text_of(config.device_file));
  EVK_TRY(twin::Device device, twin::load_device(config.device_file));
  twin::BuildRecipe recipe = twin::build_recipe(config.twin_dir, config.program);
  EVK_TRY(std::unique_ptr<CompileStep> step, CompileStep::create(config, recipe));
  EVK_TRY(const std::string program, text_of(recipe.program));
  std::string fingerprint = fingerprint_of(config, device_text, program, step->version());
  return std::unique_ptr<Backend>(std::make_unique<AscendCTwin>(
      std::move(config), std::move(device), std::move(recipe), std::move(step), std::move(fingerprint)));
}

}  // namespace evk
