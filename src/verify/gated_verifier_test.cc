#include "verify/gated_verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include "verify/run_request.h"

namespace evk {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::byte> floats(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
std::vector<std::byte> doubles(const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(double));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

constexpr std::int64_t kSize = 32;

// A device that doubles its input, or does what a test wants instead.
class FakeBackend final : public Backend {
 public:
  Result<BuildOutcome> build(const Candidate&) override {
    ++builds;
    if (!build_error.empty()) return failure(build_error);
    Finding finding;
    finding.code = "compile.error";
    if (!compiles) return BuildOutcome(BuildFailed{{finding}, "log"});
    return BuildOutcome(Built{"library", "hash"});
  }
  Result<RunResult> run(const Built&, const RunRequest& request) override {
    ++runs;
    requests.push_back(request);
    RunResult result;
    result.kind = RunResultKind::kComplete;
    result.latency_ns = 1000;
    result.cycles = 1850;
    result.trace_hash = "t";
    if (request.move_data) {
      std::vector<float> values(kSize);
      std::memcpy(values.data(), request.inputs[0].data.data(), request.inputs[0].data.size());
      for (float& value : values) value *= 2;
      result.outputs = {floats(values)};
    }
    if (change) change(request, result);
    return result;
  }
  double floor_ns(std::uint64_t bytes) const override { return static_cast<double>(bytes) / 100.0; }
  std::string fingerprint() const override { return "fake"; }

  bool compiles = true;
  std::string build_error;
  std::function<void(const RunRequest&, RunResult&)> change;
  int builds = 0, runs = 0;
  std::vector<RunRequest> requests;
};

class FakeReader final : public CaseReader {
 public:
  Result<std::shared_ptr<const CaseData>> read(const Task&, const ShapeSet&, const TaskCase& which) override {
    if (missing) return failure("case file is gone");
    std::vector<float> x;
    std::vector<double> y;
    for (int i = 0; i < kSize; ++i) {
      x.push_back(static_cast<float>(i) * 0.5f + static_cast<float>(which.id.size()));
      y.push_back(2.0 * x.back());
    }
    auto data = std::make_shared<CaseData>();
    data->inputs = {{DType::kFloat32, {kSize}, floats(x)}};
    data->goldens = {{{DType::kFloat64, {kSize}, doubles(y)}, {}, {}}};
    return std::shared_ptr<const CaseData>(data);
  }
  bool missing = false;
};

Task doubling() {
  Task task;
  task.id = {"test/doubling"};
  task.name = "doubling";
  task.tolerance.op_class = "elementwise";
  for (const char* id : {"small", "ragged", "bench"}) {
    ShapeSet shapes;
    shapes.id = id;
    shapes.inputs = {{"x", "input", "none", {DType::kFloat32, {kSize}}}};
    shapes.outputs = {{"y", {DType::kFloat32, {kSize}}, CompareBy::kFloat}};
    if (shapes.id != "bench") shapes.cases = {{"0", false, "", ""}, {"h1", true, "", ""}};
    task.shape_sets.push_back(shapes);
  }
  return task;
}

Candidate honest(const std::string& comment = "") {
  return {
      {{"op_host/doubling.cpp", "#include \"register/op_def_registry.h\"\n"},
       {"op_kernel/doubling.cpp", "#include \"kernel_operator.h\"\n// " + comment +
                                      "\nextern \"C\" __global__ __aicore__ void doubling(GM_ADDR x, GM_ADDR "
                                      "y) { DataCopy(a, b, 8); Adds(a, a, 1, 8); DataCopy(b, a, 8); }\n"}},
      {},
      ""};
}

struct Fixture {
  FakeBackend* backend = nullptr;
  FakeReader* reader = nullptr;
  std::unique_ptr<Verifier> verifier;
  explicit Fixture(VerifierConfig config = {}) {
    auto b = std::make_unique<FakeBackend>();
    auto r = std::make_unique<FakeReader>();
    backend = b.get();
    reader = r.get();
    verifier = make_verifier(config, std::move(b), std::move(r));
  }
  Verdict verdict(const Candidate& candidate = honest()) {
    auto result = verifier->verify(doubling(), candidate);
    EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().text());
    return result ? *result : Verdict{};
  }
};

std::vector<std::byte> changed(std::vector<std::byte> bytes, std::size_t index, float value) {
  std::memcpy(bytes.data() + index * 4, &value, 4);
  return bytes;
}

TEST(Verifier, measures_what_passes_every_gate) {
  Fixture f;
  const Verdict v = f.verdict();
  EXPECT_EQ(gate_of(v), "passed") << feedback_of(v);
  EXPECT_EQ(latency_ns(v), 1000.0);
  EXPECT_EQ(v.paper_pass, true);
  EXPECT_EQ(v.errors.size(), 4u);
  EXPECT_FALSE(v.harness.empty());
}

TEST(Verifier, runs_public_cases_first_with_other_poison_each_time_and_times_without_data) {
  Fixture f;
  f.verdict();
  std::set<std::uint64_t> poisons;
  for (const RunRequest& request : f.backend->requests) poisons.insert(request.poison);
  EXPECT_EQ(poisons.size(), f.backend->requests.size());
  EXPECT_EQ(std::count_if(f.backend->requests.begin(), f.backend->requests.end(),
                          [](const auto& r) { return r.reversed_blocks; }),
            4);
  EXPECT_EQ(std::count_if(f.backend->requests.begin(), f.backend->requests.end(),
                          [](const auto& r) { return !r.move_data; }),
            2);
}

TEST(Verifier, ends_at_the_first_gate_that_refuses) {
  Fixture f;
  const Verdict screened = f.verdict({{{"op_kernel/doubling.cpp", "asm(\"\");\n"}}, {}, ""});
  EXPECT_EQ(gate_of(screened), "screen");
  EXPECT_EQ(f.backend->builds, 0);
  f.backend->compiles = false;
  EXPECT_EQ(code_of(f.verdict()), "compile.error");
  EXPECT_EQ(f.backend->runs, 0);
}

TEST(Verifier, calls_infrastructure_errors_errors_and_forgets_them) {
  Fixture f;
  f.backend->build_error = "no compiler";
  EXPECT_FALSE(f.verifier->verify(doubling(), honest()).has_value());
  f.backend->build_error.clear();
  f.reader->missing = true;
  const auto broken = f.verifier->verify(doubling(), honest());
  ASSERT_FALSE(broken.has_value());
  EXPECT_THAT(broken.error().text(), HasSubstr("test/doubling"));
  f.reader->missing = false;
  EXPECT_EQ(gate_of(f.verdict()), "passed");
}

TEST(Verifier, finds_a_wrong_element_and_says_where_for_public_cases) {
  Fixture f;
  f.backend->change = [](const RunRequest& request, RunResult& result) {
    if (request.move_data) result.outputs[0] = changed(result.outputs[0], 7, 99);
  };
  const Verdict v = f.verdict();
  EXPECT_EQ(gate_of(v), "compare");
  EXPECT_EQ(code_of(v), "compare.mismatch");
  EXPECT_THAT(findings_of(v)[0].message, HasSubstr("first at [7]"));
  EXPECT_EQ(v.paper_pass, false);
}

TEST(Verifier, tells_nothing_but_counts_of_hidden_cases) {
  Fixture f;
  f.backend->change = [](const RunRequest& request, RunResult& result) {
    float first = 0;
    if (request.move_data) std::memcpy(&first, request.inputs[0].data.data(), 4);
    if (first == 2) result.outputs[0] = changed(result.outputs[0], 7, 123456);
  };
  const Verdict v = f.verdict();
  EXPECT_EQ(code_of(v), "compare.hidden_mismatch");
  EXPECT_THAT(feedback_of(v), Not(HasSubstr("[7]")));
  EXPECT_THAT(feedback_of(v), HasSubstr("1 of 32"));
  for (const ErrorStats& stats : std::get<Mismatched>(v.outcome).stats)
    EXPECT_TRUE(stats.first.empty() && stats.region_low.empty());
}

TEST(Verifier, finds_elements_that_nobody_wrote) {
  Fixture f;
  f.backend->change = [](const RunRequest& request, RunResult& result) {
    if (request.move_data)
      result.outputs[0] =
          changed(result.outputs[0], 31, static_cast<float>(request.poison % 1000) * 1e-6f + 35);
  };
  const Verdict v = f.verdict();
  EXPECT_EQ(code_of(v), "compare.unwritten") << feedback_of(v);
}

TEST(Verifier, hands_on_faults_and_limits) {
  Fixture f;
  Finding fault;
  fault.code = "twin.ub_overflow";
  fault.line = 3;
  f.backend->change = [&](const RunRequest&, RunResult& result) {
    result.kind = RunResultKind::kFaulted;
    result.findings = {fault};
  };
  EXPECT_EQ(code_of(f.verdict()), "twin.ub_overflow");
  f.backend->change = [&](const RunRequest&, RunResult& result) {
    result.kind = RunResultKind::kStopped;
    result.limit = "time";
    result.findings = {fault};
  };
  const Verdict stopped = f.verdict(honest("other"));
  ASSERT_TRUE(std::holds_alternative<Stopped>(stopped.outcome));
  EXPECT_EQ(std::get<Stopped>(stopped.outcome).limit, "time");
}

TEST(Verifier, does_not_measure_what_takes_another_time_each_run) {
  Fixture f;
  f.backend->change = [calls = std::make_shared<int>(0)](const RunRequest& request, RunResult& result) {
    if (!request.move_data) result.cycles += static_cast<std::uint64_t>((*calls)++);
  };
  const Verdict v = f.verdict();
  EXPECT_TRUE(std::holds_alternative<Unsteady>(v.outcome));
  EXPECT_TRUE(is_feasible(v));
  EXPECT_FALSE(latency_ns(v).has_value());
}

TEST(Verifier, disbelieves_a_figure_below_what_physics_allows) {
  Fixture f;
  f.backend->change = [](const RunRequest&, RunResult& result) { result.latency_ns = 0.5; };
  EXPECT_EQ(code_of(f.verdict()), "measure.impossible");
}

TEST(Verifier, lets_the_papers_tolerance_decide_if_asked) {
  const auto off_by_a_thousandth = [](const RunRequest& request, RunResult& result) {
    if (!request.move_data) return;
    float x = 0;
    std::memcpy(&x, request.inputs[0].data.data() + 40, 4);
    result.outputs[0] = changed(result.outputs[0], 10, 2 * x * 1.001f);
  };
  Fixture strict;
  strict.backend->change = off_by_a_thousandth;
  const Verdict refused = strict.verdict();
  EXPECT_EQ(code_of(refused), "compare.mismatch");
  EXPECT_EQ(refused.paper_pass, true);
  VerifierConfig config;
  config.tolerance = ToleranceKind::kPaper;
  Fixture paper(config);
  paper.backend->change = off_by_a_thousandth;
  EXPECT_EQ(gate_of(paper.verdict()), "passed");
  EXPECT_NE(paper.verdict().harness, refused.harness);
}

TEST(Verifier, gives_equal_candidates_equal_verdicts_from_any_thread) {
  Fixture f;
  const Verdict first = f.verdict();
  const int runs = f.backend->runs;
  EXPECT_EQ(f.verdict(), first);
  EXPECT_EQ(f.backend->runs, runs) << "a known candidate is not run again";
  Fixture other;
  EXPECT_EQ(other.verdict(), first);
}

}  // namespace
}  // namespace evk
