#include "cli/command_audit.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/make_parts.h"
#include "cli/resources.h"
#include "task/probe.h"
#include "verify/pack_reader.h"
#include "verify/task_audit.h"

namespace evk {
namespace {

using nlohmann::json;

struct AuditOptions {
  RunOptions run;
  std::string task;
  bool json = false;
};

json json_of(const TaskAudit& audit) {
  json mutants = json::array();
  for (const Mutant& m : audit.mutants)
    mutants.push_back({{"name", m.name},
                       {"cases", m.cases},
                       {"refused_public", m.refused_public},
                       {"refused_hidden", m.refused_hidden},
                       {"refused_by_paper", m.refused_by_paper}});
  return {{"task", audit.task},     {"admission", std::string(name_of(audit.admission))},
          {"reason", audit.reason}, {"score", audit.score},
          {"mutants", mutants},     {"ignorable", audit.ignorable}};
}

void print(const TaskAudit& audit) {
  fmt::print("{:<44} {:<9} {:>4.0f}%  {}\n", audit.task, name_of(audit.admission), 100 * audit.score,
             audit.reason);
  for (const Mutant& m : audit.mutants)
    if (!m.killed()) fmt::print("    survives every case: {}\n", m.name);
  for (const std::string& name : audit.ignorable) fmt::print("    no output depends on {}\n", name);
}

Result<int> audit(AuditOptions& o) {
  EVK_TRY(const auto root, resource_root());
  std::error_code ignored;
  if (!o.task.empty()) (std::filesystem::exists(o.task, ignored) ? o.run.suite : o.run.only) = o.task;
  const std::string cache = o.run.cache.empty() ? default_cache_folder() : o.run.cache;
  EVK_TRY(const auto entries, find_tasks(o.run, root));
  const Probe probe(probe_config(root, cache + "/packs"));
  const auto reader = make_pack_reader(64 << 20);
  json tasks = json::array(), errors = json::array();
  int admitted = 0, repaired = 0, refused = 0;
  for (const auto& entry : entries) {
    const auto found =
        probe.load(entry).and_then([&](const Task& task) { return audit_task(task, *reader); });
    if (!found) {
      errors.push_back({{"task", entry.id.text}, {"error", found.error().text()}});
      if (!o.json) fmt::print("{:<44} {:<9}        {}\n", entry.id.text, "unpacked", found.error().text());
      continue;
    }
    ++(found->admission == Admission::kAdmitted   ? admitted
       : found->admission == Admission::kRepaired ? repaired
                                                  : refused);
    tasks.push_back(json_of(*found));
    if (!o.json) print(*found);
  }
  if (o.json)
    print_json({{"schema", 1},
                {"admitted", admitted},
                {"repaired", repaired},
                {"refused", refused},
                {"tasks", tasks},
                {"errors", errors}});
  else
    fmt::print("\n{} tasks admitted, {} repaired by hidden cases, {} refused, {} could not be packed.\n",
               admitted, repaired, refused, errors.size());
  return refused == 0 && errors.empty() ? kExitDone : kExitFinding;
}

}  // namespace

void add_audit(CLI::App& tasks, int& exit_code) {
  CLI::App* command = tasks.add_subcommand(
      "audit",
      "Puts wrong answers to each task's checks: which pass, what the task is worth. Exit code 1: some "
      "task is refused, or cannot be packed");
  auto o = std::make_shared<AuditOptions>();
  command->add_option("TASK", o->task, "A task file, a folder of them, or the name of a task of --suite");
  for (const auto& option : run_options())
    for (const char* flag : {"--suite", "--only", "--cache"})
      if (std::string(flag) == option.flag)
        command->add_option_function<std::string>(
            flag,
            [o, &option](const std::string& value) {
              if (const Status set = option.set(o->run, value); !set)
                throw CLI::ValidationError(option.flag, set.error().message);
            },
            option.help);
  command->add_flag("--json", o->json, "One JSON object instead of text");
  command->callback([o, &exit_code] {
    const auto code = audit(*o);
    exit_code = code ? *code : complain(code.error());
  });
}

}  // namespace evk
