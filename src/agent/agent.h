// One attempt: retrieve, generate, verify (paper figure 1). Learning follows at commit, in task order
// (campaign/).
#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/attempt.h"
#include "core/verifier.h"
#include "retrieve/retriever.h"

namespace evk {

// What an attempt is made with. Nothing is owned: each referent outlives the attempt. Used from several
// threads at once.
struct Stages {
  const Memory& memory;  // not added to while attempts run
  Generator& generate;
  Verifier& verify;
  std::function<std::string(const Task&, const Context&)> prompt;
  // The candidate of an answer, or the finding that says why there is none.
  std::function<tl::expected<Candidate, Finding>(const Task&, const Context&, const std::string& answer)>
      parse;
  RetrieveConfig retrieve;
  // The verdict of a candidate that the task has had before; may be empty.
  std::function<std::optional<Verdict>(const TaskId&, const Candidate&)> known = {};
  int infrastructure_retries = 3;
};

// Which attempt this is: with the campaign's seed it names every random draw.
struct AttemptKey {
  std::uint64_t seed = 0;
  std::int64_t sweep = 0;
  Exploration exploration;
};

// Wall time by phase, in ms: kept apart from the attempt, which must repeat bit for bit.
using WallTimes = std::map<std::string, double>;

// Get one feasible kernel (paper 3.3).
Attempt draft(const Task& task, const LearningState& state, const AttemptKey& key, const Stages& stages,
              WallTimes& wall);
// Make it faster, from a start point (paper 3.4). REQUIRES: the task has one.
Attempt refine(const Task& task, const LearningState& state, const AttemptKey& key, const Stages& stages,
               WallTimes& wall);
// Drafts while P(x) is empty, refines afterwards.
Attempt attempt(const Task& task, const LearningState& state, const AttemptKey& key, const Stages& stages,
                WallTimes& wall);

}  // namespace evk
