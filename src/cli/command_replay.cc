// evokernel replay: a campaign again from its recorded answers, compared attempt by attempt.
#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "campaign/campaign.h"
#include "cli/commands.h"
#include "cli/make_parts.h"
#include "cli/progress.h"
#include "cli/resources.h"
#include "report/report.h"

namespace evk {
namespace {

namespace fs = std::filesystem;

struct ReplayOptions {
  RunOptions run;
  std::string store;
  bool json = false, quiet = false;
};

struct Recorded {
  std::map<std::string, std::string> meta;
  std::vector<StoredTask> tasks;
  std::vector<MemoryItem> items;
  std::vector<StoredAttempt> attempts;
  std::string fingerprint;
};

Result<Recorded> read_recorded(const std::string& path) {
  EVK_TRY(const auto store, Store::read(path));
  Recorded recorded;
  EVK_TRY(recorded.meta, store->meta());
  EVK_TRY(recorded.tasks, store->tasks());
  EVK_TRY(recorded.items, store->items());
  std::vector<ItemPtr> items;
  for (const MemoryItem& item : recorded.items) items.push_back(std::make_shared<const MemoryItem>(item));
  EVK_TRY(recorded.attempts, store->attempts(items));
  EVK_TRY(recorded.fingerprint, store->fingerprint());
  if (recorded.attempts.empty())
    return failure(path + ": holds no attempt; run a campaign first", Retry::kAfterFix);
  return recorded;
}

std::size_t first_difference(const std::string& a, const std::string& b) {
  return static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())),
                    b.begin())
          .first -
      a.begin());
}

// Answers each task's requests with what was recorded for it, in order.
class StoreGenerator final : public Generator {
 public:
  explicit StoreGenerator(const std::vector<StoredAttempt>& attempts) {
    for (const StoredAttempt& stored : attempts) of_task_[stored.attempt.task].push_back(&stored.attempt);
  }

  Result<Answer> generate(const GenerateRequest& request) override {
    const std::lock_guard lock(mutex_);
    auto& left = of_task_[request.task.id];
    std::size_t& at = next_[request.task.id];
    if (at >= left.size())
      return problem(
          fmt::format("{}: {} attempts are recorded, another one is asked for", request.task.id.text, at));
    const Attempt& attempt = *left[at];
    if (!attempt.infrastructure_error.empty()) {
      ++at;
      return failure(attempt.infrastructure_error);
    }
    if (attempt.prompt != request.prompt)
      return problem(fmt::format("{}, sweep {}: the prompt differs from the recorded one at byte {}",
                                 request.task.id.text, attempt.sweep,
                                 first_difference(attempt.prompt, request.prompt)));
    ++at;
    return attempt.answer;
  }

  // Why the first request that could not be answered was none of the record; empty if there was none.
  std::string problem_found() {
    const std::lock_guard lock(mutex_);
    return problem_;
  }

 private:
  tl::unexpected<Error> problem(std::string text) {
    if (problem_.empty()) problem_ = text;
    return failure(std::move(text));
  }

  std::mutex mutex_;
  std::string problem_;
  std::map<TaskId, std::vector<const Attempt*>> of_task_;
  std::map<TaskId, std::size_t> next_;
};

// What the record says wins over defaults; what it does not hold plainly must be given by flags.
Status take_over(RunOptions& options, const std::map<std::string, std::string>& meta) {
  const std::map<std::string, std::string> plain = {{"seed", "--seed"},
                                                    {"sweeps", "--sweeps"},
                                                    {"device", "--device"},
                                                    {"backend", "--backend"},
                                                    {"tolerance", "--tolerance"},
                                                    {"learn.alpha", "--alpha"},
                                                    {"retrieve.slots", "--slots"},
                                                    {"retrieve.policy", "--policy"},
                                                    {"retrieve.memory", "--memory"},
                                                    {"command", "--command"}};
  for (const auto& [key, flag] : plain) {
    const auto at = meta.find(key);
    if (at == meta.end()) continue;
    for (const Option& option : run_options())
      if (option.flag == flag) EVK_TRY_STATUS(option.set(options, at->second));
  }
  return {};
}

// The tasks of the record, in its order.
Result<std::vector<Task>> recorded_tasks(const RunOptions& options, const Recorded& recorded,
                                         const std::string& root, const std::string& cache, const Say& say) {
  EVK_TRY(auto found, load_tasks(options, root, cache, say));
  std::vector<Task> tasks;
  for (const StoredTask& wanted : recorded.tasks) {
    const auto at =
        std::find_if(found.begin(), found.end(), [&](const Task& task) { return task.id == wanted.id; });
    if (at == found.end())
      return failure(
          fmt::format("the suite '{}' has no task {}; name the suite of the recorded campaign by --suite",
                      options.suite, wanted.id.text),
          Retry::kAfterFix);
    if (at->source_sha256 != wanted.source_sha256)
      return failure(fmt::format("the file of {} has changed since the campaign", wanted.id.text),
                     Retry::kAfterFix);
    tasks.push_back(std::move(*at));
  }
  return tasks;
}

// Where two attempts differ first; empty if they are alike.
std::string difference(const StoredAttempt& a, const StoredAttempt& b) {
  if (a.attempt.task != b.attempt.task || a.attempt.sweep != b.attempt.sweep) return "the order of attempts";
  if (a.attempt.prompt != b.attempt.prompt) return "the prompt";
  if (a.attempt.answer.text != b.attempt.answer.text) return "the answer";
  if (a.attempt.candidate.hash() != b.attempt.candidate.hash()) return "what the answer was taken for";
  if (a.attempt.verdict.has_value() != b.attempt.verdict.has_value()) return "whether there is a verdict";
  if (a.attempt.verdict && to_json(*a.attempt.verdict) != to_json(*b.attempt.verdict)) return "the verdict";
  if (a.learnt.reward != b.learnt.reward || a.learnt.reward_hat != b.learnt.reward_hat) return "the reward";
  return "";
}

// The first configuration value that differs; empty if none does.
std::string difference(const std::map<std::string, std::string>& recorded,
                       const std::map<std::string, std::string>& now) {
  for (const auto& [key, value] : recorded)
    if (const auto at = now.find(key); at == now.end() || at->second != value)
      return fmt::format("the configuration differs in {}: '{}' was recorded; give it by its flag", key,
                         value);
  return "";
}

struct Outcome {
  std::size_t attempts = 0;
  std::string fingerprint, where;  // of the first difference
  bool same = false;
};

Outcome compare(const Recorded& before, const Recorded& now) {
  Outcome outcome{now.attempts.size(), now.fingerprint, "", before.fingerprint == now.fingerprint};
  if (outcome.same) return outcome;
  for (std::size_t i = 0; i < std::min(before.attempts.size(), now.attempts.size()) && outcome.where.empty();
       ++i) {
    const std::string what = difference(before.attempts[i], now.attempts[i]);
    if (!what.empty()) outcome.where = fmt::format("attempt {}: {} differs", i + 1, what);
  }
  if (outcome.where.empty() && before.attempts.size() != now.attempts.size())
    outcome.where = fmt::format("{} attempts were recorded", before.attempts.size());
  if (outcome.where.empty()) outcome.where = "the seed memory or the values differ";
  return outcome;
}

// A folder that goes when it is done with.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "evk-replay-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<Outcome> replay(ReplayOptions& o) {
  EVK_TRY(const Recorded recorded, read_recorded(o.store));
  EVK_TRY_STATUS(take_over(o.run, recorded.meta));
  const Say say = [&](const std::string& line) {
    if (!o.quiet) fmt::print(stderr, "{}\n", line);
  };
  RunOptions makers = o.run;
  makers.generator = "composer";  // answers come from the record, whoever gave them
  EVK_TRY(const auto workshop, make_workshop(makers));
  auto answers = std::make_unique<StoreGenerator>(recorded.attempts);
  StoreGenerator& generator = *answers;
  workshop->generator = std::move(answers);
  if (const auto at = recorded.meta.find("generator"); at != recorded.meta.end())
    o.run.generator = at->second;
  if (const std::string where = difference(recorded.meta, to_meta(campaign_config(o.run))); !where.empty())
    return Outcome{0, "", where, false};
  EVK_TRY(auto tasks, recorded_tasks(o.run, recorded, workshop->root, workshop->cache, say));
  EVK_TRY(auto seeds, load_seeds(o.run, workshop->root));
  const ScratchFolder folder;
  if (folder.path().empty())
    return failure("cannot make a folder for the second store; check TMPDIR", Retry::kAfterFix);
  const std::string path = folder.path() + "/replay.evk";
  {
    EVK_TRY(const auto store, Store::open(path));
    EVK_TRY(const auto campaign, Campaign::open(campaign_config(o.run), std::move(tasks), std::move(seeds),
                                                workshop->parts(), *store));
    Progress progress(o.quiet, false, [](const Attempt&) {});
    const std::atomic<bool> stop{false};
    const Status ran = campaign->run(progress, stop);
    if (const std::string where = generator.problem_found(); !where.empty())
      return Outcome{static_cast<std::size_t>(campaign->attempts()), "", where, false};
    EVK_TRY_STATUS(ran);
  }
  EVK_TRY(const Recorded now, read_recorded(path));
  return compare(recorded, now);
}

int run(ReplayOptions& o) {
  const auto outcome = replay(o);
  if (!outcome) return complain(outcome.error());
  if (o.json)
    print_json({{"schema", 1},
                {"same", outcome->same},
                {"attempts", outcome->attempts},
                {"fingerprint", outcome->fingerprint},
                {"difference", outcome->where}});
  else if (outcome->same)
    fmt::print("{} attempts replayed: equal bit for bit; fingerprint {}\n", outcome->attempts,
               outcome->fingerprint);
  else
    fmt::print("{} attempts replayed: {}\n", outcome->attempts, outcome->where);
  return outcome->same ? kExitDone : kExitFinding;
}

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("replay",
                                         "Runs a campaign again from its recorded answers, in a store of its "
                                         "own, and compares both bit for bit.\n"
                                         "Exit code 1: they differ, and where first");
  auto o = std::make_shared<ReplayOptions>();
  command->add_option("STORE", o->store, "The campaign's record")->required();
  for (const Option& option : run_options()) {
    const std::string flag = option.flag;
    if (flag == "--store" || flag == "--out" || flag == "--generator" || flag == "--cassette" ||
        flag == "--record")
      continue;
    command->add_option_function<std::string>(
        flag,
        [o, &option](const std::string& value) {
          const Status set = option.set(o->run, value);
          if (!set) throw CLI::ValidationError(option.flag, set.error().message);
        },
        option.help);
  }
  command->add_flag("--json", o->json, "One JSON object instead of text");
  command->add_flag("--quiet", o->quiet, "No progress on stderr");
  command->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace evk
