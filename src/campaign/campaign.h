// Attempts over a batch of tasks, sweep by sweep (learning.md 3): in each sweep every task with budget left
// makes one attempt, all reading the same snapshot of memory; results are committed in task order, one
// transaction each. The same seed and answers give the same store, bit for bit, whatever the number of
// workers and however often it was killed.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "campaign/known_verdicts.h"
#include "campaign/schedule.h"
#include "learn/learner.h"
#include "store/store.h"

namespace evk {

struct CampaignConfig {
  std::uint64_t seed = 1;
  std::int64_t sweeps = 30;  // T: budget of every task, drafting and refining together
  LearnConfig learn;
  ScheduleConfig schedule;
  RetrieveConfig retrieve;
  Duplicates duplicates = Duplicates::kExact;
  std::map<std::string, std::string>
      described;  // everything else that changes results (generator, device, ...)
  // Change the speed only.
  int jobs = 1;
  std::string kept_index;  // file that the memory's index is kept in; empty = made again at each opening
};

// The stored form: every key that changes results. A campaign continues only with equal values (but for
// `sweeps`).
std::map<std::string, std::string> to_meta(const CampaignConfig& config);

struct SweepSummary {
  std::int64_t sweep = 0, sweeps = 0;
  std::int64_t attempted = 0, compiled = 0, feasible = 0;  // of this sweep's attempts
  std::int64_t solved = 0, tasks = 0;                      // so far
  std::int64_t infrastructure_errors = 0;
  double seconds = 0;
};

// Told of each committed attempt and each finished sweep, from the campaign's thread.
class CampaignObserver {
 public:
  virtual ~CampaignObserver() = default;
  virtual void on_attempt(const Attempt& attempt, const Learnt& learnt, std::int64_t done,
                          std::int64_t of) = 0;
  virtual void on_sweep(const SweepSummary& summary) = 0;
};

// What `Stages` needs besides memory, which the campaign owns.
struct CampaignParts {
  Generator& generate;
  Verifier& verify;
  std::function<std::string(const Task&, const Context&)> prompt;
  std::function<tl::expected<Candidate, Finding>(const Task&, const Context&, const std::string&)> parse;
  FactsOf facts_of;
};

class Campaign {
 public:
  // Begins the campaign in a new store with `seeds` as M0, or takes up the one that the store holds: tasks
  // and configuration must be those it was begun with (an Error names the first difference). Referents
  // outlive the Campaign.
  static Result<std::unique_ptr<Campaign>> open(const CampaignConfig& config, std::vector<Task> tasks,
                                                std::vector<MemoryItem> seeds, CampaignParts parts,
                                                Store& store);
  ~Campaign();

  // Runs sweeps until every budget is used, `stop` becomes true (it then ends at an attempt's boundary) or
  // something is in the way. What was committed stays committed.
  Status run(CampaignObserver& observer, const std::atomic<bool>& stop);

  const LearningState& state() const { return committed_; }
  const std::vector<Task>& tasks() const { return tasks_; }
  std::int64_t attempts() const { return attempts_; }

 private:
  Campaign(const CampaignConfig& config, std::vector<Task> tasks, CampaignParts parts, Store& store);
  Status begin(const std::vector<MemoryItem>& seeds);
  Status start_from_priors();
  Status resume();
  Status run_sweep(CampaignObserver& observer, const std::atomic<bool>& stop);
  Status commit(Attempt attempt, const WallTimes& wall, CampaignObserver& observer, SweepSummary& summary,
                std::int64_t of);
  void take_memory(std::vector<MemoryItem> items);
  void close_sweep();
  Status keep_index(double growth);
  std::vector<const Task*> wave() const;
  const Task& task_of(const TaskId& id) const;

  CampaignConfig config_;
  std::vector<Task> tasks_;
  std::map<TaskId, std::size_t> position_;
  CampaignParts parts_;
  Store& store_;
  std::unique_ptr<Memory> memory_;      // items of finished sweeps; null while a log is folded
  LearningState snapshot_, committed_;  // at the start of the sweep; after the last commit
  KnownVerdicts known_;                 // of finished sweeps
  std::vector<MemoryItem> pending_;     // items of this sweep
  std::vector<Attempt> fresh_;          // attempts of this sweep: what `known_` takes in at its end
  std::vector<TaskId> done_;            // tasks whose attempt of this sweep is committed
  std::size_t kept_items_ = 0;          // as many has the index that was last kept
  std::int64_t sweep_ = 1;
  std::int64_t attempts_ = 0;
};

}  // namespace evk
