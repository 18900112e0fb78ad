#include "campaign/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "campaign/workers.h"

namespace evk {
namespace {

// A campaign in the synthetic world: sweeps as in campaign.cc, without a store.
class Bench {
 public:
  Bench(const Variant& variant, const SyntheticConfig& config, std::int64_t sweeps)
      : variant_(variant),
        world_(config),
        parts_(world_.parts()),
        seed_(config.seed),
        sweeps_(sweeps),
        memory_(world_.embedder()),
        snapshot_(variant.schedule.pool),
        committed_(variant.schedule.pool) {}

  StudyRun run() {
    if (variant_.task_major)
      for (const auto& task : world_.tasks())
        for (std::int64_t sweep = 1; sweep <= sweeps_; ++sweep) run_sweep({&task}, sweep);
    else
      for (std::int64_t sweep = 1; sweep <= sweeps_; ++sweep) run_sweep(all_tasks(), sweep);
    return summary();
  }

 private:
  std::vector<const Task*> all_tasks() const {
    std::vector<const Task*> list;
    for (const auto& task : world_.tasks()) list.push_back(&task);
    return list;
  }

  void run_sweep(const std::vector<const Task*>& wave, std::int64_t sweep) {
    const Stages stages{memory_,       parts_.generate, parts_.verify,
                        parts_.prompt, parts_.parse,    variant_.retrieve};
    const AttemptKey key{seed_, sweep, exploration_at(variant_.schedule, snapshot_, sweep, sweeps_)};
    std::vector<MemoryItem> fresh;
    for (const Task* task : wave) {
      WallTimes wall;
      Attempt a = attempt(*task, snapshot_, key, stages, wall);
      a.id = {++attempts_};
      const auto next = static_cast<std::int64_t>(memory_.size() + fresh.size()) + 1;
      Learnt learnt = learn_from(*task, a, committed_, variant_.learn, parts_.facts_of, next);
      committed_.apply(a, learnt);
      for (auto& item : learnt.items) fresh.push_back(std::move(item));
    }
    for (auto& item : fresh) {
      item.key_text += item.name;  // in this world each item has a key of its own
      memory_.add(std::move(item));
    }
    committed_.end_sweep(variant_.schedule.pool);
    snapshot_ = committed_;
  }

  StudyRun summary() const {
    StudyRun run;
    double log_speedup = 0, tried = 0;
    for (const auto& task : world_.tasks()) {
      const TaskProgress& progress = committed_.progress(task.id);
      if (!progress.first_feasible_sweep) continue;
      ++run.solved;
      run.solved_half += *progress.first_feasible_sweep <= sweeps_ / 2;
      tried += static_cast<double>(*progress.first_feasible_sweep);
      if (progress.first_ns && progress.best_ns)
        log_speedup += std::log(*progress.first_ns / *progress.best_ns);
    }
    if (run.solved > 0) {
      run.attempts_to_solve = tried / run.solved;
      run.speedup = std::exp(log_speedup / run.solved);
    }
    run.seen = share_seen();
    return run;
  }

  double share_seen() const {
    std::vector<char> seen(memory_.size() + 1, 0);
    for (const auto& [key, value] : committed_.values().all())
      if (value.n > (key.first == Stage::kRefine && memory_.at(key.second)->feasible ? 1 : 0))
        seen[static_cast<std::size_t>(key.second.number)] = 1;
    const auto count = static_cast<double>(std::count(seen.begin(), seen.end(), 1));
    return memory_.size() ? count / static_cast<double>(memory_.size()) : 0;
  }

  const Variant& variant_;
  SyntheticWorld world_;
  CampaignParts parts_;
  std::uint64_t seed_;
  std::int64_t sweeps_;
  Memory memory_;
  LearningState snapshot_, committed_;
  std::int64_t attempts_ = 0;
};

// The 97.5 % quantile of Student's t, by Cornish and Fisher's expansion around the normal's; exact to 0.02
// from three degrees of freedom on.
double t_quantile(double freedom) {
  const double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

template <typename Field>
Interval interval_over(const std::vector<StudyRun>& runs, const Field& field) {
  std::vector<double> samples;
  for (const auto& run : runs) samples.push_back(field(run));
  return interval_of(samples);
}

StudyRow row_of(const std::string& name, const std::vector<StudyRun>& runs,
                const std::vector<StudyRun>& first) {
  StudyRow row;
  row.name = name;
  row.solved = interval_over(runs, [](const StudyRun& r) { return r.solved; });
  row.solved_half = interval_over(runs, [](const StudyRun& r) { return r.solved_half; });
  row.attempts_to_solve = interval_over(runs, [](const StudyRun& r) { return r.attempts_to_solve; });
  row.speedup = interval_over(runs, [](const StudyRun& r) { return r.speedup; });
  row.seen = interval_over(runs, [](const StudyRun& r) { return r.seen; });
  std::vector<double> differences;
  for (std::size_t i = 0; i < runs.size(); ++i) differences.push_back(runs[i].solved - first[i].solved);
  row.against_first = interval_of(differences);
  return row;
}

}  // namespace

Interval interval_of(const std::vector<double>& samples) {
  const double n = static_cast<double>(samples.size());
  Interval interval;
  if (samples.empty()) return interval;
  for (const double s : samples) interval.mean += s / n;
  if (samples.size() < 2) return interval;
  double squares = 0;
  for (const double s : samples) squares += (s - interval.mean) * (s - interval.mean);
  interval.half_width = t_quantile(n - 1) * std::sqrt(squares / (n - 1) / n);
  return interval;
}

StudyRun run_variant(const Variant& variant, const SyntheticConfig& world, std::int64_t sweeps) {
  return Bench(variant, world, sweeps).run();
}

std::vector<StudyRow> run_study(const StudyConfig& config, const std::vector<Variant>& variants) {
  const auto seeds = static_cast<std::size_t>(config.seeds);
  std::vector<std::vector<StudyRun>> runs(variants.size());
  const std::atomic<bool> never{false};
  const Status done = run_in_order<StudyRun>(
      config.jobs, variants.size() * seeds, never,
      [&](std::size_t i) {
        SyntheticConfig world = config.world;
        world.seed = i % seeds + 1;
        return run_variant(variants[i / seeds], world, config.sweeps);
      },
      [&](std::size_t i, const StudyRun& run) -> Status {
        runs[i / seeds].push_back(run);
        return {};
      });
  EVK_CHECK(done.has_value());
  std::vector<StudyRow> rows;
  for (std::size_t v = 0; v < variants.size(); ++v)
    rows.push_back(row_of(variants[v].name, runs[v], runs.front()));
  return rows;
}

}  // namespace evk
