// evokernel doctor: what works on this machine, what is missing, how to get it.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/make_generator.h"
#include "cli/make_parts.h"
#include "cli/resources.h"
#include "sandbox/child.h"

namespace evk {
namespace {

struct Check {
  std::string name;
  bool ok = false;
  std::string found;   // version, path, or what is missing
  std::string remedy;  // empty if ok
  bool needed = true;  // false: only some commands need it
};

// The program by its name in the usual folders; empty if it is not there.
std::string program_path(const std::string& name) {
  for (const char* folder : {"/usr/local/bin", "/usr/bin", "/bin"})
    if (::access((std::string(folder) + "/" + name).c_str(), X_OK) == 0)
      return std::string(folder) + "/" + name;
  return "";
}

Check program(const std::string& name, const std::string& package, bool needed) {
  const std::string path = program_path(name);
  return {name, !path.empty(), path.empty() ? "not found" : path,
          path.empty() ? "apt-get install " + package : "", needed};
}

Check resources() {
  const auto root = resource_root();
  return {"own files", root.has_value(), root ? *root : root.error().message,
          root ? "" : "set EVOKERNEL_HOME", true};
}

Check runner() {
  const std::string path = executable_folder() + "/npu-program";
  const bool there = ::access(path.c_str(), X_OK) == 0;
  return {"kernel runner", there, path, there ? "" : "cmake --build --preset release", true};
}

Check cache() {
  const std::string path = default_cache_folder();
  std::error_code error;
  std::filesystem::create_directories(path, error);
  const bool ok = ::access(path.c_str(), W_OK) == 0;
  return {"cache folder", ok, path, ok ? "" : "give --cache a writable folder", true};
}

Check torch() {
  std::error_code ignored;
  for (const char* path : {"/usr/lib/python3/dist-packages/torch"})
    if (std::filesystem::exists(path, ignored)) return {"PyTorch", true, path, "", false};
  return {"PyTorch", false, "not found",
          "apt-get install python3-torch libopenblas0-pthread (only to probe new task files)", false};
}

// One small call, unless no endpoint is asked about.
void check_endpoint(const RunOptions& options, std::vector<Check>& checks) {
  if (!is_endpoint(options)) return;
  auto endpoint = make_model_endpoint(options);
  if (!endpoint) {
    checks.push_back({"endpoint", false, endpoint.error().message, "see docs/models.md", true});
    return;
  }
  const auto answer = (*endpoint)->ask("Answer with the one word: ready");
  if (answer)
    checks.push_back({"endpoint", true, fmt::format("{} answers", answer->model), "", true});
  else
    checks.push_back({"endpoint", false, answer.error().error.message, "see docs/models.md", true});
}

std::vector<Check> all_checks() {
  std::vector<Check> checks = {resources(),
                               runner(),
                               cache(),
                               program("g++", "g++", true),
                               program("mold", "mold", false),
                               program("python3", "python3", false),
                               torch()};
  for (const auto& name : sandbox_report().in_force) checks.push_back({"sandbox", true, name, "", false});
  for (const auto& what : sandbox_report().missing) checks.push_back({"sandbox", false, what, "", false});
  return checks;
}

int doctor(bool json, const RunOptions& options) {
  auto checks = all_checks();
  check_endpoint(options, checks);
  bool ok = true;
  nlohmann::json list = nlohmann::json::array();
  for (const auto& c : checks) {
    ok = ok && (c.ok || !c.needed);
    list.push_back(
        {{"name", c.name}, {"ok", c.ok}, {"found", c.found}, {"remedy", c.remedy}, {"needed", c.needed}});
    if (!json)
      fmt::print("{:<8} {:<28} {}{}\n",
                 c.ok       ? "ok"
                 : c.needed ? "MISSING"
                            : "absent",
                 c.name, c.found, c.remedy.empty() ? "" : "; " + c.remedy);
  }
  if (json) print_json({{"schema", 1}, {"ok", ok}, {"checks", list}});
  return ok ? kExitDone : kExitInfrastructure;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("doctor", "What works on this machine, what is missing, how to get it");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "One JSON object instead of text");
  auto options = std::make_shared<RunOptions>();
  command->add_option("--generator", options->generator, "Also asks this endpoint: 'openai' or 'anthropic'");
  command->add_option("--base-url", options->base_url, "As of `run`");
  command->add_option("--model", options->model, "As of `run`");
  command->add_option("--ca-file", options->ca_file, "As of `run`");
  command->callback([json, options, &exit_code] { exit_code = doctor(*json, *options); });
}

}  // namespace evk
