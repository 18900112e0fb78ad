#include "task/probe.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/sha256.h"
#include "task/pack.h"
#include "task/probe_process.h"

namespace evk {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kSourceBytesMax = 1 << 20;

Result<std::string> read_file(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error)
    return failure(fmt::format("{}: {}; name a readable file", path.string(), error.message()),
                   Retry::kAfterFix);
  if (size > kSourceBytesMax)
    return failure(path.string() + ": is larger than 1 MiB; name a task file", Retry::kAfterFix);
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file) return failure(path.string() + ": cannot be read; check its permissions", Retry::kAfterFix);
  return text;
}

// A name that no other thread or process uses.
std::string scratch_name() {
  static std::atomic<unsigned> count{0};
  return fmt::format(".part-{}-{}", getpid(), count.fetch_add(1));
}

// Only what a path in the sandbox may hold.
std::string plain_name(const std::string& file) {
  std::string name = fs::path(file).filename().string();
  for (char& c : name)
    if (!(std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.')) c = '_';
  return name;
}

}  // namespace

ProbeConfig probe_config(const std::string& root, const std::string& cache_folder) {
  ProbeConfig config;
  if (const char* python = std::getenv("EVOKERNEL_PYTHON"); python && *python) config.python = python;
  config.probe_folder = (fs::path(root) / "probe").string();
  config.cache_folder = cache_folder;
  return config;
}

std::string default_pack_cache() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::string(cache) + "/evokernel/packs";
  const char* home = std::getenv("HOME");
  return std::string(home && *home ? home : "/tmp") + "/.cache/evokernel/packs";
}

Probe::Probe(ProbeConfig config) : config_(std::move(config)) {
  std::error_code error;
  config_.probe_folder = fs::absolute(config_.probe_folder, error).lexically_normal().string();
}

Result<Task> Probe::load(const SuiteEntry& entry) const {
  EVK_TRY(const std::string source, read_file(entry.file));
  if (!entry.shipped_pack.empty()) {
    EVK_TRY(Task task, read_pack(entry.shipped_pack));
    task.id = entry.id;
    if (task.source_sha256 == sha256_hex(source)) return task;
  }
  EVK_TRY(const std::string folder, pack_of(entry.file));
  EVK_TRY(Task task, read_pack(folder));
  task.id = entry.id;
  return task;
}

Result<std::string> Probe::pack_of(const std::string& file) const {
  EVK_TRY(const std::string source, read_file(file));
  EVK_TRY(const std::string key, key_of(source + "\n" + plain_name(file)));
  const fs::path cache(config_.cache_folder), folder = cache / key;
  std::error_code error;
  if (fs::is_regular_file(folder / "task.json", error)) return folder.string();
  fs::create_directories(cache, error);
  const fs::path scratch = cache / scratch_name();
  if (!fs::create_directory(scratch, error))
    return failure(fmt::format("cannot make {}: {}; give a cache folder that can be written",
                               scratch.string(), error.message()),
                   Retry::kAfterFix);
  Status made = make_pack(file, source, scratch.string());
  // Whoever renames first wins; the packs are alike.
  if (made) fs::rename(scratch, folder, error);
  std::error_code ignored;
  fs::remove_all(scratch, ignored);
  EVK_TRY_STATUS(std::move(made));
  if (!fs::is_regular_file(folder / "task.json", ignored))
    return failure(fmt::format("cannot keep the pack in {}: {}; give a cache folder that can be written",
                               folder.string(), error.message()),
                   Retry::kAfterFix);
  return folder.string();
}

// Everything that changes a pack's bytes: the source, the probe's own text, the interpreter, the wanted size.
Result<std::string> Probe::key_of(const std::string& source) const {
  std::vector<fs::path> modules;
  std::error_code error;
  for (const auto& each : fs::directory_iterator(config_.probe_folder, error))
    if (each.path().extension() == ".py") modules.push_back(each.path());
  std::sort(modules.begin(), modules.end());
  Sha256 hash;
  hash.field(source).field(config_.python).field(std::to_string(config_.small_elements));
  for (const fs::path& module : modules) {
    EVK_TRY(const std::string text, read_file(module));
    hash.field(module.filename().string()).field(text);
  }
  return hash.hex();
}

Status Probe::make_pack(const std::string& file, const std::string& source, const std::string& folder) const {
  EVK_TRY(const std::string bundle, run_probe(config_, plain_name(file), source));
  EVK_TRY_STATUS(unpack_bundle(bundle, folder));
  auto task = read_pack(folder);
  if (!task) return in_context(file, std::move(task));
  return {};
}

}  // namespace evk
