// evokernel verify.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backend/foreign_backend.h"
#include "cli/commands.h"
#include "cli/make_parts.h"
#include "cli/resources.h"
#include "report/report.h"
#include "task/probe.h"
#include "verify/gated_verifier.h"
#include "verify/pack_reader.h"

namespace evk {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uintmax_t kFileBytesMax = 256 * 1024, kForeignBytesMax = 4 << 20;
constexpr std::size_t kFilesMax = 16;

struct VerifyOptions {
  RunOptions run;
  std::string task, candidate, format = "evokernel", shapes = "all";
  bool json = false;
};

// The files of an operator project below `folder`, links refused.
Result<Candidate> read_project(const std::string& folder) {
  Candidate candidate;
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return failure(fmt::format("{}: is no folder with op_host/ and op_kernel/", folder), Retry::kAfterFix);
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    if (entry.is_symlink())
      return failure(
          fmt::format("{}: links are not followed; put the file itself there", entry.path().string()));
    if (!entry.is_regular_file()) continue;
    if (entry.file_size() > kFileBytesMax || candidate.files.size() == kFilesMax)
      return failure(fmt::format("{}: a project has at most {} files of at most 256 KiB", folder, kFilesMax));
    std::ifstream in(entry.path(), std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    candidate.files.push_back({fs::relative(entry.path(), folder).generic_string(), text.str()});
  }
  if (error) return failure(fmt::format("{}: {}", folder, error.message()), Retry::kAfterFix);
  std::sort(candidate.files.begin(), candidate.files.end());
  return candidate;
}

Say to_stderr() {
  return [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
}

// One file in another system's form, or one direct-launch file of ours.
Result<std::string> read_one_file(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kForeignBytesMax)
    return failure(fmt::format("{}: is no file of at most 4 MiB; name the candidate's file", path),
                   Retry::kAfterFix);
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Result<Candidate> read_candidate(const std::string& path) {
  if (!path.ends_with(".asc")) return read_project(path);
  EVK_TRY(std::string text, read_one_file(path));
  return Candidate{{{fs::path(path).filename().string(), std::move(text)}}, {}, ""};
}

// Keeps the sizes that are asked for. The timed sizes stay: no data move there.
Status restrict_shapes(Task& task, const std::string& shapes) {
  if (shapes == "all") return {};
  const std::string checked = shapes == "published" ? "small" : shapes;
  std::erase_if(task.shape_sets, [&](const ShapeSet& set) { return set.id != checked && set.id != "bench"; });
  if (task.shapes(checked) != nullptr && !task.shapes(checked)->cases.empty()) return {};
  return failure(fmt::format("{}: has no sizes '{}'; use --shapes small", task.id.text, shapes));
}

Result<Task> one_task(VerifyOptions& o, const std::string& root, const std::string& cache) {
  std::error_code ignored;
  if (fs::exists(o.task, ignored))
    o.run.suite = o.task;
  else
    o.run.only = o.task;
  if (o.shapes == "published") {
    EVK_TRY(const auto entries, find_tasks(o.run, root));
    if (entries.size() != 1)
      return failure(fmt::format("'{}' names {} tasks; name one", o.task, entries.size()));
    ProbeConfig config = probe_config(root, cache + "/packs");
    config.small_elements = std::int64_t{1} << 40;
    SuiteEntry entry = entries.front();
    entry.shipped_pack.clear();
    return Probe(config).load(entry);
  }
  EVK_TRY(auto tasks, load_tasks(o.run, root, cache, to_stderr()));
  if (tasks.size() != 1) return failure(fmt::format("'{}' names {} tasks; name one", o.task, tasks.size()));
  return std::move(tasks.front());
}

Result<Verdict> verify_own(const VerifyOptions& o, const Task& task, const std::string& root,
                           const std::string& cache) {
  EVK_TRY(const auto candidate, read_candidate(o.candidate));
  EVK_TRY(const auto verifier, make_verifier(o.run, root, cache, make_pack_reader()));
  return verifier->verify(task, candidate);
}

Result<ForeignCandidate> read_foreign(const VerifyOptions& o, const ModelChildConfig& python) {
  EVK_TRY(const std::string text, read_one_file(o.candidate));
  if (o.format == "direct-launch") return read_direct_launch(text);
  EVK_TRY(const auto strings, python_strings(python, text));
  return read_six_strings(strings);
}

Result<Verdict> verify_foreign(const VerifyOptions& o, Task task, const std::string& root,
                               const std::string& cache) {
  const ProbeConfig probe = probe_config(root, cache);
  const ModelChildConfig python{probe.python, fs::absolute(probe.probe_folder).lexically_normal().string()};
  auto foreign = read_foreign(o, python);
  if (!foreign) return in_context(o.candidate, std::move(foreign));
  task.name = foreign->operator_name;
  const Candidate kernels = foreign->kernels;
  EVK_TRY(auto backend, make_backend(o.run, root, cache));
  auto whole = make_foreign_backend(std::move(backend), python, task, *std::move(foreign));
  const auto verifier = make_verifier(verifier_config(o.run), std::move(whole), make_pack_reader());
  return verifier->verify(task, kernels);
}

json verdict_json(const Verdict& v, const std::string& decided_by) {
  json findings = json::array();
  for (const auto& f : findings_of(v)) findings.push_back(to_json(f));
  const json whole = to_json(v);
  const auto latency = latency_ns(v);
  json j = {{"schema", 1},
            {"feasible", is_feasible(v)},
            {"gate", gate_of(v)},
            {"code", code_of(v)},
            {"message", findings.empty() ? "" : findings[0]["message"]},
            {"findings", findings},
            {"simulated", true},
            {"latency_ns", latency ? json(*latency) : json(nullptr)},
            {"tolerance", decided_by},
            {"verdict", whole}};
  j["paper"] = v.paper_pass ? json(*v.paper_pass) : json(nullptr);
  j["strict"] = decided_by == "strict" ? json(is_feasible(v)) : json(nullptr);
  j["profile"] = whole["outcome"].contains("profile") ? whole["outcome"]["profile"] : json(nullptr);
  return j;
}

Result<int> verify(VerifyOptions& o) {
  EVK_TRY(const auto root, resource_root());
  const std::string cache = o.run.cache.empty() ? default_cache_folder() : o.run.cache;
  EVK_TRY(Task task, one_task(o, root, cache));
  EVK_TRY_STATUS(restrict_shapes(task, o.shapes));
  EVK_TRY(const Verdict verdict,
          o.format == "evokernel" ? verify_own(o, task, root, cache) : verify_foreign(o, task, root, cache));
  if (o.json)
    print_json(verdict_json(verdict, o.run.tolerance));
  else
    fmt::print("{}: {}", task.id.text, feedback_of(verdict));
  return is_feasible(verdict) ? kExitDone : kExitFinding;
}

// Adds options of the table, each setting its field at once.
void add_options(CLI::App& command, const std::shared_ptr<VerifyOptions>& o,
                 std::initializer_list<const char*> flags) {
  for (const auto& option : run_options())
    for (const char* flag : flags)
      if (std::string(flag) == option.flag)
        command.add_option_function<std::string>(
            flag,
            [o, &option](const std::string& value) {
              const Status set = option.set(o->run, value);
              if (!set) throw CLI::ValidationError(option.flag, set.error().message);
            },
            option.help);
  command.add_flag("--json", o->json, "One JSON object instead of text");
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("verify",
                                         "One candidate through the gates: screen, compile, run, compare, "
                                         "measure. Exit code 1: it is not feasible");
  auto o = std::make_shared<VerifyOptions>();
  command->add_option("TASK", o->task, "A KernelBench file, or the name of a task of --suite")->required();
  command
      ->add_option(
          "CANDIDATE", o->candidate,
          "Folder of an operator project (op_host/, op_kernel/), or one file: NAME.asc, or in --format")
      ->required();
  command
      ->add_option(
          "--format", o->format,
          "'multikernelbench': a Python file of six strings; 'direct-launch': its JSON form. Their model "
          "runs in a Python process without data")
      ->check(CLI::IsMember({"evokernel", "multikernelbench", "direct-launch"}))
      ->capture_default_str();
  command
      ->add_option(
          "--shapes", o->shapes,
          "Sizes that are checked: 'small', 'ragged' (odd ones), 'all' of both, or 'published', with data")
      ->check(CLI::IsMember({"all", "small", "ragged", "published"}))
      ->capture_default_str();
  add_options(*command, o, {"--suite", "--device", "--tolerance", "--cache"});
  command->callback([o, &exit_code] {
    const auto code = verify(*o);
    exit_code = code ? *code : complain(code.error());
  });
}

}  // namespace evk
