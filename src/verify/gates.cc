#include "verify/gates.h"

#include <algorithm>

#include "verify/screen.h"

namespace evk {
namespace {

using Inspected = Result<std::optional<Outcome>>;

class ScreenGate final : public Gate {
 public:
  explicit ScreenGate(const ScreenLimits& limits) : limits_(limits) {}
  Inspected inspect(const Task& task, const Candidate& candidate, Evidence&) const override {
    std::vector<Finding> findings = screen(task, candidate, limits_);
    if (findings.empty()) return std::optional<Outcome>();
    return std::optional<Outcome>(Rejected{std::move(findings)});
  }

 private:
  const ScreenLimits limits_;
};

class CompileGate final : public Gate {
 public:
  explicit CompileGate(Backend& backend) : backend_(backend) {}
  Inspected inspect(const Task&, const Candidate& candidate, Evidence& evidence) const override {
    EVK_TRY(BuildOutcome outcome, backend_.build(candidate));
    if (auto* wrong = std::get_if<BuildFailed>(&outcome))
      return std::optional<Outcome>(Unbuilt{std::move(wrong->findings), std::move(wrong->log)});
    evidence.built = std::get<Built>(std::move(outcome));
    return std::optional<Outcome>();
  }

 private:
  Backend& backend_;
};

}  // namespace

std::unique_ptr<Gate> make_screen_gate(const ScreenLimits& limits) {
  return std::make_unique<ScreenGate>(limits);
}
std::unique_ptr<Gate> make_compile_gate(Backend& backend) { return std::make_unique<CompileGate>(backend); }

void add_notes(Evidence& evidence, const std::vector<Finding>& notes, std::size_t notes_max) {
  for (const Finding& note : notes) {
    const bool known = std::any_of(evidence.notes.begin(), evidence.notes.end(), [&](const Finding& old) {
      return old.code == note.code && old.file == note.file && old.line == note.line;
    });
    if (!known && evidence.notes.size() < notes_max) evidence.notes.push_back(note);
  }
}

}  // namespace evk
