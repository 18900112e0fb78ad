// The corpus through the real gates: each trick is caught by the gate and code that should catch it, each
// honest kernel passes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "backend/ascendc_twin.h"
#include "verify/gated_verifier.h"
#include "verify/red_team.h"

namespace evk {
namespace {

std::string cache_dir() {
  static const std::string dir =
      (std::filesystem::temp_directory_path() / ("evokernel-redteam-" + std::to_string(getuid()))).string();
  return dir;
}

std::unique_ptr<Verifier> fresh_verifier() {
  AscendCTwinConfig config;
  config.twin_dir = EVK_SOURCE_DIR "/twin";
  config.device_file = config.twin_dir + "/devices/ascend910b1.toml";
  config.program = EVK_PROGRAM;
  config.cache_dir = cache_dir();
  config.run_cpu_seconds = 2;
  config.records_max = 2'000'000;
  auto backend = make_ascendc_twin(config);
  EXPECT_TRUE(backend.has_value()) << (backend ? "" : backend.error().text());
  return backend ? make_verifier(VerifierConfig{}, std::move(*backend), red_team_reader()) : nullptr;
}

Verifier& verifier() {
  static const std::unique_ptr<Verifier> one = fresh_verifier();
  return *one;
}

std::vector<RedTeamCase> corpus() {
  auto cases = read_red_team(EVK_SOURCE_DIR "/tests/redteam");
  EXPECT_TRUE(cases.has_value()) << (cases ? "" : cases.error().text());
  return cases ? *cases : std::vector<RedTeamCase>{};
}

class RedTeam : public ::testing::TestWithParam<RedTeamCase> {};

TEST_P(RedTeam, gets_the_verdict_it_deserves) {
  const auto result = run_red_team_case(verifier(), GetParam());
  ASSERT_TRUE(result.has_value()) << result.error().text();
  EXPECT_TRUE(result->end == RedTeamEnd::kCaught || result->end == RedTeamEnd::kPassed)
      << GetParam().why << "\nexpected gate " << result->expected_gate << ", got gate " << result->gate
      << " with code " << result->code << "\n"
      << result->message;
}

INSTANTIATE_TEST_SUITE_P(corpus, RedTeam, ::testing::ValuesIn(corpus()),
                         [](const auto& one) { return one.param.name; });

// Neither another process's cache nor other threads change a bit of a verdict.
TEST(RedTeamVerdicts, are_equal_in_a_second_verifier_and_from_four_threads) {
  const std::vector<RedTeamCase> cases = corpus();
  const std::vector<Task> tasks = red_team_tasks();
  const auto second = fresh_verifier();
  ASSERT_NE(second, nullptr);
  for (const char* name :
       {"honest_base", "honest_softmax", "writes_most", "crash_in_one_block", "out_of_bounds_write"}) {
    const auto which =
        std::find_if(cases.begin(), cases.end(), [&](const RedTeamCase& c) { return c.name == name; });
    ASSERT_NE(which, cases.end()) << name;
    const auto task =
        std::find_if(tasks.begin(), tasks.end(), [&](const Task& t) { return t.name == which->task; });
    const auto first = verifier().verify(*task, which->candidate);
    ASSERT_TRUE(first.has_value()) << first.error().text();
    std::vector<std::thread> threads;
    std::vector<std::optional<Verdict>> seen(4);
    for (std::optional<Verdict>& slot : seen) {
      threads.emplace_back([&] {
        if (auto verdict = second->verify(*task, which->candidate)) slot = *verdict;
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& verdict : seen) {
      ASSERT_TRUE(verdict.has_value()) << name;
      EXPECT_EQ(*verdict, *first) << name;
    }
  }
}

}  // namespace
}  // namespace evk
