// What the verifier found. A bad kernel is a finding; an Error means that we could not look.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace evk {

// One thing that is wrong (or, as a note, worth knowing), at a line of the candidate.
struct Finding {
  std::string code;  // stable: "screen.forbidden_token", "compile.error", "twin.gm_read_out_of_bounds", ...
  std::string message;  // one line
  std::string remedy;   // one line; may be empty
  std::string file;     // path within the candidate; empty if unknown
  int line = 0;
  std::string other_file;  // of the earlier access, if two are involved
  int other_line = 0;
  std::uint64_t count = 1;
  bool note = false;
  auto operator<=>(const Finding&) const = default;
};

// Simulated or measured loads of the kernel: what refining reads. Ratios in [0, 1].
struct Profile {
  std::map<std::string, double>
      metric;              // "vec_ratio", "mte2_ratio", "block_dim", ...: msprof's names where it has one
  std::string bottleneck;  // label of learning.md 4.9: "vector_bound", "mixed:load+store", ...
  std::vector<std::string> hot_lines;  // "file:line pipe busy stalled", most expensive first, at most 5
  bool operator==(const Profile&) const = default;
};

// How far one comparison was off. Errors in units of the tolerance are comparable between tasks.
struct ErrorStats {
  std::string case_id;
  bool hidden = false;
  std::string output;
  std::uint64_t elements = 0, mismatched = 0;
  double abs_max = 0, rel_max = 0;
  double over_tolerance_max = 0;  // largest error / its bound
  double centred_rel = 0;
  std::uint64_t nan_count = 0, inf_count = 0, unwritten = 0;
  std::vector<std::int64_t> first, region_low,
      region_high;  // public cases only: first mismatch and bounding box
  bool operator==(const ErrorStats&) const = default;
};

// The alternatives: each way an attempt can end is a type with just its own data.
struct Rejected {
  std::vector<Finding> findings;
  bool operator==(const Rejected&) const = default;
};  // screen gate
struct Unbuilt {
  std::vector<Finding> findings;
  std::string log;
  bool operator==(const Unbuilt&) const = default;
};  // compile gate
struct Stopped {
  std::string limit;
  std::vector<Finding> findings;
  bool operator==(const Stopped&) const = default;
};  // time, memory, files, processes
struct Faulted {
  std::vector<Finding> findings;
  bool operator==(const Faulted&) const = default;
};  // crash, race, bounds
struct Mismatched {
  std::vector<ErrorStats> stats;
  std::vector<Finding> findings;
  bool operator==(const Mismatched&) const = default;
};  // compare gate
struct Unsteady {
  double fastest_ns = 0, slowest_ns = 0;
  bool operator==(const Unsteady&) const = default;
};  // correct, but its runs disagree
struct Measured {
  double latency_ns = 0;
  bool simulated = true;
  Profile profile;
  bool operator==(const Measured&) const = default;
};

using Outcome = std::variant<Rejected, Unbuilt, Stopped, Faulted, Mismatched, Unsteady, Measured>;

struct Verdict {
  Outcome outcome;
  std::vector<Finding> notes;  // do not decide
  std::optional<bool>
      paper_pass;  // the paper's tolerance (1e-2, 5 trials); unset if the gate was not reached
  std::vector<ErrorStats> errors;   // of every comparison made
  std::string harness;              // hash of verifier version, device file and limits
  std::vector<std::string> checks;  // what was applied, and what could not be, one line each
  bool operator==(const Verdict&) const = default;
};

// Passed screen, compile and compare (paper 3.5). Only `Measured` has a latency to learn from.
bool is_feasible(const Verdict& verdict);
// Reached a running program: passed screen and compile.
bool is_compiled(const Verdict& verdict);
// The latency, if it was measured.
std::optional<double> latency_ns(const Verdict& verdict);
// "screen", "compile", "run", "compare", "measure" (the gate that failed), or "passed".
std::string gate_of(const Verdict& verdict);
// The first deciding finding's code; "passed" for a feasible candidate.
std::string code_of(const Verdict& verdict);
// The findings that decided; empty for a feasible candidate.
const std::vector<Finding>& findings_of(const Verdict& verdict);
// Findings worded for a model or person: gate, rule, line, what to change; at most `chars_max` characters.
std::string feedback_of(const Verdict& verdict, std::size_t chars_max = 4000);

// The stored form. `verdict_from` checks every field.
nlohmann::json to_json(const Verdict& verdict);
Result<Verdict> verdict_from(const nlohmann::json& json);
nlohmann::json to_json(const Finding& finding);

}  // namespace evk
