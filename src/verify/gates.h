// The gates, cheapest first. Each looks at a candidate with the evidence of those before it, and may end the
// trip.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "core/verdict.h"
#include "verify/case_data.h"
#include "verify/verifier_config.h"

namespace evk {

// What is known of a candidate so far.
struct Evidence {
  std::optional<Built> built;
  std::vector<Finding> notes;
  std::vector<ErrorStats> errors;
  std::optional<bool> paper_pass;
  std::vector<std::string> checks;  // see Verdict::checks
};

class Gate {
 public:
  virtual ~Gate() = default;
  // An outcome ends the trip; none lets the candidate pass to the next gate. An Error is never the
  // candidate's fault.
  virtual Result<std::optional<Outcome>> inspect(const Task& task, const Candidate& candidate,
                                                 Evidence& evidence) const = 0;
};

// `backend` and `cases` must outlive the gates.
std::unique_ptr<Gate> make_screen_gate(const ScreenLimits& limits);
std::unique_ptr<Gate> make_compile_gate(Backend& backend);
std::unique_ptr<Gate> make_compare_gate(const VerifierConfig& config, Backend& backend, CaseReader& cases);
std::unique_ptr<Gate> make_measure_gate(const VerifierConfig& config, Backend& backend, CaseReader& cases);

// Keeps the first `notes_max` notes that differ in code and place.
void add_notes(Evidence& evidence, const std::vector<Finding>& notes, std::size_t notes_max = 20);

}  // namespace evk
