#include "backend/compile_step.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "backend/diagnostics.h"
#include "backend/object_check.h"
#include "base/sha256.h"
#include "sandbox/child.h"
#include "twin/program/rewrite.h"
#include "twin/program/type_macros.h"

namespace evk {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kRememberedMax = 512;
constexpr std::uint64_t kObjectMax = 32 << 20;

Result<std::string> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return failure(fmt::format("{} cannot be read", path.string()), Retry::kAfterFix);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Readers see the old file or the whole new one.
Status write_file(const fs::path& path, const std::string& bytes) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  const fs::path part = path.string() + fmt::format(".{}.{}", getpid(), static_cast<const void*>(&error));
  std::ofstream out(part, std::ios::binary);
  out << bytes;
  out.close();
  if (out) fs::rename(part, path, error);
  if (!out || error) {
    fs::remove(part, error);
    return failure(fmt::format("{} cannot be written; give a writable cache folder", path.string()),
                   Retry::kAfterFix);
  }
  return {};
}

Finding finding(std::string code, std::string message, std::string remedy, std::string file = {}) {
  Finding out;
  out.code = std::move(code);
  out.message = std::move(message);
  out.remedy = std::move(remedy);
  out.file = std::move(file);
  return out;
}

BuildFailed failed(Finding what) { return {{std::move(what)}, {}}; }

bool is_source(const std::string& path) { return path.ends_with(".cpp") || path.ends_with(".asc"); }
bool is_host(const std::string& path) { return path.starts_with("op_host/"); }

// A direct-launch file's launches become calls; lines stay where they are.
std::string source_text(const SourceFile& file) {
  return file.path.ends_with(".asc") ? twin::rewrite_launches(file.text) : file.text;
}

// The struct that host and kernel share is generated from this header by the standard build; here the kernel
// sees the header itself.
bool declares_tiling(const SourceFile& file) {
  return is_host(file.path) && file.path.ends_with(".h") &&
         file.text.find("BEGIN_TILING_DATA_DEF") != std::string::npos;
}

// The kernel's names for the types that op_host registers.
std::vector<std::pair<std::string, std::string>> registered_types(const Candidate& candidate) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const SourceFile& file : candidate.files)
    if (is_host(file.path))
      for (auto& macro : twin::type_macros(file.text))
        if (std::none_of(all.begin(), all.end(),
                         [&](const auto& known) { return known.first == macro.first; }))
          all.push_back(std::move(macro));
  return all;
}

// Messages of a compiler driver whose helper was ended by a limit.
bool names_limit(const std::string& text) {
  for (const char* words : {"CPU time limit exceeded", "File size limit exceeded", "Killed signal terminated",
                            "virtual memory exhausted", "out of memory", "Cannot allocate memory",
                            "File too large", "No space left on device"}) {
    if (text.find(words) != std::string::npos) return true;
  }
  return false;
}

std::string tree_digest(const fs::path& root) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(root, error), end; it != end; it.increment(error)) {
    if (it->is_regular_file(error)) files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  Sha256 hash;
  for (const fs::path& file : files) {
    const auto bytes = read_file(file);
    hash.field(fs::relative(file, root, error).string()).field(bytes ? *bytes : "");
  }
  return hash.hex();
}

ChildLimits compile_limits(const AscendCTwinConfig& config) {
  ChildLimits limits;
  limits.wall = config.compile_wall;
  limits.cpu_seconds = config.compile_cpu_seconds;
  limits.address_space_bytes = 4ull << 30;
  limits.memory_bytes = 3ull << 30;
  limits.file_bytes = 128ull << 20;
  limits.processes = 24;
  limits.output_bytes = 64 * 1024;
  return limits;
}

}  // namespace

CompileStep::CompileStep(const AscendCTwinConfig& config, twin::BuildRecipe recipe)
    : config_(config), recipe_(std::move(recipe)) {}

Result<std::unique_ptr<CompileStep>> CompileStep::create(const AscendCTwinConfig& config,
                                                         twin::BuildRecipe recipe) {
  std::unique_ptr<CompileStep> step(new CompileStep(config, std::move(recipe)));
  EVK_TRY_STATUS(step->prepare());
  return step;
}

std::string CompileStep::prelude(Part part) const {
  const std::string& header = part == Part::kKernel ? recipe_.kernel_prelude : recipe_.host_prelude;
  return header.empty() ? ""
                        : header_dir_ + (part == Part::kKernel ? "/kernel_" : "/host_") +
                              fs::path(header).filename().string();
}

std::vector<std::string> CompileStep::flags(Part part) const {
  std::vector<std::string> out = part == Part::kKernel ? recipe_.kernel_flags : recipe_.host_flags;
  for (const char* flag : {"-fdiagnostics-color=never", "-fno-diagnostics-show-caret", "-fmessage-length=0",
                           "-ftemplate-depth=256", "-fconstexpr-ops-limit=33554432", "-fconstexpr-depth=256",
                           "-fmax-errors=5", "-w"}) {
    out.emplace_back(flag);
  }
  return out;
}

Status CompileStep::prepare() {
  if (access(config_.compiler.c_str(), X_OK) != 0)
    return failure(fmt::format("compiler {} is not there; install g++", config_.compiler), Retry::kAfterFix);
  if (access(recipe_.program.c_str(), X_OK) != 0)
    return failure(fmt::format("runner {} is not there; build npu-program", recipe_.program),
                   Retry::kAfterFix);
  ChildSpec spec;
  spec.argv = {config_.compiler, "--version"};
  spec.read_only_paths = toolchain_paths();
  spec.system_calls = SystemCalls::kCompiler;
  spec.limits = compile_limits(config_);
  EVK_TRY(const ChildEnd said, run_child(spec));
  if (!said.succeeded())
    return failure(fmt::format("{} --version failed in the sandbox: {}", config_.compiler, said.errors),
                   Retry::kAfterFix);
  Sha256 hash;
  hash.field(said.output)
      .field(tree_digest(recipe_.include_dir))
      .field(tree_digest(config_.twin_dir + "/abi"));
  for (const Part part : {Part::kKernel, Part::kHost}) {
    for (const std::string& flag : flags(part)) hash.field(flag);
    hash.field("|");
  }
  for (const std::string& flag : recipe_.link_flags) hash.field(flag);
  version_ = hash.hex();
  header_dir_ = config_.cache_dir + "/headers/" + version_.substr(0, 16);
  EVK_TRY_STATUS(precompile(Part::kKernel));
  return precompile(Part::kHost);
}

Status CompileStep::precompile(Part part) {
  const std::string header = prelude(part);
  if (header.empty() || fs::exists(header + ".gch")) return {};
  EVK_TRY(const std::string text,
          read_file(part == Part::kKernel ? recipe_.kernel_prelude : recipe_.host_prelude));
  EVK_TRY_STATUS(write_file(header, text));
  std::vector<std::string> arguments = flags(part);
  arguments.insert(arguments.end(), {"-x", "c++-header", header, "-o", "@tmp/prelude.gch"});
  EVK_TRY(Compiled compiled, invoke(arguments, {}, "prelude.gch", 192ull << 20));
  if (const auto* wrong = std::get_if<BuildFailed>(&compiled)) {
    return failure(fmt::format("the twin's own header {} does not compile: {}", header,
                               wrong->findings.empty() ? wrong->log : wrong->findings[0].message),
                   Retry::kAfterFix);
  }
  return write_file(header + ".gch", std::get<std::string>(compiled));
}

Result<CompileStep::Compiled> CompileStep::invoke(const std::vector<std::string>& arguments,
                                                  std::vector<PlacedFile> files, const std::string& product,
                                                  std::uint64_t scratch_bytes) {
  ChildSpec spec;
  spec.argv = {config_.compiler};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  spec.env = {"PATH=/usr/bin:/bin", "LC_ALL=C", "TMPDIR=@tmp", "SOURCE_DATE_EPOCH=0"};
  spec.read_only_paths = toolchain_paths();
  spec.read_only_paths.push_back(config_.twin_dir);
  if (fs::exists(header_dir_)) spec.read_only_paths.push_back(header_dir_);
  spec.files = std::move(files);
  spec.collect = {product};
  spec.scratch_bytes = scratch_bytes;
  spec.system_calls = SystemCalls::kCompiler;
  spec.limits = compile_limits(config_);
  EVK_TRY(ChildEnd end, run_child(spec));
  if (end.succeeded() && end.found[0]) return Compiled(std::move(end.collected[0]));
  const DiagnosticPaths paths{"/in/", recipe_.include_dir};
  if (end.limit != LimitHit::kNone || end.signal != 0 || names_limit(end.errors)) {
    return Compiled(
        failed(finding("compile.resources", "the compiler ran out of its limits of time, memory or output",
                       "write less code for the compiler to work out")));
  }
  BuildFailed wrong{parse_diagnostics(end.errors, paths), scrubbed(end.errors, paths)};
  if (wrong.findings.empty())
    wrong.findings.push_back(finding("compile.error",
                                     wrong.log.empty() ? "the compiler failed without a message"
                                                       : wrong.log.substr(0, wrong.log.find('\n')),
                                     ""));
  return Compiled(std::move(wrong));
}

std::string CompileStep::key_of(const Candidate& candidate, const SourceFile& source, Part part) const {
  Sha256 hash;
  hash.field(version_).field(source.path);
  // What the file can include: everything of its own side, and the headers of the host.
  for (const SourceFile& file : candidate.files) {
    const bool seen = part == Part::kHost ? is_host(file.path) : !is_host(file.path) || !is_source(file.path);
    if (seen) hash.field(file.path).field(file.text);
  }
  if (part == Part::kKernel)
    for (const auto& [name, type] : registered_types(candidate)) hash.field(name).field(type);
  return hash.hex();
}

void CompileStep::remember(const std::string& key, const Compiled& compiled) {
  std::lock_guard lock(mutex_);
  if (compiled_.size() >= kRememberedMax) compiled_.erase(compiled_.begin());
  compiled_.emplace(key, compiled);
}

Result<CompileStep::Compiled> CompileStep::compile(const Candidate& candidate, const SourceFile& source,
                                                   Part part) {
  const std::string key = key_of(candidate, source, part);
  {
    std::lock_guard lock(mutex_);
    if (const auto known = compiled_.find(key); known != compiled_.end()) return known->second;
  }
  const fs::path kept = fs::path(config_.cache_dir) / "objects" / key.substr(0, 2) / (key + ".o");
  if (fs::exists(kept)) {
    EVK_TRY(std::string bytes, read_file(kept));
    Compiled compiled = std::move(bytes);
    remember(key, compiled);
    return compiled;
  }
  std::vector<std::string> arguments = flags(part);
  if (const std::string header = prelude(part); !header.empty())
    arguments.insert(arguments.end(), {"-include", header});
  std::vector<PlacedFile> files;
  for (const SourceFile& file : candidate.files) {
    files.push_back({file.path, source_text(file)});
    if (part == Part::kKernel && declares_tiling(file))
      arguments.insert(arguments.end(), {"-include", "@in/" + file.path});
  }
  if (part == Part::kKernel)
    for (const auto& [name, type] : registered_types(candidate))
      arguments.push_back("-D" + name + "=" + type);
  arguments.insert(arguments.end(), {"-x", "c++", "-c", "@in/" + source.path, "-o", "@tmp/out.o"});
  EVK_TRY(Compiled compiled, invoke(arguments, std::move(files), "out.o", 128ull << 20));
  if (const auto* bytes = std::get_if<std::string>(&compiled)) {
    if (bytes->size() > kObjectMax)
      compiled =
          failed(finding("compile.resources",
                         fmt::format("the object of {} is larger than {} MiB", source.path, kObjectMax >> 20),
                         "remove large tables", source.path));
    else
      EVK_TRY_STATUS(write_file(kept, *bytes));
  }
  remember(key, compiled);
  return compiled;
}

Result<CompileStep::Compiled> CompileStep::link(const std::vector<std::string>& objects) {
  std::vector<std::string> arguments;
  std::vector<PlacedFile> files;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    files.push_back({fmt::format("{}.o", i), objects[i]});
    arguments.push_back(fmt::format("@in/{}.o", i));
  }
  arguments.insert(arguments.end(), recipe_.link_flags.begin(), recipe_.link_flags.end());
  arguments.insert(arguments.end(), {"-o", "@tmp/kernel.so"});
  return invoke(arguments, std::move(files), "kernel.so", 128ull << 20);
}

Result<BuildOutcome> CompileStep::build(const Candidate& candidate) {
  std::vector<const SourceFile*> kernels, hosts;
  for (const SourceFile& file : candidate.files) {
    if (!is_source(file.path)) continue;
    (is_host(file.path) ? hosts : kernels).push_back(&file);
  }
  if (kernels.empty())
    return BuildOutcome(failed(finding("compile.missing_file", "the project has no op_kernel/<op>.cpp",
                                       "add the kernel's source file")));
  const bool direct = std::any_of(kernels.begin(), kernels.end(),
                                  [](const SourceFile* file) { return file->path.ends_with(".asc"); });
  if (hosts.empty() && !direct)
    return BuildOutcome(failed(finding("compile.missing_file", "the project has no op_host/<op>.cpp",
                                       "add the file with the tiling function and the OpDef registration")));

  std::vector<std::string> objects;
  for (const auto& [files, part] : {std::pair{&kernels, Part::kKernel}, std::pair{&hosts, Part::kHost}}) {
    for (const SourceFile* file : *files) {
      EVK_TRY(Compiled compiled, compile(candidate, *file, part));
      if (auto* wrong = std::get_if<BuildFailed>(&compiled)) return BuildOutcome(std::move(*wrong));
      objects.push_back(std::get<std::string>(std::move(compiled)));
    }
  }
  EVK_TRY(Compiled linked, link(objects));
  if (auto* wrong = std::get_if<BuildFailed>(&linked)) return BuildOutcome(std::move(*wrong));
  Built built;
  built.library = std::get<std::string>(std::move(linked));
  built.hash = sha256_hex(built.library);
  return BuildOutcome(std::move(built));
}

}  // namespace evk
