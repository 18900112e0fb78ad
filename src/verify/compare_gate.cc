// The gate that runs a candidate on every case and compares what it wrote.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "verify/freshness.h"
#include "verify/gates.h"
#include "verify/index_source.h"
#include "verify/run_request.h"

namespace evk {
namespace {

// One case with where it comes from.
struct Trial {
  const ShapeSet* shapes = nullptr;
  const TaskCase* which = nullptr;
  bool twice = false;  // again with other poison and reversed block order
};

// Public cases come before hidden ones, so that feedback is about what may be told.
std::vector<Trial> trials_of(const Task& task) {
  std::vector<Trial> trials;
  for (const bool hidden : {false, true}) {
    for (const ShapeSet* shapes : verified_shapes(task)) {
      bool first = true;
      for (const TaskCase& which : shapes->cases) {
        if (which.hidden != hidden) continue;
        trials.push_back({shapes, &which, first});
        first = false;
      }
    }
  }
  return trials;
}

std::uint64_t differing_elements(const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                                 std::size_t element_bytes) {
  std::uint64_t count = 0;
  for (std::size_t at = 0; at + element_bytes <= std::min(a.size(), b.size()); at += element_bytes) {
    count += std::equal(a.begin() + static_cast<std::ptrdiff_t>(at),
                        a.begin() + static_cast<std::ptrdiff_t>(at + element_bytes),
                        b.begin() + static_cast<std::ptrdiff_t>(at))
                 ? 0
                 : 1;
  }
  return count;
}

Finding compare_finding(const char* code, std::string message, const char* remedy) {
  Finding finding;
  finding.code = code;
  finding.message = std::move(message);
  finding.remedy = remedy;
  return finding;
}

Finding mismatch_finding(const ErrorStats& stats, const ShapeSet& shapes,
                         const std::vector<std::int64_t>& shape) {
  if (stats.hidden) {
    return compare_finding(
        "compare.hidden_mismatch",
        fmt::format("{} of {} elements of {} are wrong on a hidden case of the shapes \"{}\"",
                    stats.mismatched, stats.elements, stats.output, shapes.id),
        "make no assumption about the inputs' values");
  }
  if (stats.unwritten > 0) {
    return compare_finding("compare.unwritten",
                           fmt::format("{} of {} elements of {} {} depend on what memory held before the "
                                       "launch or on the order of blocks",
                                       stats.unwritten, stats.elements, stats.output, fmt::join(shape, "x")),
                           "write every output element once, and initialise what is accumulated into");
  }
  if (stats.mismatched == 0) {
    return compare_finding(
        "compare.spread",
        fmt::format("{}: the error is {:.3g} of the output's own spread", stats.output, stats.centred_rel),
        "compute the values; a constant near them is no answer");
  }
  const char* code = stats.nan_count > 0 ? "compare.nan" : "compare.mismatch";
  std::string message = fmt::format(
      "{} of {} elements of {} [{}] are wrong at the shapes \"{}\": first at [{}], all within [{}]..[{}], "
      "largest error {:.6g}, {:.4g} times its bound",
      stats.mismatched, stats.elements, stats.output, fmt::join(shape, ", "), shapes.id,
      fmt::join(stats.first, ", "), fmt::join(stats.region_low, ", "), fmt::join(stats.region_high, ", "),
      stats.abs_max, stats.over_tolerance_max);
  if (stats.nan_count > 0) message += fmt::format(", {} NaN", stats.nan_count);
  return compare_finding(code, std::move(message), "check offsets, tails and the order of operations");
}

// What may be told of a failure on a hidden case: the rule and the line, not the numbers.
std::vector<Finding> discreet(std::vector<Finding> findings) {
  for (Finding& finding : findings)
    finding.message = fmt::format("the rule {} is broken on a hidden case", finding.code);
  return findings;
}

class CompareGate final : public Gate {
 public:
  CompareGate(const VerifierConfig& config, Backend& backend, CaseReader& cases)
      : config_(config), backend_(backend), cases_(cases) {}

  Result<std::optional<Outcome>> inspect(const Task& task, const Candidate& candidate,
                                         Evidence& evidence) const override {
    const std::vector<Trial> trials = trials_of(task);
    if (trials.empty())
      return failure(fmt::format("task {} has no cases; probe it again", task.id.text), Retry::kAfterFix);
    Mismatched wrong;
    bool paper_pass = true;
    for (const Trial& trial : trials) {
      EVK_TRY(std::optional<Outcome> ended, attempt(task, candidate, trial, evidence, wrong, paper_pass));
      if (ended) return ended;
      evidence.paper_pass = paper_pass;
      // A second opinion on what the paper's tolerance would say is worth the runs only while it may still
      // say yes.
      if (!wrong.stats.empty() && (!paper_pass || config_.tolerance == ToleranceKind::kPaper)) break;
    }
    if (wrong.stats.empty()) {
      evidence.checks.push_back(fmt::format(
          "{} cases run and compared, {} of them hidden", trials.size(),
          std::count_if(trials.begin(), trials.end(), [](const Trial& t) { return t.which->hidden; })));
      evidence.checks.push_back(
          "each run in a process of its own, with new contents of outputs and scratch memories; "
          "repeated with other contents and the blocks in descending order");
      EVK_TRY(std::optional<Outcome> ended, run_fresh(task, candidate, trials, evidence, wrong));
      if (ended) return ended;
    }
    if (wrong.stats.empty()) return std::optional<Outcome>();
    return std::optional<Outcome>(std::move(wrong));
  }

 private:
  // Arithmetic of the scalar unit over global memory is no kernel of the device; copies need none.
  static bool without_vector_work(const Task& task, const RunResult& run) {
    const auto metric = [&](const char* name) {
      const auto found = run.profile.metric.find(name);
      return found == run.profile.metric.end() ? -1.0 : found->second;
    };
    // Scalar code on tiles is slow and honest: a scan may be nothing else.
    return task.tolerance.op_class != "copy" && metric("vector_instructions") == 0 &&
           metric("mac_ratio") == 0 && metric("dma_count") == 0 && metric("scalar_accesses") > 0;
  }

  // One case of every set of shapes again, changed so that its golden is known but the answer is another.
  Result<std::optional<Outcome>> run_fresh(const Task& task, const Candidate& candidate,
                                           const std::vector<Trial>& trials, Evidence& evidence,
                                           Mismatched& wrong) const {
    for (const Trial& trial : trials) {
      if (!trial.twice) continue;
      EVK_TRY(const std::shared_ptr<const CaseData> data, cases_.read(task, *trial.shapes, *trial.which));
      const std::string what = trial.shapes->id + "/" + trial.which->id + "/fresh";
      const std::uint64_t seed = poison_of(task, candidate, what, 2, config_.secret);
      const auto fresh = freshen(*trial.shapes, symmetries_of(*trial.shapes), *data, seed);
      if (!fresh) {
        evidence.checks.push_back(
            fmt::format("{}: the graph proves no change that keeps the answer known", trial.shapes->id));
        continue;
      }
      EVK_TRY(RunRequest request, request_for(task, *trial.shapes, fresh->data));
      request.poison = seed;
      EVK_TRY(RunResult run, backend_.run(*evidence.built, request));
      TaskCase secret = *trial.which;
      secret.hidden = true;
      if (run.kind != RunResultKind::kComplete)
        return std::optional<Outcome>(ended_early(std::move(run), secret));
      EVK_TRY_STATUS(check_sizes(run, *trial.shapes));
      bool paper = true;
      compare(task, {trial.shapes, &secret, false}, fresh->data, run,
              std::vector<std::uint64_t>(run.outputs.size(), 0), evidence, wrong, paper);
      if (evidence.paper_pass) evidence.paper_pass = *evidence.paper_pass && paper;
      evidence.checks.push_back(fmt::format("{}: fresh case, {}", trial.shapes->id, fresh->what));
      if (!wrong.stats.empty()) break;
    }
    return std::optional<Outcome>();
  }

  Result<std::optional<Outcome>> attempt(const Task& task, const Candidate& candidate, const Trial& trial,
                                         Evidence& evidence, Mismatched& wrong, bool& paper_pass) const {
    EVK_TRY(const std::shared_ptr<const CaseData> data, cases_.read(task, *trial.shapes, *trial.which));
    EVK_TRY(RunRequest request, request_for(task, *trial.shapes, *data));
    const std::string what = trial.shapes->id + "/" + trial.which->id;
    request.poison = poison_of(task, candidate, what, 0, config_.secret);
    EVK_TRY(RunResult run, backend_.run(*evidence.built, request));
    if (run.kind != RunResultKind::kComplete)
      return std::optional<Outcome>(ended_early(std::move(run), *trial.which));
    EVK_TRY_STATUS(check_sizes(run, *trial.shapes));
    if (without_vector_work(task, run))
      return std::optional<Outcome>(Faulted{{compare_finding(
          "run.no_device_compute",
          "the kernel walks over global memory element by element, without a copy or an instruction of the "
          "vector or cube unit",
          "load tiles with DataCopy, compute on them with vector instructions")}});
    if (!trial.which->hidden) add_notes(evidence, run.notes);
    std::vector<std::uint64_t> unwritten(run.outputs.size(), 0);
    if (trial.twice) {
      request.poison = poison_of(task, candidate, what, 1, config_.secret);
      request.reversed_blocks = true;
      EVK_TRY(RunResult again, backend_.run(*evidence.built, request));
      if (again.kind != RunResultKind::kComplete)
        return std::optional<Outcome>(ended_early(std::move(again), *trial.which));
      EVK_TRY_STATUS(check_sizes(again, *trial.shapes));
      for (std::size_t i = 0; i < unwritten.size(); ++i) {
        unwritten[i] =
            differing_elements(run.outputs[i], again.outputs[i],
                               static_cast<std::size_t>(bytes_of(trial.shapes->outputs[i].type.dtype)));
      }
    }
    compare(task, trial, *data, run, unwritten, evidence, wrong, paper_pass);
    return std::optional<Outcome>();
  }

  static Result<RunRequest> request_for(const Task& task, const ShapeSet& shapes, const CaseData& data) {
    if (data.inputs.size() != shapes.inputs.size() || data.goldens.size() != shapes.outputs.size()) {
      return failure(
          fmt::format(
              "the pack of task {} holds another number of tensors than its description; probe it again",
              task.id.text),
          Retry::kAfterFix);
    }
    RunRequest request = empty_request(task, shapes);
    for (std::size_t i = 0; i < data.inputs.size(); ++i) request.inputs[i].data = data.inputs[i].data;
    return request;
  }

  static Status check_sizes(const RunResult& run, const ShapeSet& shapes) {
    bool fine = run.outputs.size() == shapes.outputs.size();
    for (std::size_t i = 0; fine && i < run.outputs.size(); ++i) {
      fine = run.outputs[i].size() == static_cast<std::size_t>(shapes.outputs[i].type.elements() *
                                                               bytes_of(shapes.outputs[i].type.dtype));
    }
    if (!fine) return failure("the backend handed back outputs of another size than it was asked for");
    return {};
  }

  static Outcome ended_early(RunResult run, const TaskCase& which) {
    if (which.hidden) run.findings = discreet(std::move(run.findings));
    if (run.kind == RunResultKind::kStopped) return Stopped{std::move(run.limit), std::move(run.findings)};
    return Faulted{std::move(run.findings)};
  }

  void compare(const Task& task, const Trial& trial, const CaseData& data, const RunResult& run,
               const std::vector<std::uint64_t>& unwritten, Evidence& evidence, Mismatched& wrong,
               bool& paper_pass) const {
    for (std::size_t i = 0; i < run.outputs.size(); ++i) {
      const OutputSpec& spec = trial.shapes->outputs[i];
      const CaseGolden& golden = data.goldens[i];
      const Golden views{golden.truth.view(),
                         golden.reference ? std::optional(golden.reference->view()) : std::nullopt,
                         golden.scale ? std::optional(golden.scale->view()) : std::nullopt};
      OutputComparison found =
          compare_output(spec, task.tolerance, run.outputs[i], views, index_source(*trial.shapes, i, data));
      found.stats.case_id = trial.which->hidden ? "" : trial.which->id;
      found.stats.hidden = trial.which->hidden;
      found.stats.unwritten = unwritten[i];
      if (trial.which->hidden) conceal(found.stats);
      paper_pass = paper_pass && found.paper_pass && unwritten[i] == 0;
      const bool decided =
          (config_.tolerance == ToleranceKind::kStrict ? found.strict_pass : found.paper_pass) &&
          unwritten[i] == 0;
      if (!decided) {
        wrong.findings.push_back(mismatch_finding(found.stats, *trial.shapes, spec.type.shape));
        wrong.stats.push_back(found.stats);
      }
      evidence.errors.push_back(std::move(found.stats));
    }
  }

  // Where and by how much a hidden case is missed would tell its answer, little by little.
  static void conceal(ErrorStats& stats) {
    stats.first.clear();
    stats.region_low.clear();
    stats.region_high.clear();
  }

  const VerifierConfig config_;
  Backend& backend_;
  CaseReader& cases_;
};

}  // namespace

std::unique_ptr<Gate> make_compare_gate(const VerifierConfig& config, Backend& backend, CaseReader& cases) {
  return std::make_unique<CompareGate>(config, backend, cases);
}

}  // namespace evk
