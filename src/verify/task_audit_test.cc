#include "verify/task_audit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "verify/red_team.h"

namespace evk {
namespace {

// Cases whose goldens a test chooses.
class GivenReader final : public CaseReader {
 public:
  explicit GivenReader(std::function<double(std::size_t, bool)> value) : value_(std::move(value)) {}
  Result<std::shared_ptr<const CaseData>> read(const Task&, const ShapeSet& shapes,
                                               const TaskCase& which) override {
    auto data = std::make_shared<CaseData>();
    const TensorType& type = shapes.outputs[0].type;
    const auto count = static_cast<std::size_t>(type.elements());
    std::vector<std::byte> x(count * 4), y(count * 8);
    for (std::size_t i = 0; i < count; ++i) {
      const double value = value_(i, which.hidden);
      const float input = static_cast<float>(i % 7);
      std::memcpy(x.data() + i * 4, &input, 4);
      std::memcpy(y.data() + i * 8, &value, 8);
    }
    data->inputs = {{DType::kFloat32, type.shape, x}};
    data->goldens = {{{DType::kFloat64, type.shape, y}, {}, {}}};
    return std::shared_ptr<const CaseData>(std::move(data));
  }

 private:
  std::function<double(std::size_t, bool)> value_;
};

TaskAudit audit_of(CaseReader& reader) {
  const auto audit = audit_task(red_team_tasks()[0], reader);
  EXPECT_TRUE(audit.has_value());
  return audit ? *audit : TaskAudit{};
}

TEST(TaskAudit, admits_a_task_whose_public_cases_refuse_every_mutant) {
  const auto reader = red_team_reader();
  const TaskAudit audit = audit_of(*reader);
  EXPECT_EQ(audit.admission, Admission::kAdmitted) << audit.reason;
  EXPECT_EQ(audit.score, 1.0);
  EXPECT_GE(audit.mutants.size(), 8U);
}

TEST(TaskAudit, refuses_a_task_that_is_always_zero) {
  GivenReader reader([](std::size_t, bool) { return 0.0; });
  const TaskAudit audit = audit_of(reader);
  EXPECT_EQ(audit.admission, Admission::kRefused);
  EXPECT_NE(audit.reason.find("zeros"), std::string::npos);
}

TEST(TaskAudit, calls_a_task_repaired_that_only_hidden_cases_protect) {
  GivenReader reader(
      [](std::size_t i, bool hidden) { return hidden ? std::sin(static_cast<double>(i)) : 0.0; });
  const TaskAudit audit = audit_of(reader);
  EXPECT_EQ(audit.admission, Admission::kRepaired);
}

TEST(TaskAudit, names_operands_that_no_output_depends_on) {
  Task task = red_team_tasks()[0];
  for (ShapeSet& shapes : task.shape_sets)
    shapes.graph.inputs.push_back({"i1", GraphInputKind::kParam, "bias", -1, {}});
  const auto reader = red_team_reader();
  const auto audit = audit_task(task, *reader);
  ASSERT_TRUE(audit.has_value());
  EXPECT_EQ(audit->ignorable, std::vector<std::string>{"bias"});
}

}  // namespace
}  // namespace evk
