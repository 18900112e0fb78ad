#include "twin/cli/check.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>

namespace evk::twin {
namespace {

// A kernel as the check sees it: what one run of a launch says.
RunReport clean_run(std::byte value) {
  RunReport r;
  r.end = RunEnd::kComplete;
  r.outputs = {std::vector<std::byte>(8, value)};
  r.unwritten_bytes = {0};
  return r;
}

Launch launch_of_one_output() {
  Launch launch;
  launch.poison = 7;
  launch.outputs = {{"y", abi::DType::kF32, {2}, {}}};
  return launch;
}

Finding finding(const std::string& code, bool note = false) {
  Finding f;
  f.code = code;
  f.note = note;
  return f;
}

TEST(Check, a_kernel_that_answers_alike_in_all_runs_is_clean) {
  std::vector<Launch> seen;
  const auto report = check(launch_of_one_output(), [&](const Launch& l) -> Result<RunReport> {
    seen.push_back(l);
    return clean_run(std::byte{1});
  });
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->clean());
  EXPECT_EQ(report->runs, 3);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_TRUE(seen[0].block_order.empty());
  EXPECT_EQ(seen[1].block_order.front(), seen[1].block_order.size() - 1);
  EXPECT_EQ(seen[1].poison, 7u);
  EXPECT_NE(seen[2].poison, 7u);
}

TEST(Check, an_output_that_follows_the_memory_is_a_fault_and_one_that_follows_the_order_a_note) {
  const auto of = [](auto value_of) {
    return check(launch_of_one_output(),
                 [&](const Launch& l) -> Result<RunReport> { return clean_run(value_of(l)); });
  };
  const auto memory = of([](const Launch& l) { return static_cast<std::byte>(l.poison & 0xff); });
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->faults_by_class().at("result"), 1);
  EXPECT_EQ(memory->findings[0].code, "output_depends_on_memory");
  const auto order = of([](const Launch& l) { return std::byte{l.block_order.empty()}; });
  ASSERT_TRUE(order.has_value());
  EXPECT_TRUE(order->clean());
  ASSERT_EQ(order->findings.size(), 1u);
  EXPECT_EQ(order->findings[0].code, "output_depends_on_order");
}

TEST(Check, faults_of_the_first_run_end_the_check_and_are_counted_by_class) {
  const auto report = check(launch_of_one_output(), [&](const Launch&) -> Result<RunReport> {
    RunReport r = clean_run(std::byte{1});
    r.findings = {finding("race_read_after_write"), finding("ub_overflow"), finding("queue_leak", true)};
    r.unwritten_bytes = {3};
    return r;
  });
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->runs, 1);
  const auto counts = report->faults_by_class();
  EXPECT_EQ(counts.at("hazard"), 1);
  EXPECT_EQ(counts.at("capacity"), 1);
  EXPECT_EQ(counts.at("queue"), 0);
  EXPECT_EQ(counts.at("result"), 1);
  EXPECT_EQ(report->findings.back().code, "queue_leak");
}

TEST(Check, a_finding_of_a_later_run_is_added_once) {
  int runs = 0;
  const auto report = check(launch_of_one_output(), [&](const Launch&) -> Result<RunReport> {
    RunReport r = clean_run(std::byte{1});
    if (++runs > 1) r.findings = {finding("race_write_after_read")};
    return r;
  });
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->findings.size(), 1u);
  EXPECT_FALSE(report->clean());
}

TEST(Check, a_run_that_does_not_end_is_a_fault) {
  const auto report = check(launch_of_one_output(), [&](const Launch&) -> Result<RunReport> {
    RunReport r = clean_run(std::byte{1});
    r.end = RunEnd::kTimedOut;
    return r;
  });
  ASSERT_TRUE(report.has_value());
  EXPECT_FALSE(report->clean());
  EXPECT_EQ(to_json(*report)["end"], "timed out");
}

// A new code of the engine that nobody put into a class would be counted as "program".
TEST(Check, every_code_that_the_documentation_lists_before_the_host_side_has_a_class) {
  std::ifstream in(EVK_SOURCE_DIR "/docs/twin.md");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const std::string begin = "| code | meaning | remedy |";
  const auto from = text.find(begin);
  ASSERT_NE(from, std::string::npos);
  const std::string table = text.substr(from, text.find("\n\n", from) - from);
  const std::regex host(
      "registration_.*|kernel_missing|load_failed|crash_.*|assert_failed|launch_.*|bridge_error|"
      "tiling_failed|tiling_exception|block_dim_invalid|bad_record|block_ended_early|"
      "ended_early|endless|does_not_compile");
  const std::regex row(R"(\n\|((?: `[a-z_0-9*]+`,?(?: \(note\))?)+) \|)"), code("`([a-z_0-9*]+)`");
  int codes = 0;
  for (std::sregex_iterator r(table.begin(), table.end(), row), none; r != none; ++r) {
    const std::string cell = (*r)[1];
    for (std::sregex_iterator c(cell.begin(), cell.end(), code); c != none; ++c, ++codes) {
      const std::string name = (*c)[1];
      EXPECT_EQ(class_of(name) == "program", std::regex_match(name, host)) << name;
    }
  }
  EXPECT_GT(codes, 50);
}

}  // namespace
}  // namespace evk::twin
