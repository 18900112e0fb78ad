#include "cli/make_parts.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "backend/ascendc_twin.h"
#include "campaign/memory_of.h"
#include "cli/learning_options.h"
#include "cli/make_generator.h"
#include "cli/resources.h"
#include "generate/composer_facts.h"
#include "generate/prompt.h"
#include "generate/reply_parser.h"
#include "memory/knowledge.h"
#include "task/probe.h"
#include "task/suite.h"
#include "verify/gated_verifier.h"
#include "verify/pack_reader.h"

namespace evk {
namespace fs = std::filesystem;
namespace {

constexpr const char* kBackendName = "ascendc_twin";

// What a model's answer holds; a refinement's diff is applied to its start point.
tl::expected<Candidate, Finding> parse(const Task& task, const Context& context, const std::string& answer) {
  std::optional<Candidate> start;
  if (const MemoryItem* item = context.start()) start = Candidate{item->files, {}, ""};
  ParsedReply reply = parse_reply(answer, task, start ? &*start : nullptr);
  if (auto* finding = std::get_if<Finding>(&reply)) return tl::unexpected(std::move(*finding));
  return std::get<Candidate>(std::move(reply));
}

std::string folder_name(const std::string& task) {
  std::string name = task;
  for (char& c : name)
    if (c == '/' || c == '\\' || c == '\0') c = '_';
  return name == "." || name == ".." ? "_" : name;
}

}  // namespace

CampaignParts Workshop::parts() { return {*generator, *verifier, prompt, parse, facts_of}; }

Result<std::unique_ptr<Backend>> make_backend(const RunOptions& options, const std::string& root,
                                              const std::string& cache) {
  AscendCTwinConfig twin;
  twin.device_file = root + "/twin/devices/" + options.device + ".toml";
  twin.twin_dir = root + "/twin";
  twin.program = executable_folder() + "/npu-program";
  twin.cache_dir = cache;
  return make_ascendc_twin(twin);
}

VerifierConfig verifier_config(const RunOptions& options) {
  VerifierConfig config;
  config.tolerance = options.tolerance == "paper" ? ToleranceKind::kPaper : ToleranceKind::kStrict;
  return config;
}

Result<std::unique_ptr<Verifier>> make_verifier(const RunOptions& options, const std::string& root,
                                                const std::string& cache, std::unique_ptr<CaseReader> cases) {
  EVK_TRY(auto backend, make_backend(options, root, cache));
  return make_verifier(verifier_config(options), std::move(backend), std::move(cases));
}

Result<std::unique_ptr<Workshop>> make_workshop(const RunOptions& options) {
  auto workshop = std::make_unique<Workshop>();
  EVK_TRY(workshop->root, resource_root());
  workshop->cache = options.cache.empty() ? default_cache_folder() : options.cache;
  EVK_TRY(workshop->generator, make_generator(options));
  EVK_TRY(workshop->verifier, make_verifier(options, workshop->root, workshop->cache, make_pack_reader()));
  EVK_TRY(const auto templates, load_templates(workshop->root + "/prompts/ascendc"));
  workshop->prompt = [templates](const Task& task, const Context& context) {
    return build_prompt(task, context, templates);
  };
  return workshop;
}

Result<std::vector<SuiteEntry>> find_tasks(const RunOptions& options, const std::string& root) {
  EVK_TRY(const auto entries, resolve_suite(options.suite, root));
  return select_tasks(entries, options.only);
}

Result<std::vector<Task>> load_tasks(const RunOptions& options, const std::string& root,
                                     const std::string& cache, const Say& say) {
  EVK_TRY(const auto entries, find_tasks(options, root));
  const Probe probe(probe_config(root, cache + "/packs"));
  std::vector<Task> tasks;
  for (const auto& entry : entries) {
    auto task = probe.load(entry);
    if (task)
      tasks.push_back(*std::move(task));
    else
      say(fmt::format("left out {}: {}", entry.id.text, task.error().text()));
  }
  if (tasks.empty())
    return failure(fmt::format("no task of {} could be read", options.suite), Retry::kAfterFix);
  return tasks;
}

Result<std::vector<MemoryItem>> load_seeds(const RunOptions&, const std::string& root) {
  EVK_TRY(auto items, load_knowledge(root + "/knowledge/ascendc", kBackendName));
  std::int64_t number = 0;
  for (auto& item : items) {
    item.id = {++number};
    item.source = "seed";
  }
  return items;
}

CampaignConfig campaign_config(const RunOptions& options) {
  CampaignConfig config;
  config.seed = options.seed;
  config.sweeps = options.sweeps;
  config.jobs = options.jobs;
  config.kept_index = index_path_of(options.store);
  set_learning(options, config);
  config.described = {{"backend", options.backend},
                      {"device", options.device},
                      {"generator", options.generator},
                      {"tolerance", options.tolerance}};
  if (options.generator == "command") config.described["command"] = options.command;
  if (is_endpoint(options)) {
    config.described["model"] = options.model;
    config.described["answer_tokens"] = fmt::format("{}", options.answer_tokens);
    config.described["temperature"] = fmt::format("{}", options.temperature);
  }
  return config;
}

Result<std::string> save_kernel(const std::string& folder, const std::string& task,
                                const std::vector<SourceFile>& files) {
  const fs::path target = fs::path(folder) / folder_name(task), fresh = target.string() + ".new";
  std::error_code error;
  fs::remove_all(fresh, error);
  for (const auto& file : files) {
    const fs::path path = fresh / file.path;
    fs::create_directories(path.parent_path(), error);
    std::ofstream out(path, std::ios::binary);
    out << file.text;
    if (!out.flush()) return failure(fmt::format("{}: cannot be written", path.string()), Retry::kAfterFix);
  }
  fs::remove_all(target, error);
  fs::rename(fresh, target, error);
  if (error) return failure(fmt::format("{}: {}", target.string(), error.message()), Retry::kAfterFix);
  return target.string();
}

}  // namespace evk
