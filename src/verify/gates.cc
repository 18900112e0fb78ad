#include "verify/gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "verify/run_request.h"
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

Finding measure_finding(double latency_ns, double floor_ns) {
  Finding finding;
  finding.code = "measure.impossible";
  finding.message = fmt::format(
      "the figure of {:.0f} ns is below the {:.0f} ns that writing the outputs takes at full bandwidth",
      latency_ns, floor_ns);
  finding.remedy = "write every output from the kernel";
  return finding;
}

// A kernel that leaves out work at the timed sizes, where no output is compared, is not faster but wrong.
Finding unwritten_finding(const ShapeSet& shapes, std::size_t output, std::uint64_t bytes) {
  Finding finding;
  finding.code = "measure.unwritten";
  finding.message = fmt::format("at the timed shapes (\"{}\") {} bytes of output {} are never written",
                                shapes.id, bytes, shapes.outputs[output].name);
  finding.remedy = "write every element of every output at every size";
  return finding;
}

class MeasureGate final : public Gate {
 public:
  explicit MeasureGate(Backend& backend) : backend_(backend) {}
  Inspected inspect(const Task& task, const Candidate& candidate, Evidence& evidence) const override {
    const ShapeSet* shapes = timed_shapes(task);
    if (shapes == nullptr) return failure(fmt::format("task {} has no shapes to time", task.id.text));
    RunRequest request = empty_request(task, *shapes);
    request.move_data = false;
    request.poison = poison_of(task, candidate, shapes->id + "/timed", 0);
    EVK_TRY(RunResult first, backend_.run(*evidence.built, request));
    if (first.kind != RunResultKind::kComplete)
      return std::optional<Outcome>(ended_early(std::move(first), *shapes));
    request.poison = poison_of(task, candidate, shapes->id + "/timed", 1);
    EVK_TRY(const RunResult second, backend_.run(*evidence.built, request));
    if (second.kind != RunResultKind::kComplete || second.cycles != first.cycles ||
        second.trace_hash != first.trace_hash) {
      return std::optional<Outcome>(Unsteady{std::min(first.latency_ns, second.latency_ns),
                                             std::max(first.latency_ns, second.latency_ns)});
    }
    for (std::size_t i = 0; i < first.unwritten_bytes.size(); ++i)
      if (first.unwritten_bytes[i] > 0)
        return std::optional<Outcome>(Faulted{{unwritten_finding(*shapes, i, first.unwritten_bytes[i])}});
    const double floor = backend_.floor_ns(output_bytes(*shapes));
    if (first.latency_ns < floor)
      return std::optional<Outcome>(Faulted{{measure_finding(first.latency_ns, floor)}});
    add_notes(evidence, first.notes);
    return std::optional<Outcome>(Measured{first.latency_ns, first.simulated, std::move(first.profile)});
  }

 private:
  static Outcome ended_early(RunResult run, const ShapeSet& shapes) {
    for (Finding& finding : run.findings)
      finding.message += fmt::format(" (at the timed shapes, \"{}\")", shapes.id);
    if (run.kind == RunResultKind::kStopped) return Stopped{std::move(run.limit), std::move(run.findings)};
    return Faulted{std::move(run.findings)};
  }

  Backend& backend_;
};

}  // namespace

std::unique_ptr<Gate> make_screen_gate(const ScreenLimits& limits) {
  return std::make_unique<ScreenGate>(limits);
}
std::unique_ptr<Gate> make_compile_gate(Backend& backend) { return std::make_unique<CompileGate>(backend); }
std::unique_ptr<Gate> make_measure_gate(Backend& backend) { return std::make_unique<MeasureGate>(backend); }

void add_notes(Evidence& evidence, const std::vector<Finding>& notes, std::size_t notes_max) {
  for (const Finding& note : notes) {
    const bool known = std::any_of(evidence.notes.begin(), evidence.notes.end(), [&](const Finding& old) {
      return old.code == note.code && old.file == note.file && old.line == note.line;
    });
    if (!known && evidence.notes.size() < notes_max) evidence.notes.push_back(note);
  }
}

}  // namespace evk
