// Studies of retrieval and learning in the synthetic world: one campaign per variant and seed, through the
// product's own retrieval, agent and learner, without verifier and store. The worlds of a seed are the same
// for every variant, so that variants are compared pair by pair.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "campaign/synthetic.h"

namespace evk {

struct StudyConfig {
  int seeds = 40;
  std::int64_t sweeps = 30;
  SyntheticConfig world;  // its seed is replaced, 1 to `seeds`
  int jobs = 1;           // changes the speed only
};

// One setting of what is studied.
struct Variant {
  std::string name;
  LearnConfig learn;
  RetrieveConfig retrieve;
  ScheduleConfig schedule;
  bool task_major = false;  // a task uses its whole budget before the next one begins
};

// Where a campaign of the study ended.
struct StudyRun {
  double solved = 0, solved_half = 0;  // tasks with a feasible kernel: at the end, after half the sweeps
  double attempts_to_solve = 0;        // mean over the solved tasks
  double speedup = 0;                  // geometric mean of first latency / best, over the solved tasks
  double seen = 0;                     // share of the items that were ever used
};

// Mean with half the width of its 95 % confidence interval (Student's t over the seeds).
struct Interval {
  double mean = 0, half_width = 0;
};
Interval interval_of(const std::vector<double>& samples);

struct StudyRow {
  std::string name;
  Interval solved, solved_half, attempts_to_solve, speedup, seen;
  Interval against_first;  // solved, less that of the first variant in the same world
};

// The variants that a study of this name compares; the first one is what the others are held against. Empty
// for an unknown name. Names: values, q0, pool-size, policies, steps, order.
std::vector<Variant> study_variants(const std::string& name);
const std::vector<std::string>& study_names();

StudyRun run_variant(const Variant& variant, const SyntheticConfig& world, std::int64_t sweeps);
// Rows in the order of the variants. Equal whatever the number of jobs.
std::vector<StudyRow> run_study(const StudyConfig& config, const std::vector<Variant>& variants);

}  // namespace evk
