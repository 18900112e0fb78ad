// evokernel tasks.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/make_parts.h"
#include "cli/resources.h"
#include "report/report.h"
#include "task/probe.h"
#include "task/suite.h"

namespace evk {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct TaskOptions {
  RunOptions run;
  std::string task;
  bool json = false;
};

Result<int> list(TaskOptions& o) {
  EVK_TRY(const auto root, resource_root());
  EVK_TRY(const auto entries, find_tasks(o.run, root));
  json tasks = json::array();
  for (const auto& e : entries) {
    tasks.push_back({{"task", e.id.text}, {"file", e.file}, {"packed", !e.shipped_pack.empty()}});
    if (!o.json) fmt::print("{:<40} {}\n", e.id.text, e.file);
  }
  if (o.json) print_json({{"schema", 1}, {"tasks", tasks}});
  return kExitDone;
}

std::string shape_text(const TensorType& t) {
  std::string text;
  for (const auto n : t.shape) text += (text.empty() ? "" : "x") + fmt::format("{}", n);
  return fmt::format("{} [{}]", name_of(t.dtype), text);
}

std::string task_text(const Task& t) {
  std::string text = fmt::format("{} ({}, {})\n  pack {}\n", t.id.text, t.name, t.category, t.folder);
  for (const auto& set : t.shape_sets) {
    text += fmt::format("  {}: {} cases\n", set.id, set.cases.size());
    for (const auto& in : set.inputs)
      text += fmt::format("    {:<8} {:<16} {}\n", in.role, in.name, shape_text(in.type));
    for (const auto& out : set.outputs)
      text += fmt::format("    {:<8} {:<16} {}\n", "output", out.name, shape_text(out.type));
  }
  for (const auto& node : t.shapes("small")->graph.nodes) text += "  " + node.op + "\n";
  return text;
}

json task_json(const Task& t) {
  json sets = json::array(), ops = json::array();
  for (const auto& set : t.shape_sets) {
    json inputs = json::array();
    for (const auto& in : set.inputs)
      inputs.push_back({{"name", in.name},
                        {"role", in.role},
                        {"dtype", name_of(in.type.dtype)},
                        {"shape", in.type.shape}});
    sets.push_back({{"id", set.id}, {"cases", set.cases.size()}, {"inputs", inputs}});
  }
  for (const auto& node : t.shapes("small")->graph.nodes) ops.push_back(node.op);
  return {{"task", t.id.text},
          {"name", t.name},
          {"category", t.category},
          {"pack", t.folder},
          {"shape_sets", sets},
          {"ops", ops},
          {"op_class", t.tolerance.op_class},
          {"structurally_constant", t.structurally_constant}};
}

Result<int> probe(TaskOptions& o) {
  EVK_TRY(const auto root, resource_root());
  if (!o.task.empty()) o.run.suite = o.task;
  const std::string cache = o.run.cache.empty() ? default_cache_folder() : o.run.cache;
  EVK_TRY(const auto entries, find_tasks(o.run, root));
  json tasks = json::array(), errors = json::array();
  const Probe packer(probe_config(root, cache + "/packs"));
  for (const auto& entry : entries) {
    const auto task = packer.load(entry);
    if (!task) {
      errors.push_back({{"task", entry.id.text}, {"error", task.error().text()}});
      if (!o.json) fmt::print("{}: {}\n", entry.id.text, task.error().text());
      continue;
    }
    tasks.push_back(task_json(*task));
    if (!o.json) fmt::print("{}", task_text(*task));
  }
  if (o.json) print_json({{"schema", 1}, {"tasks", tasks}, {"errors", errors}});
  return errors.empty() ? kExitDone : kExitFinding;
}

// Adds options of the table, each setting its field at once.
void add_options(CLI::App& command, const std::shared_ptr<TaskOptions>& o,
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

int exit_of(const Result<int>& code) { return code ? *code : complain(code.error()); }

}  // namespace

void add_tasks(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("tasks", "Task files: what a suite holds, what the probe makes of it");
  command->require_subcommand(1);
  CLI::App* listing =
      command->add_subcommand("list", "The tasks of a suite, in the order in which a campaign takes them");
  auto lo = std::make_shared<TaskOptions>();
  add_options(*listing, lo, {"--suite", "--only"});
  listing->callback([lo, &exit_code] { exit_code = exit_of(list(*lo)); });
  CLI::App* probing =
      command->add_subcommand("probe",
                              "Packs task files: graph, shapes, inputs, goldens. Cached; says what is wrong "
                              "with a file. Exit code 1: some cannot be packed");
  auto po = std::make_shared<TaskOptions>();
  probing->add_option("FILE", po->task, "A task file or a folder of them, in place of --suite");
  add_options(*probing, po, {"--suite", "--only", "--cache"});
  probing->callback([po, &exit_code] { exit_code = exit_of(probe(*po)); });
  add_audit(*command, exit_code);
}

}  // namespace evk
