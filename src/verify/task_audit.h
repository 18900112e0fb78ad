// Asks of a task, not of a kernel: can its checks tell a right answer from a wrong one? Wrong answers are
// made of the task's own goldens and put to the comparator, as a kernel's would be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "verify/case_data.h"

namespace evk {

// One wrong answer, put to every case.
struct Mutant {
  std::string name;          // "zeros", "mean", "other_input", ...
  int cases = 0;             // to which it applies
  int refused_public = 0;    // public cases that refuse it by the strict comparison
  int refused_hidden = 0;    // hidden ones
  int refused_by_paper = 0;  // of all, by the paper's tolerance alone
  bool killed() const { return refused_public + refused_hidden > 0; }
};

enum class Admission {
  kAdmitted,  // the public cases refuse every answer that computes nothing
  kRepaired,  // only the hidden cases do
  kRefused,   // no case refuses one of them: the task gives no reward
};

struct TaskAudit {
  std::string task;
  Admission admission = Admission::kAdmitted;
  std::string reason;  // of a repair or a refusal, one line
  std::vector<Mutant> mutants;
  std::vector<std::string> ignorable;  // operands that no output depends on, by the graph
  double score = 0;                    // mutants killed / mutants
};

// Reads every verified case. An Error says which file cannot be read.
Result<TaskAudit> audit_task(const Task& task, CaseReader& cases);

std::string_view name_of(Admission admission);

}  // namespace evk
