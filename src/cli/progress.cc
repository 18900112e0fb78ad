#include "cli/progress.h"

#include <fmt/format.h>

#include <cstdio>

namespace evk {

void Progress::on_attempt(const Attempt& attempt, const Learnt& learnt, std::int64_t done, std::int64_t of) {
  const bool first = attempt.verdict && is_feasible(*attempt.verdict) && !learnt.best_before;
  if (learnt.best_after != learnt.best_before || first) on_best_(attempt);
  if (quiet_ || !terminal_) return;
  fmt::print(stderr, "\r\033[K  sweep {}: {} of {}  {} {}", attempt.sweep, done, of, attempt.task.text,
             attempt.verdict ? code_of(*attempt.verdict) : "no verdict");
  std::fflush(stderr);
}

void Progress::on_sweep(const SweepSummary& s) {
  if (quiet_) return;
  if (terminal_) fmt::print(stderr, "\r\033[K");
  fmt::print(stderr,
             "sweep {:>3}/{}: {} attempts, {} compiled, {} feasible; {} of {} tasks solved; {:.1f} s{}\n",
             s.sweep, s.sweeps, s.attempted, s.compiled, s.feasible, s.solved, s.tasks, s.seconds,
             s.infrastructure_errors ? fmt::format("; {} without a verdict", s.infrastructure_errors) : "");
}

}  // namespace evk
