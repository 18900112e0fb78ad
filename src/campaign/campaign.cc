#include "campaign/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "campaign/memory_of.h"
#include "campaign/workers.h"
#include "memory/item_identity.h"

namespace evk {
namespace {

// A sweep in which nothing could be verified is a machine's trouble, not bad luck: going on would burn
// sweeps.
constexpr std::int64_t kSweepsMaxFactor = 2;

// A smaller memory is embedded again as fast as it is read; a larger one is written once it has grown so
// much.
constexpr std::size_t kKeptItemsMin = 2000;
constexpr double kKeptGrowth = 1.2;

Status same_campaign(const std::map<std::string, std::string>& stored,
                     const std::map<std::string, std::string>& wanted) {
  const auto value_in = [](const auto& meta, const std::string& key) {
    const auto found = meta.find(key);
    return found == meta.end() ? std::string("the default") : "'" + found->second + "'";
  };
  auto keys = wanted;
  keys.insert(stored.begin(), stored.end());
  for (const auto& [key, any] : keys)
    if (key != "sweeps" && !is_record_key(key) && value_in(stored, key) != value_in(wanted, key))
      return failure(
          fmt::format("the store was begun with {} = {}, now it is {}; give the same value, or a new --store",
                      key, value_in(stored, key), value_in(wanted, key)));
  return {};
}

Status same_tasks(const std::vector<StoredTask>& stored, const std::vector<Task>& wanted) {
  for (std::size_t i = 0; i < std::max(stored.size(), wanted.size()); ++i) {
    const std::string before = i < stored.size() ? stored[i].id.text : "none";
    const std::string now = i < wanted.size() ? wanted[i].id.text : "none";
    if (before != now)
      return failure(
          fmt::format("the store's task {} is {}, now it is {}; give the same tasks, or a new --store", i + 1,
                      before, now));
    if (stored[i].source_sha256 != wanted[i].source_sha256)
      return failure(fmt::format(
          "the source of task {} has changed since the store was begun; give a new --store", now));
  }
  return {};
}

std::vector<StoredTask> stored_form(const std::vector<Task>& tasks) {
  std::vector<StoredTask> list;
  for (const auto& t : tasks) list.push_back({t.id, t.category, t.source_sha256});
  return list;
}

// The seeds that are not there yet, numbered on. What was brought in as a seed and no longer is one becomes a
// plain import, in `there` and in the store.
Result<std::vector<MemoryItem>> fresh_seeds(Store& store, const std::vector<MemoryItem>& seeds,
                                            std::vector<MemoryItem>& there) {
  std::map<std::string, bool> wanted;  // by content; true once it is there
  for (const auto& seed : seeds) wanted[content_hash(seed)] = false;
  std::vector<ItemId> retired;
  for (auto& item : there) {
    if (item.source != "seed") continue;
    const auto found = wanted.find(content_hash(item));
    if (found != wanted.end()) {
      found->second = true;
    } else {
      item.source = "import";
      retired.push_back(item.id);
    }
  }
  if (!retired.empty()) EVK_TRY_STATUS(store.retire_seeds(retired));
  std::vector<MemoryItem> fresh;
  auto number = static_cast<std::int64_t>(there.size());
  for (const auto& seed : seeds) {
    if (wanted.at(content_hash(seed))) continue;
    fresh.push_back(seed);
    fresh.back().id = {++number};
  }
  return fresh;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// What is beyond the paper is written down only if it is on: a store of the defaults reads as ever.
void add_options(const CampaignConfig& c, std::map<std::string, std::string>& meta) {
  const RankConfig& rank = c.retrieve.rank;
  if (rank.rule == Rule::kUcb1) meta["retrieve.ucb_c"] = fmt::format("{}", rank.ucb_c);
  if (rank.rule == Rule::kMemRl) meta["retrieve.mix"] = fmt::format("{}", rank.mix);
  if (rank.mmr < 1) meta["retrieve.mmr"] = fmt::format("{}", rank.mmr);
  if (c.retrieve.shrinkage > 0) meta["retrieve.shrinkage"] = fmt::format("{}", c.retrieve.shrinkage);
  if (!c.retrieve.quotas) meta["retrieve.quotas"] = "none";
  if (c.retrieve.leave_one_out > 0)
    meta["retrieve.leave_one_out"] = fmt::format("{}", c.retrieve.leave_one_out);
  if (c.learn.step.offset) meta["learn.step_offset"] = fmt::format("{}", *c.learn.step.offset);
  const UnusedConfig& unused = c.learn.unused;
  if (unused.rule != UnusedRule::kTaskMean) meta["learn.q0"] = name_of(unused.rule);
  if (unused.rule == UnusedRule::kConst) meta["learn.q0_value"] = fmt::format("{}", unused.constant);
  if (!c.learn.start_own) meta["learn.start_q0"] = "zero";
  if (c.learn.credit == Credit::kAdvantage) meta["learn.credit"] = "advantage";
  if (c.duplicates == Duplicates::kNear) meta["verify.duplicates"] = "near";
}

}  // namespace

std::map<std::string, std::string> to_meta(const CampaignConfig& c) {
  std::map<std::string, std::string> meta = c.described;
  meta["seed"] = fmt::format("{}", c.seed);
  meta["sweeps"] = fmt::format("{}", c.sweeps);
  meta["learn.alpha"] = fmt::format("{}", c.learn.step.alpha);
  meta["learn.normaliser"] = fmt::format("warm_up {} sigma_min {} clip {}", c.learn.normaliser.warm_up,
                                         c.learn.normaliser.sigma_min, c.learn.normaliser.clip);
  meta["retrieve.slots"] = fmt::format("{}", c.retrieve.slots);
  meta["retrieve.policy"] = name_of(c.retrieve.rank.rule);
  meta["retrieve.memory"] = c.retrieve.frozen ? "frozen" : c.retrieve.shared ? "shared" : "isolated";
  meta["retrieve.api"] = fmt::format("exact {} semantic {} pitfalls {}", c.retrieve.api_exact_max,
                                     c.retrieve.api_semantic_max, c.retrieve.pitfalls_max);
  meta["retrieve.chars_max"] = fmt::format("{}", c.retrieve.chars_max);
  meta["schedule.lambda"] =
      fmt::format("{} {} to {} by {} after {}", name_of(c.schedule.lambda_rule), c.schedule.pool.lambda_start,
                  c.schedule.pool.lambda_max, c.schedule.pool.growth, c.schedule.pool.patience_sweeps);
  meta["schedule.epsilon"] = fmt::format("{} {} to {}", name_of(c.schedule.epsilon_rule),
                                         c.schedule.epsilon_start, c.schedule.epsilon_end);
  add_options(c, meta);
  return meta;
}

Campaign::Campaign(const CampaignConfig& config, std::vector<Task> tasks, CampaignParts parts, Store& store)
    : config_(config),
      tasks_(std::move(tasks)),
      parts_(std::move(parts)),
      store_(store),
      snapshot_(config.schedule.pool),
      committed_(config.schedule.pool),
      known_(config.duplicates) {
  for (std::size_t i = 0; i < tasks_.size(); ++i) position_[tasks_[i].id] = i;
}

Campaign::~Campaign() = default;

Result<std::unique_ptr<Campaign>> Campaign::open(const CampaignConfig& config, std::vector<Task> tasks,
                                                 std::vector<MemoryItem> seeds, CampaignParts parts,
                                                 Store& store) {
  auto campaign = std::unique_ptr<Campaign>(new Campaign(config, std::move(tasks), std::move(parts), store));
  if (campaign->position_.size() != campaign->tasks_.size())
    return failure("two tasks have the same id; rename one");
  EVK_TRY_STATUS(store.is_new() ? campaign->begin(seeds) : campaign->resume());
  return campaign;
}

Status Campaign::begin(const std::vector<MemoryItem>& seeds) {
  EVK_TRY(auto brought_in, store_.items());
  EVK_TRY(const auto fresh, fresh_seeds(store_, seeds, brought_in));
  EVK_TRY_STATUS(store_.begin_campaign(to_meta(config_), stored_form(tasks_), fresh));
  brought_in.insert(brought_in.end(), fresh.begin(), fresh.end());
  EVK_TRY_STATUS(start_from_priors());
  take_memory(std::move(brought_in));
  return {};
}

// The values that came along with what was brought in.
Status Campaign::start_from_priors() {
  EVK_TRY(const auto priors, store_.priors());
  for (const auto& [key, value] : priors) {
    snapshot_.restore(key.first, key.second, value);
    committed_.restore(key.first, key.second, value);
  }
  return {};
}

Status Campaign::resume() {
  EVK_TRY(const auto meta, store_.meta());
  EVK_TRY_STATUS(same_campaign(meta, to_meta(config_)));
  EVK_TRY(const auto stored_tasks, store_.tasks());
  EVK_TRY_STATUS(same_tasks(stored_tasks, tasks_));
  if (meta.at("sweeps") != fmt::format("{}", config_.sweeps))
    EVK_TRY_STATUS(store_.set_meta("sweeps", fmt::format("{}", config_.sweeps)));

  EVK_TRY_STATUS(start_from_priors());
  EVK_TRY(auto items, store_.items());
  std::vector<ItemPtr> shared;
  for (const auto& item : items) shared.push_back(std::make_shared<const MemoryItem>(item));
  EVK_TRY(auto log, store_.attempts(shared));
  // Folding the log again gives the state that the run had: sweep by sweep, as the snapshots were taken.
  for (auto& [attempt, learnt] : log) {
    while (attempt.sweep > sweep_) close_sweep();
    if (!position_.contains(attempt.task))
      return failure(fmt::format("the store holds an attempt at unknown task {}", attempt.task.text));
    committed_.apply(attempt, learnt);
    pending_.insert(pending_.end(), learnt.items.begin(), learnt.items.end());
    done_.push_back(attempt.task);
    fresh_.push_back(std::move(attempt));
    ++attempts_;
  }
  if (!done_.empty() && done_.size() == wave().size()) close_sweep();  // it was whole when the run ended
  items.resize(items.size() - pending_.size());
  take_memory(std::move(items));
  return {};
}

void Campaign::take_memory(std::vector<MemoryItem> items) {
  memory_ = memory_of(std::move(items), config_.kept_index);
  kept_items_ = memory_->kept_vectors();
}

// Between two sweeps: what was learnt becomes the snapshot that the next sweep reads.
void Campaign::close_sweep() {
  if (memory_)
    for (auto& item : pending_) memory_->add(std::move(item));
  for (const auto& attempt : fresh_) known_.add(attempt);
  pending_.clear();
  fresh_.clear();
  done_.clear();
  committed_.end_sweep(config_.schedule.pool);
  snapshot_ = committed_;
  ++sweep_;
}

// Keeps the index beside the store when it has grown enough to be worth the writing.
Status Campaign::keep_index(double growth) {
  const std::size_t size = memory_->size();
  if (config_.kept_index.empty() || size < kKeptItemsMin ||
      static_cast<double>(size) < growth * static_cast<double>(kept_items_) || size == kept_items_)
    return {};
  kept_items_ = size;
  return memory_->keep_index(config_.kept_index);
}

// The tasks that attempt in this sweep: those with budget left when it began.
std::vector<const Task*> Campaign::wave() const {
  std::vector<const Task*> wave;
  for (const auto& task : tasks_)
    if (snapshot_.progress(task.id).budget_used < config_.sweeps) wave.push_back(&task);
  return wave;
}

const Task& Campaign::task_of(const TaskId& id) const { return tasks_[position_.at(id)]; }

Status Campaign::run(CampaignObserver& observer, const std::atomic<bool>& stop) {
  while (!wave().empty() && !stop) {
    if (sweep_ > kSweepsMaxFactor * config_.sweeps)
      return failure("too many attempts ended without a verdict; see `evokernel explain` for their errors",
                     Retry::kAfterFix);
    EVK_TRY_STATUS(run_sweep(observer, stop));
    EVK_TRY_STATUS(keep_index(kKeptGrowth));
  }
  return keep_index(1);
}

Status Campaign::run_sweep(CampaignObserver& observer, const std::atomic<bool>& stop) {
  const auto start = std::chrono::steady_clock::now();
  const auto all = wave();
  std::vector<const Task*> open;
  for (const Task* task : all)
    if (std::find(done_.begin(), done_.end(), task->id) == done_.end()) open.push_back(task);

  const Stages stages{*memory_,
                      parts_.generate,
                      parts_.verify,
                      parts_.prompt,
                      parts_.parse,
                      config_.retrieve,
                      [this](const TaskId& task, const Candidate& c) { return known_.find(task, c); }};
  const AttemptKey key{config_.seed, sweep_,
                       exploration_at(config_.schedule, snapshot_, sweep_, config_.sweeps)};
  SweepSummary summary{sweep_, config_.sweeps};
  std::vector<WallTimes> wall(open.size());
  const Status done = run_in_order<Attempt>(
      config_.jobs, open.size(), stop,
      [&](std::size_t i) { return attempt(*open[i], snapshot_, key, stages, wall[i]); },
      [&](std::size_t i, Attempt a) {
        return commit(std::move(a), wall[i], observer, summary, static_cast<std::int64_t>(all.size()));
      });
  EVK_TRY_STATUS(done);
  if (done_.size() < all.size()) return {};  // stopped on the way
  if (!all.empty() && summary.infrastructure_errors == static_cast<std::int64_t>(all.size()))
    return failure(
        fmt::format("no attempt of sweep {} reached a verdict; `evokernel doctor` shows what is missing",
                    sweep_),
        Retry::kAfterFix);
  close_sweep();
  summary.solved = committed_.solved();
  summary.tasks = static_cast<std::int64_t>(tasks_.size());
  summary.seconds = seconds_since(start);
  observer.on_sweep(summary);
  return {};
}

Status Campaign::commit(Attempt a, const WallTimes& wall, CampaignObserver& observer, SweepSummary& summary,
                        std::int64_t of) {
  a.id = {attempts_ + 1};
  const auto next_item = static_cast<std::int64_t>(memory_->size() + pending_.size()) + 1;
  const Learnt learnt = learn_from(task_of(a.task), a, committed_, config_.learn, parts_.facts_of, next_item);
  EVK_TRY_STATUS(store_.commit(a, learnt, wall));
  committed_.apply(a, learnt);
  pending_.insert(pending_.end(), learnt.items.begin(), learnt.items.end());
  done_.push_back(a.task);
  ++attempts_;
  ++summary.attempted;
  if (a.verdict) {
    summary.compiled += is_compiled(*a.verdict);
    summary.feasible += is_feasible(*a.verdict);
  } else {
    ++summary.infrastructure_errors;
  }
  observer.on_attempt(a, learnt, static_cast<std::int64_t>(done_.size()), of);
  fresh_.push_back(std::move(a));
  return {};
}

}  // namespace evk
