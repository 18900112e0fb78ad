#include "agent/agent.h"

#include <chrono>

namespace evk {
namespace {

class Stopwatch {
 public:
  // Milliseconds since the last call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Our own inability is tried again before it is recorded; it is never the candidate's fault.
Result<Verdict> verify_patiently(const Task& task, const Candidate& candidate, const Stages& stages) {
  Result<Verdict> verdict = stages.verify.verify(task, candidate);
  for (int i = 0; i < stages.infrastructure_retries && !verdict && verdict.error().retry == Retry::kSameCall;
       ++i)
    verdict = stages.verify.verify(task, candidate);
  return verdict;
}

Attempt without_verdict(Attempt attempt, const Error& error) {
  attempt.infrastructure_error = error.text();
  return attempt;
}

// Generates from the context and verifies: what both stages share.
Attempt complete(const Task& task, Context context, const AttemptKey& key, const Stages& stages,
                 WallTimes& wall) {
  Stopwatch watch;
  Attempt a;
  a.task = task.id;
  a.sweep = key.sweep;
  a.prompt = stages.prompt(task, context);
  a.context = std::move(context);
  wall["prompt"] = watch.lap();

  auto answer = stages.generate.generate(
      {task, a.context, a.prompt, Random::of(key.seed, key.sweep, task.id.text, "generate")});
  wall["generate"] = watch.lap();
  if (!answer) return without_verdict(std::move(a), answer.error());
  a.answer = *std::move(answer);

  auto candidate = stages.parse(task, a.context, a.answer.text);
  if (!candidate) {
    a.verdict = Verdict{Rejected{{candidate.error()}}, {}, {}, {}, ""};
    return a;
  }
  a.candidate = *std::move(candidate);
  if (stages.known) a.verdict = stages.known(task.id, a.candidate);
  if (a.verdict) return a;
  auto verdict = verify_patiently(task, a.candidate, stages);
  wall["verify"] = watch.lap();
  if (!verdict) return without_verdict(std::move(a), verdict.error());
  a.verdict = *std::move(verdict);
  return a;
}

}  // namespace

Attempt draft(const Task& task, const LearningState& state, const AttemptKey& key, const Stages& stages,
              WallTimes& wall) {
  Stopwatch watch;
  Random random = Random::of(key.seed, key.sweep, task.id.text, "select");
  Context context = retrieve_for_draft(task, stages.memory, state, stages.retrieve, key.exploration, random);
  wall["retrieve"] = watch.lap();
  return complete(task, std::move(context), key, stages, wall);
}

Attempt refine(const Task& task, const LearningState& state, const AttemptKey& key, const Stages& stages,
               WallTimes& wall) {
  Stopwatch watch;
  Random random = Random::of(key.seed, key.sweep, task.id.text, "select");
  Context context = retrieve_for_refine(task, stages.memory, state, stages.retrieve, key.exploration, random);
  wall["retrieve"] = watch.lap();
  return complete(task, std::move(context), key, stages, wall);
}

Attempt attempt(const Task& task, const LearningState& state, const AttemptKey& key, const Stages& stages,
                WallTimes& wall) {
  return state.progress(task.id).start_points.empty() ? draft(task, state, key, stages, wall)
                                                      : refine(task, state, key, stages, wall);
}

}  // namespace evk
