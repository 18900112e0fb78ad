// The red-team corpus: known tricks and honest kernels that look like them, each with the verdict it must
// get.
//
// A case is a folder with the files of a candidate (laid over those of its task's honest base) and
// `expect.json`:
//   {"task": "affine", "gate": "run", "codes": ["twin.gm_write_out_of_bounds"], "why": "one line"}
// `gate` is "passed" for honest ones. `codes` lists what the first deciding finding may be; empty allows any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "core/verifier.h"
#include "verify/case_data.h"

namespace evk {

struct RedTeamCase {
  std::string name, task, gate, why;
  std::vector<std::string> codes;
  Candidate candidate;
};

// Sorted by name. Fails on a folder that is not as above; the message names it.
Result<std::vector<RedTeamCase>> read_red_team(const std::string& folder);

// The tasks of the corpus: "affine" (y = 2 x + 1) and "softmax" (rows). Their data are drawn in memory.
std::vector<Task> red_team_tasks();
std::unique_ptr<CaseReader> red_team_reader();

enum class RedTeamEnd { kCaught, kMissed, kFalseAlarm, kPassed, kOtherCode };

struct RedTeamResult {
  std::string name, expected_gate, gate, code, message;
  RedTeamEnd end = RedTeamEnd::kMissed;
};

// kMissed: a trick passed. kFalseAlarm: an honest kernel was refused. kOtherCode: a trick was refused, but
// not by the gate and code that should have.
Result<RedTeamResult> run_red_team_case(Verifier& verifier, const RedTeamCase& which);

}  // namespace evk
