// A run's report for people and for programs.
#pragma once

#include <nlohmann/json.hpp>

#include "twin/engine/session.h"

namespace evk::twin {

// "complete", "tiling failed", "aborted", "timed out", "runaway".
const char* end_text(RunEnd end);
nlohmann::json json_of(const Finding& finding);
// A line on stdout, and one for the remedy.
void show_finding(const Finding& finding);
// One object, "schema": 1; docs/twin.md describes it.
nlohmann::json to_json(const RunReport& report, const std::vector<LaunchTensor>& outputs,
                       const Device& device);
// What bounds the kernel. First one of cube_bound, vector_bound, scalar_bound, load_bound, store_bound,
// fixpipe_bound (that pipe is busy at least half of the time), stall_bound (no pipe is busy 35 % of it) or
// "mixed:A+B" (the two busiest); then few_cores (blocks on less than half of the cores) and bank_conflict
// (more than a tenth of the vector cycles), where they hold. Empty if nothing ran.
std::vector<std::string> bottlenecks(const RunProfile& profile, const Device& device);
// Several lines on stdout: times by pipe, bandwidth, copies, bottlenecks.
void show_profile(const RunProfile& profile, const Device& device);
// One line of headings and one of figures, in microseconds and shares, as the vendor's profiler names them.
Status write_csv(const RunProfile& profile, const Device& device, const std::string& path);
// Several lines on stdout.
void show(const RunReport& report, const std::vector<LaunchTensor>& outputs);

}  // namespace evk::twin
