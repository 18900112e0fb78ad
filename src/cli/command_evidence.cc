#include "cli/command_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/evidence_bundle.h"
#include "cli/make_parts.h"
#include "cli/resources.h"
#include "report/explain.h"
#include "task/pack.h"
#include "task/probe.h"

namespace evk {
namespace {

using nlohmann::json;

struct EvidenceOptions {
  RunOptions run;
  std::string task, bundle, out;
  bool json = false;
};

bool names(const TaskId& id, const std::string& word) {
  return id.text == word || id.text.ends_with("/" + word);
}

// The fastest measured attempt at the task.
Result<Attempt> best_attempt(Store& store, const std::string& task) {
  EVK_TRY(const auto listed, store.items());
  std::vector<ItemPtr> items;
  for (const MemoryItem& item : listed) items.push_back(std::make_shared<const MemoryItem>(item));
  EVK_TRY(auto attempts, store.attempts(items));
  const Attempt* best = nullptr;
  for (const StoredAttempt& stored : attempts) {
    const Attempt& a = stored.attempt;
    if (!names(a.task, task) || !a.verdict || !latency_ns(*a.verdict)) continue;
    if (best == nullptr || *latency_ns(*a.verdict) < *latency_ns(*best->verdict)) best = &a;
  }
  if (best == nullptr)
    return failure(fmt::format("the store holds no measured kernel for the task '{}'", task),
                   Retry::kAfterFix);
  return *best;
}

Result<Task> task_of(const EvidenceOptions& o, const TaskId& id) {
  EVK_TRY(const auto root, resource_root());
  const std::string cache = o.run.cache.empty() ? default_cache_folder() : o.run.cache;
  EVK_TRY(const auto entries, find_tasks(o.run, root));
  const auto entry =
      std::find_if(entries.begin(), entries.end(), [&](const SuiteEntry& e) { return e.id == id; });
  if (entry == entries.end())
    return failure(
        fmt::format("the suite '{}' holds no task {}; name its suite by --suite", o.run.suite, id.text),
        Retry::kAfterFix);
  return Probe(probe_config(root, cache + "/packs")).load(*entry);
}

Result<int> export_best(EvidenceOptions& o) {
  EVK_TRY(const auto store, Store::read(o.run.store));
  EVK_TRY(const Attempt best, best_attempt(*store, o.task));
  EVK_TRY(const Task task, task_of(o, best.task));
  EVK_TRY(json record, explain_json(*store, best.id));
  const Bundle bundle{task.id.text, task.source_sha256, {}, best.candidate, *best.verdict, std::move(record)};
  EVK_TRY_STATUS(write_bundle(o.out, bundle, task.folder));
  const double nanoseconds = *latency_ns(*best.verdict);
  if (o.json)
    print_json({{"schema", 1},
                {"task", task.id.text},
                {"attempt", best.id.number},
                {"latency_ns", nanoseconds},
                {"harness", best.verdict->harness},
                {"bundle", o.out}});
  else
    fmt::print("{}: attempt {}, {:.0f} ns (simulated), in {}\n", task.id.text, best.id.number, nanoseconds,
               o.out);
  return kExitDone;
}

json json_of(const Bundle& bundle, const Verdict& verdict, bool same_harness, bool confirmed) {
  const auto before = latency_ns(bundle.verdict), now = latency_ns(verdict);
  return {{"schema", 1},
          {"task", bundle.task},
          {"confirmed", confirmed},
          {"same_harness", same_harness},
          {"gate", gate_of(verdict)},
          {"code", code_of(verdict)},
          {"latency_ns", now ? json(*now) : json(nullptr)},
          {"claimed_gate", gate_of(bundle.verdict)},
          {"claimed_latency_ns", before ? json(*before) : json(nullptr)}};
}

// Confirmed: the gates say the same of the kernel now and, where the harness is the same, to the bit.
Result<int> reverify(EvidenceOptions& o) {
  EVK_TRY(const Bundle bundle, read_bundle(o.bundle));
  EVK_TRY(Task task, read_pack(o.bundle + "/pack"));
  if (task.source_sha256 != bundle.source_sha256)
    return failure("bundle.json: source_sha256 is not that of the pack's task");
  task.id = {bundle.task};
  EVK_TRY(const auto workshop, make_workshop(o.run));
  EVK_TRY(const Verdict verdict, workshop->verifier->verify(task, bundle.kernel));
  const bool same_harness = verdict.harness == bundle.verdict.harness;
  const bool confirmed = gate_of(verdict) == gate_of(bundle.verdict) &&
                         code_of(verdict) == code_of(bundle.verdict) &&
                         (!same_harness || verdict.outcome == bundle.verdict.outcome);
  if (o.json) {
    print_json(json_of(bundle, verdict, same_harness, confirmed));
  } else {
    fmt::print("{}: {}. The bundle says {} ({}); verified now: {} ({}){}\n", bundle.task,
               confirmed ? "confirmed" : "NOT CONFIRMED", gate_of(bundle.verdict), code_of(bundle.verdict),
               gate_of(verdict), code_of(verdict),
               same_harness ? "" : "; another version of the verifier or device wrote the bundle");
    if (const auto before = latency_ns(bundle.verdict), now = latency_ns(verdict); before && now)
      fmt::print("  latency {:.0f} ns then, {:.0f} ns now (simulated)\n", *before, *now);
    for (const std::string& check : verdict.checks) fmt::print("  {}\n", check);
  }
  return confirmed ? kExitDone : kExitFinding;
}

void add_flags(CLI::App& command, const std::shared_ptr<EvidenceOptions>& o,
               std::initializer_list<const char*> flags) {
  for (const auto& option : run_options())
    for (const char* flag : flags)
      if (std::string(flag) == option.flag)
        command.add_option_function<std::string>(
            flag,
            [o, &option](const std::string& value) {
              if (const Status set = option.set(o->run, value); !set)
                throw CLI::ValidationError(option.flag, set.error().message);
            },
            option.help);
  command.add_flag("--json", o->json, "One JSON object instead of text");
}

int exit_of(const Result<int>& code) { return code ? *code : complain(code.error()); }

}  // namespace

void add_export(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "export",
      "A task's fastest kernel as a bundle: files, task pack, verdict, record of the attempt, hashes");
  auto o = std::make_shared<EvidenceOptions>();
  command->add_option("TASK", o->task, "The task's id, or its last part")->required();
  command->add_option("--out", o->out, "The new folder of the bundle")->required();
  add_flags(*command, o, {"--store", "--suite", "--cache"});
  command->callback([o, &exit_code] { exit_code = exit_of(export_best(*o)); });
}

void add_reverify(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "reverify", "Checks a bundle and takes its kernel through the gates again. Exit code 1: not confirmed");
  auto o = std::make_shared<EvidenceOptions>();
  command->add_option("BUNDLE", o->bundle, "The bundle's folder")->required();
  add_flags(*command, o, {"--device", "--tolerance", "--cache"});
  command->callback([o, &exit_code] { exit_code = exit_of(reverify(*o)); });
}

}  // namespace evk
