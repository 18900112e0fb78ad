// From the twin's report of a run to the verifier's values.
#pragma once

#include "backend/backend.h"
#include "sandbox/child.h"
#include "twin/engine/session.h"

namespace evk {

// Codes get the prefix "twin."; paths lose the folder that the compiler saw.
Finding finding_of(const twin::Finding& finding);
Profile profile_of(const twin::RunProfile& profile, const twin::Device& device);
// Label of the loads: pipe with a ratio of at least 0.5 -> "vector_bound", "load_bound", ...; none above 0.35
// -> "stall_bound"; else "mixed:<two>". Flags "few_cores" and "bank_conflict" follow, separated by spaces.
std::string bottleneck_of(const twin::RunProfile& profile, int cores);
// What the run came to, given how its child ended.
RunResult result_of(twin::RunReport report, const ChildEnd& child, const twin::Device& device);

}  // namespace evk
