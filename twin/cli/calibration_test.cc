#include "twin/cli/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "twin/cli/report.h"

namespace evk::twin {
namespace {

Device device_of(const std::string& name) {
  return *find_device(std::string(EVK_SOURCE_DIR) + "/twin/devices", name);
}

TEST(Calibration, scalar_kernels_of_the_910b4_are_within_their_tolerance) {
  const auto rows = calibrate(device_of("ascend910b4"));
  ASSERT_TRUE(rows.has_value());
  EXPECT_GE(std::count_if(rows->begin(), rows->end(), [](const auto& r) { return !!r.simulated; }), 6);
  for (const auto& r : *rows) EXPECT_FALSE(r.misses()) << r.name << " " << r.simulated.value_or(0);
}

TEST(Calibration, a_row_that_is_not_covered_says_why_and_misses_nothing) {
  const auto rows = calibrate(device_of("ascend910b4"));
  ASSERT_TRUE(rows.has_value());
  for (const auto& r : *rows) EXPECT_EQ(r.reason.empty(), r.simulated.has_value()) << r.name;
}

TEST(Calibration, a_device_without_published_measurements_has_no_rows) {
  EXPECT_TRUE(calibrate(device_of("ascend910b2"))->empty());
}

TEST(Calibration, a_row_misses_on_either_side_beyond_its_tolerance) {
  CalibrationRow row{"B", "x", "us", "d", 100, 0.05, 104.9, ""};
  EXPECT_FALSE(row.misses());
  row.simulated = 105.1;
  EXPECT_TRUE(row.misses());
  row.simulated = 94.9;
  EXPECT_TRUE(row.misses());
}

RunProfile loads(double vec, double scalar, double load, double store) {
  RunProfile p;
  p.total_ns = 1000, p.block_dim = 48;
  p.vec_ratio = vec, p.scalar_ratio = scalar, p.mte2_ratio = load, p.mte3_ratio = store;
  return p;
}

TEST(Bottlenecks, the_pipe_that_is_busy_half_of_the_time_names_the_bound) {
  const Device d = device_of("ascend910b1");
  EXPECT_EQ(bottlenecks(loads(0.134, 0.677, 0.346, 0), d), std::vector<std::string>{"scalar_bound"});
  EXPECT_EQ(bottlenecks(loads(0.1, 0.1, 0.9, 0.6), d), std::vector<std::string>{"load_bound"});
}

TEST(Bottlenecks, idle_pipes_are_stalls_and_middling_ones_are_mixed) {
  const Device d = device_of("ascend910b1");
  EXPECT_EQ(bottlenecks(loads(0.2, 0.1, 0.34, 0), d), std::vector<std::string>{"stall_bound"});
  EXPECT_EQ(bottlenecks(loads(0.4, 0.1, 0.36, 0), d), std::vector<std::string>{"mixed:vector+load"});
}

TEST(Bottlenecks, few_cores_and_bank_conflicts_are_named_beside) {
  RunProfile p = loads(0.8, 0.1, 0.2, 0.1);
  p.block_dim = 23;
  p.bank_conflict_ratio = 0.111;
  EXPECT_EQ(bottlenecks(p, device_of("ascend910b1")),
            (std::vector<std::string>{"vector_bound", "few_cores", "bank_conflict"}));
  EXPECT_TRUE(bottlenecks({}, device_of("ascend910b1")).empty()) << "nothing ran";
}

TEST(Csv, what_cannot_be_written_is_an_error) {
  EXPECT_FALSE(write_csv(loads(1, 0, 0, 0), device_of("ascend910b1"), "/nowhere/at/all.csv").has_value());
}

}  // namespace
}  // namespace evk::twin
