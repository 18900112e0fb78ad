// The seam between the agent and the gates.
#pragma once

#include "base/result.h"
#include "core/candidate.h"
#include "core/task.h"
#include "core/verdict.h"

namespace evk {

class Verifier {
 public:
  virtual ~Verifier() = default;
  // Takes the candidate through the gates (screen, compile, run, compare, measure), cheapest first; the first
  // refusal ends it. Equal candidates get equal verdicts. An Error says that no verdict could be reached, and
  // is no fault of the candidate. Safe to call from several threads at once.
  virtual Result<Verdict> verify(const Task& task, const Candidate& candidate) = 0;
};

}  // namespace evk
