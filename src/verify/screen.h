// The first gate: rules about what a candidate may say, read off its tokens. Costs microseconds, and names
// rule, line, reason and remedy. It guards honest generators from blunders and cheap tricks; what it misses,
// the sandbox, the object check and the engine's process boundary stop.
#pragma once

#include <vector>

#include "core/candidate.h"
#include "core/task.h"
#include "core/verdict.h"

namespace evk {

struct ScreenLimits {
  std::size_t files_max = 16;
  std::size_t bytes_max = 256 * 1024;  // of all files
  std::size_t literals_max = 256;      // elements of one brace list
};

// All findings, in order of file and line, at most 20; empty if the candidate may be compiled. Codes:
// "screen.size", "screen.path", "screen.encoding", "screen.unreadable", "screen.include",
// "screen.forbidden_token", "screen.directive", "screen.conditional", "screen.attribute", "screen.internal",
// "screen.mutable_static", "screen.literal_table", "screen.no_entry", "screen.no_transfer",
// "screen.no_compute".
std::vector<Finding> screen(const Task& task, const Candidate& candidate, const ScreenLimits& limits = {});

}  // namespace evk
