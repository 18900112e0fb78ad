#include "task/probe_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sandbox/child.h"
#include "task/safetensors.h"

namespace evk {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kIndexBytesMax = 64 * 1024;
constexpr std::size_t kFilesMax = 256;

// The interpreter's own installation, which may lie outside the system's folders.
void add_installation(const std::string& python, std::vector<std::string>& paths) {
  std::error_code error;
  for (const fs::path& program : {fs::path(python), fs::canonical(python, error)}) {
    const fs::path prefix = program.parent_path().parent_path();
    if (prefix.has_relative_path() && prefix != "/usr" && fs::is_directory(prefix, error))
      paths.push_back(prefix.string());
  }
}

ChildSpec spec_of(const ProbeConfig& config, const std::string& file_name, const std::string& source) {
  ChildSpec spec;
  const auto seconds = std::chrono::duration<double>(config.wall).count();
  spec.argv = {config.python,
               "-I",
               config.probe_folder + "/probe.py",
               "@in/" + file_name,
               "--out",
               "@tmp/pack",
               "--bundle",
               "@tmp/bundle",
               "--wall-s",
               fmt::format("{}", seconds),
               "--memory-mb",
               fmt::format("{}", config.memory_bytes >> 20),
               "--small-elements",
               fmt::format("{}", config.small_elements)};
  spec.env = {"PATH=/usr/bin:/bin", "HOME=@tmp", "LANG=C.UTF-8", "OMP_NUM_THREADS=1",
              "OPENBLAS_NUM_THREADS=1"};
  spec.read_only_paths = toolchain_paths();
  spec.read_only_paths.push_back(config.probe_folder);
  // What numeric libraries read at import: a seed, and how many processors of which kind there are.
  for (const char* path : {"/dev/urandom", "/proc/cpuinfo", "/sys/devices/system/cpu"}) {
    std::error_code absent;
    if (fs::exists(path, absent)) spec.read_only_paths.emplace_back(path);
  }
  add_installation(config.python, spec.read_only_paths);
  spec.files = {{file_name, source}};
  spec.collect = {"bundle"};
  spec.scratch_bytes = 2ull << 30;
  spec.system_calls = SystemCalls::kCompiler;
  // The probe keeps its own limits, and can say which was met; these are the walls behind them.
  spec.limits.wall = config.wall + std::chrono::seconds(10);
  spec.limits.cpu_seconds = static_cast<unsigned>(seconds) + 10;
  spec.limits.address_space_bytes = config.memory_bytes + (1ull << 30);
  spec.limits.memory_bytes = config.memory_bytes + (1ull << 30);
  spec.limits.file_bytes = 2ull << 30;
  spec.limits.open_files = 256;
  spec.limits.processes = 32;
  return spec;
}

std::string last_line(const std::string& text) {
  const auto end = text.find_last_not_of("\n");
  if (end == std::string::npos) return "";
  const auto begin = text.find_last_of('\n', end);
  return text
      .substr(begin == std::string::npos ? 0 : begin + 1,
              end - (begin == std::string::npos ? 0 : begin + 1) + 1)
      .substr(0, 400);
}

std::string text_of(const json& object, const char* key) {
  return object.contains(key) && object[key].is_string() ? object[key].get<std::string>().substr(0, 600)
                                                         : std::string();
}

// What the probe said, as an Error; or nothing if it says that the pack is made.
Status answer_of(const ChildEnd& end, const std::string& file_name) {
  const json answer = nests_at_most(end.output, 8) ? json::parse(end.output, nullptr, false) : json();
  if (answer.is_object() && answer.contains("error") && answer["error"].is_object()) {
    const json& error = answer["error"];
    return failure(fmt::format("{}; {} ({})", text_of(error, "message"), text_of(error, "remedy"),
                               text_of(error, "code")),
                   Retry::kAfterFix);
  }
  if (answer.is_object() && answer.contains("pack") && end.succeeded()) return {};
  if (end.limit != LimitHit::kNone)
    return failure(fmt::format("{}: the probe met its limit of {}; make the task smaller", file_name,
                               name_of(end.limit)),
                   Retry::kAfterFix);
  return failure(
      fmt::format("{}: the probe ended with status {} and signal {}: {}; run probe/probe.py by hand",
                  file_name, end.exit_code, end.signal, last_line(end.errors)),
      Retry::kAfterFix);
}

bool stays_inside(const std::string& name) {
  const fs::path path(name);
  if (name.empty() || name.size() > 200 || path.is_absolute()) return false;
  return std::none_of(path.begin(), path.end(),
                      [](const fs::path& part) { return part.empty() || part == ".." || part == "."; });
}

}  // namespace

Result<std::string> run_probe(const ProbeConfig& config, const std::string& file_name,
                              const std::string& source) {
  std::error_code error;
  if (!fs::is_regular_file(config.python, error))
    return failure(fmt::format("there is no Python at {}; apt-get install python3-torch "
                               "libopenblas0-pthread, or set EVOKERNEL_PYTHON",
                               config.python),
                   Retry::kAfterFix);
  if (!fs::is_regular_file(config.probe_folder + "/probe.py", error))
    return failure(fmt::format("there is no probe at {}/probe.py; set EVOKERNEL_HOME to EvoKernel's folder",
                               config.probe_folder),
                   Retry::kAfterFix);
  EVK_TRY(ChildEnd end, run_child(spec_of(config, file_name, source)));
  EVK_TRY_STATUS(answer_of(end, file_name));
  if (end.found.empty() || !end.found[0])
    return failure(file_name + ": the probe left no pack; the disk or /tmp may be full", Retry::kSameCall);
  return std::move(end.collected[0]);
}

Status unpack_bundle(const std::string& bundle, const std::string& folder) {
  const auto end = bundle.find('\n');
  if (end == std::string::npos || end > kIndexBytesMax || !nests_at_most({bundle.data(), end}, 4))
    return failure("the probe's bundle has no index");
  const json index =
      json::parse(bundle.begin(), bundle.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
  if (!index.is_object() || !index.contains("files") || !index["files"].is_array() ||
      index["files"].size() > kFilesMax)
    return failure("the probe's bundle has a broken index");
  std::size_t at = end + 1;
  for (const json& entry : index["files"]) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number_unsigned())
      return failure("the probe's bundle has a broken index");
    const auto name = entry[0].get<std::string>();
    const auto size = entry[1].get<std::uint64_t>();
    if (!stays_inside(name) || size > bundle.size() - at)
      return failure("the probe's bundle has an entry outside its bounds");
    const fs::path path = fs::path(folder) / name;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(bundle.data() + at, static_cast<std::streamsize>(size));
    file.close();
    if (!file)
      return failure(fmt::format("cannot write {}; free some space", path.string()), Retry::kAfterFix);
    at += static_cast<std::size_t>(size);
  }
  return {};
}

}  // namespace evk
