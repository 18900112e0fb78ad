// What a verdict teaches about the decisions of a candidate: the typed facts of a memory item.
#pragma once

#include <vector>

#include "core/candidate.h"
#include "core/memory_item.h"
#include "core/task.h"
#include "core/verdict.h"

namespace evk {

// Of a feasible candidate: every choice works. Of a failed one: the choice that printed the deciding
// finding's line fails, if the line names exactly one suspect; once it had compiled, its spellings work; else
// nothing is known. Empty for a candidate without declared choices, or whose choices are none of the
// composer's constructs.
std::vector<Fact> facts_of(const Task& task, const Candidate& candidate, const Verdict& verdict);

}  // namespace evk
