// The gate that times a candidate, and looks at its values at the timed sizes.
#include <fmt/format.h>

#include <algorithm>

#include "verify/gates.h"
#include "verify/run_request.h"

namespace evk {
namespace {

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

Finding timed_mismatch(const ErrorStats& stats, const ShapeSet& shapes) {
  Finding finding;
  finding.code = "compare.timed_mismatch";
  finding.message =
      fmt::format("{} of {} elements of {} that were looked at are wrong at the timed shapes (\"{}\")",
                  stats.mismatched, stats.elements, stats.output, shapes.id);
  finding.remedy = "compute the same function at every size";
  return finding;
}

class MeasureGate final : public Gate {
 public:
  MeasureGate(const VerifierConfig& config, Backend& backend, CaseReader& cases)
      : config_(config), backend_(backend), cases_(cases) {}
  Result<std::optional<Outcome>> inspect(const Task& task, const Candidate& candidate,
                                         Evidence& evidence) const override {
    const ShapeSet* shapes = timed_shapes(task);
    if (shapes == nullptr) return failure(fmt::format("task {} has no shapes to time", task.id.text));
    RunRequest request = empty_request(task, *shapes);
    request.move_data = false;
    request.poison = poison_of(task, candidate, shapes->id + "/timed", 0, config_.secret);
    EVK_TRY(RunResult first, backend_.run(*evidence.built, request));
    if (first.kind != RunResultKind::kComplete)
      return std::optional<Outcome>(ended_early(std::move(first), *shapes));
    request.poison = poison_of(task, candidate, shapes->id + "/timed", 1, config_.secret);
    EVK_TRY(const RunResult second, backend_.run(*evidence.built, request));
    if (second.kind != RunResultKind::kComplete || second.cycles != first.cycles ||
        second.trace_hash != first.trace_hash) {
      return std::optional<Outcome>(Unsteady{std::min(first.latency_ns, second.latency_ns),
                                             std::max(first.latency_ns, second.latency_ns)});
    }
    for (std::size_t i = 0; i < first.unwritten_bytes.size(); ++i)
      if (first.unwritten_bytes[i] > 0)
        return std::optional<Outcome>(Faulted{{unwritten_finding(*shapes, i, first.unwritten_bytes[i])}});
    EVK_TRY(std::optional<Outcome> wrong, check_values(task, candidate, *shapes, evidence));
    if (wrong) return wrong;
    const double floor = backend_.floor_ns(output_bytes(*shapes));
    if (first.latency_ns < floor)
      return std::optional<Outcome>(Faulted{{measure_finding(first.latency_ns, floor)}});
    add_notes(evidence, first.notes);
    return std::optional<Outcome>(Measured{first.latency_ns, first.simulated, std::move(first.profile)});
  }

 private:
  // With data at the timed sizes, once, and the outputs compared at positions that the candidate cannot know.
  Result<std::optional<Outcome>> check_values(const Task& task, const Candidate& candidate,
                                              const ShapeSet& shapes, Evidence& evidence) const {
    EVK_TRY(const std::shared_ptr<const TimedData> data, cases_.read_timed(task, shapes));
    if (data == nullptr) {
      evidence.checks.push_back(shapes.cases.empty()
                                    ? "no values are known at the timed shapes: none compared"
                                    : "the timed shapes are among the compared ones");
      return std::optional<Outcome>();
    }
    if (data->inputs.size() != shapes.inputs.size() || data->goldens.size() != shapes.outputs.size())
      return failure(fmt::format("the timed case of task {} has another number of tensors; probe it again",
                                 task.id.text),
                     Retry::kAfterFix);
    RunRequest request = empty_request(task, shapes);
    for (std::size_t i = 0; i < data->inputs.size(); ++i) request.inputs[i].data = data->inputs[i].data;
    request.poison = poison_of(task, candidate, shapes.id + "/values", 0, config_.secret);
    EVK_TRY(RunResult run, backend_.run(*evidence.built, request));
    if (run.kind != RunResultKind::kComplete)
      return std::optional<Outcome>(ended_early(std::move(run), shapes));
    return compare_samples(task, shapes, *data, run, evidence);
  }

  Result<std::optional<Outcome>> compare_samples(const Task& task, const ShapeSet& shapes,
                                                 const TimedData& data, const RunResult& run,
                                                 Evidence& evidence) const {
    Mismatched wrong;
    for (std::size_t i = 0; i < data.goldens.size(); ++i) {
      const SampledGolden& golden = data.goldens[i];
      if (golden.positions.empty()) continue;
      OutputSpec spec = shapes.outputs[i];
      EVK_TRY(const std::vector<std::byte> got, sampled(run, i, spec.type, golden.positions));
      spec.type.shape = {static_cast<std::int64_t>(golden.positions.size())};
      const auto view = [](const std::optional<CaseTensor>& t) {
        return t ? std::optional(t->view()) : std::nullopt;
      };
      OutputComparison found = compare_output(
          spec, task.tolerance, got,
          {golden.values.truth.view(), view(golden.values.reference), view(golden.values.scale)});
      conceal(found.stats);
      evidence.checks.push_back(fmt::format("{}: {} of {} elements of {} compared at the timed shapes",
                                            shapes.id, golden.positions.size(),
                                            shapes.outputs[i].type.elements(), spec.name));
      if (evidence.paper_pass) evidence.paper_pass = *evidence.paper_pass && found.paper_pass;
      if (!(config_.tolerance == ToleranceKind::kStrict ? found.strict_pass : found.paper_pass)) {
        wrong.findings.push_back(timed_mismatch(found.stats, shapes));
        wrong.stats.push_back(found.stats);
      }
      evidence.errors.push_back(std::move(found.stats));
    }
    if (wrong.stats.empty()) return std::optional<Outcome>();
    return std::optional<Outcome>(std::move(wrong));
  }

  static Result<std::vector<std::byte>> sampled(const RunResult& run, std::size_t output,
                                                const TensorType& type,
                                                const std::vector<std::size_t>& positions) {
    const auto width = static_cast<std::size_t>(bytes_of(type.dtype));
    std::vector<std::byte> out;
    for (const std::size_t at : positions) {
      if (output >= run.outputs.size() || (at + 1) * width > run.outputs[output].size())
        return failure("a position of the timed case lies outside of its output; probe the task again");
      const auto from = run.outputs[output].begin() + static_cast<std::ptrdiff_t>(at * width);
      out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(width));
    }
    return out;
  }

  static void conceal(ErrorStats& stats) {
    stats.hidden = true;
    stats.case_id.clear();
    stats.first.clear();
    stats.region_low.clear();
    stats.region_high.clear();
  }

  static Outcome ended_early(RunResult run, const ShapeSet& shapes) {
    for (Finding& finding : run.findings)
      finding.message += fmt::format(" (at the timed shapes, \"{}\")", shapes.id);
    if (run.kind == RunResultKind::kStopped) return Stopped{std::move(run.limit), std::move(run.findings)};
    return Faulted{std::move(run.findings)};
  }

  const VerifierConfig config_;
  Backend& backend_;
  CaseReader& cases_;
};

}  // namespace

std::unique_ptr<Gate> make_measure_gate(const VerifierConfig& config, Backend& backend, CaseReader& cases) {
  return std::make_unique<MeasureGate>(config, backend, cases);
}

}  // namespace evk
