#include "report/report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "report/explain.h"
#include "report/memory_view.h"

namespace evk {
namespace {

class ReportTest : public testing::Test {
 protected:
  ReportTest()
      : folder_(std::filesystem::temp_directory_path() / ("evk report " + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    store_ = *Store::open((folder_ / "run.evk").string());
    MemoryItem seed;
    seed.id = {1};
    seed.name = "api/exp";
    seed.source = "seed";
    seed_ = std::make_shared<const MemoryItem>(seed);
    EXPECT_TRUE(store_->begin_campaign(
        {{"seed", "7"}}, {{{"relu"}, "activation", "a"}, {{"gelu"}, "activation", "b"}}, {seed}));
    commit("relu", 1, Verdict{Unbuilt{{{"compile.error", "no Log"}}, ""}, {}, {}, {}, ""});
    commit("gelu", 1, std::nullopt);
    commit("relu", 2, measured(400));
    commit("relu", 3, measured(100));
    commit("relu", 4, measured(300));
  }
  ~ReportTest() override { std::filesystem::remove_all(folder_); }

  static Verdict measured(double ns) {
    return {Measured{ns, true, {{}, "vector_bound", {}}}, {}, true, {}, ""};
  }
  void commit(const char* task, std::int64_t sweep, std::optional<Verdict> verdict) {
    Attempt a;
    a.id = {++n_};
    a.task = {task};
    a.sweep = sweep;
    a.prompt = "the prompt";
    a.candidate.files = {{"op_kernel/a.cpp", "code " + std::to_string(n_)}};
    a.context.items = {{seed_, SelectedBy::kExplore, 0, 0.25, -1, 0.5, true}};
    if (verdict) a.answer = {"text", n_ < 4 ? "small" : "large", 10, n_};
    if (n_ >= 4) a.answer.calls = 3, a.answer.cached_tokens = 6, a.answer.usd = 0.375;
    a.verdict = verdict;
    a.context.recall.pool = {{{1}, 0.25, -1, -0.9}, {{9}, 0.125, 0.5, 0.5}};
    a.context.recall.coins = {0.375};
    a.context.recall.cut = {{seed_, SelectedBy::kGreedy, 1, 0.125, 0.5, 0.7, true}};
    if (!verdict) a.infrastructure_error = "device lost";
    Learnt l;
    if (verdict) l.changes = {{Stage::kDraft, {1}, {}, {0.5, n_, 1, 1, sweep}}};
    EXPECT_TRUE(store_->commit(a, l, {{"generate", 5.0}, {"verify", 2.0}}));
  }

  std::filesystem::path folder_;
  std::unique_ptr<Store> store_;
  ItemPtr seed_;
  std::int64_t n_ = 0;
};

TEST_F(ReportTest, sums_costs_by_model_stage_and_task) {
  const auto report = make_report(*store_);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->costs.by_model.size(), 2u) << "an attempt that got no answer is in neither";
  const CostSum& large = report->costs.by_model.at({"large", "draft"});
  EXPECT_EQ(large.attempts, 2);
  EXPECT_EQ(large.answer_tokens, 4 + 5);
  EXPECT_EQ(large.cached_tokens, 12);
  EXPECT_DOUBLE_EQ(*large.usd, 0.75);
  EXPECT_EQ(large.calls, 6);
  EXPECT_EQ(report->costs.by_task.at("gelu").attempts, 1);
  EXPECT_FALSE(report->costs.by_task.at("gelu").usd);
  EXPECT_EQ(report->costs.total.unpriced, 2) << "the small model has no price";
  EXPECT_DOUBLE_EQ(report->costs.total.wall_ms, 5 * 7);
  EXPECT_DOUBLE_EQ(report->costs.total.generate_ms, 5 * 5);

  const auto cost = to_json(*report, {})["cost"];
  EXPECT_EQ(cost["prompt_tokens"], 40);
  EXPECT_EQ(cost["usd"], 0.75);
  EXPECT_EQ(cost["by_model"][1]["model"], "small");
  EXPECT_EQ(cost["by_task"][1]["task"], "relu");
  EXPECT_EQ(cost["by_attempt"][4]["usd"], 0.375);
  EXPECT_TRUE(cost["by_attempt"][0]["usd"].is_null());
  const auto text = to_text(*report, {});
  for (const char* part : {"large, draft", "0.7500+", "2 attempts have tokens and no price"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST_F(ReportTest, tells_what_one_attempt_cost) {
  const auto text = explain_text(*store_, {5}, false);
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("10 tokens asked (6 cached), 5 answered, 3 calls, 0.3750 USD"), std::string::npos)
      << *text;
  EXPECT_EQ((*explain_json(*store_, {5}))["cost"]["verify_ms"], 2.0);
}

TEST_F(ReportTest, tells_for_each_task_how_far_it_came) {
  const auto report = make_report(*store_);
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_EQ(report->tasks.size(), 2u);
  const TaskRow& relu = report->tasks[0];
  EXPECT_EQ(relu.stage, "refined");
  EXPECT_EQ(relu.attempts, 4);
  EXPECT_EQ(relu.first_feasible_sweep, 2);
  EXPECT_EQ(relu.first_latency_ns, 400);
  EXPECT_EQ(relu.best_latency_ns, 100);
  EXPECT_EQ(relu.best_attempt, 4);
  EXPECT_EQ(report->tasks[1].attempts, 0) << "an infrastructure failure uses no budget";
  EXPECT_EQ(report->infrastructure_errors, 1);
  ASSERT_EQ(report->sweeps.size(), 4u);
  EXPECT_EQ(report->sweeps[0].feasible, 0);
  EXPECT_EQ(report->sweeps[3].feasible, 1);
  EXPECT_NEAR(*mean_speedup(*report), 4.0, 1e-9);
}

TEST_F(ReportTest, calls_simulated_figures_simulated_and_names_the_kernel) {
  const auto text = to_text(*make_report(*store_), {{"relu", "out/relu"}});
  for (const char* part : {"simulated", "4.00x", "out/relu", "1 of 2 tasks", "without a verdict"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST_F(ReportTest, gives_the_files_of_the_fastest_kernel) {
  const auto kernels = best_kernels(*store_);
  ASSERT_TRUE(kernels);
  ASSERT_EQ(kernels->size(), 1u);
  EXPECT_EQ(kernels->front().files.front().text, "code 4");
}

TEST_F(ReportTest, explains_an_attempt_with_what_was_shown_and_learnt) {
  const auto text = explain_text(*store_, {3}, true);
  ASSERT_TRUE(text) << text.error().text();
  for (const char* part :
       {"api/exp", "explore", "propensity 0.500", "the prompt", "simulated latency 400 ns", "code 3"})
    EXPECT_NE(text->find(part), std::string::npos) << part << " in\n" << *text;
  const auto json = explain_json(*store_, {3});
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["context"]["items"][0]["selected_by"], "explore");
  EXPECT_FALSE(explain_text(*store_, {99}, false));
}

TEST_F(ReportTest, shows_the_history_of_an_item) {
  const auto json = memory_item_json(*store_, {1});
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["history"].size(), 5u) << "one use of each attempt";
  EXPECT_FALSE(memory_item_json(*store_, {2}));
  EXPECT_EQ((*memory_stats_json(*store_))["values"][0]["used"], 1);
}

TEST_F(ReportTest, tells_why_an_attempt_was_shown_what_it_was) {
  const auto text = memory_why_text(*store_, {3});
  ASSERT_TRUE(text) << text.error().text();
  for (const char* part :
       {"explore, slot 0, coin 0.375, propensity 0.500", "cut from the prompt", "passed over"})
    EXPECT_NE(text->find(part), std::string::npos) << part << " in\n" << *text;
  const auto json = memory_why_json(*store_, {3});
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["pool"][0]["similarity"], 0.25);
  EXPECT_EQ((*json)["pool"][0]["score"], -0.9);
  EXPECT_EQ((*json)["pool"][1]["outcome"], "passed over");
  EXPECT_EQ((*json)["cut"][0]["value"], 0.5);
  EXPECT_FALSE(memory_why_json(*store_, {99}));
}

TEST_F(ReportTest, counts_coverage_quantiles_and_drift) {
  const auto json = memory_stats_json(*store_);
  ASSERT_TRUE(json) << json.error().text();
  EXPECT_EQ((*json)["values"][0]["q"]["median"], 0.5);
  EXPECT_EQ((*json)["values"][0]["never_used_share"], 0.0);
  EXPECT_EQ((*json)["selected"]["draft"]["explore"], 5);
  ASSERT_EQ((*json)["drift"].size(), 4u);
  EXPECT_EQ((*json)["drift"][0]["attempts"], 2);
  EXPECT_EQ((*json)["drift"][0]["changes"], 1);
  EXPECT_EQ((*json)["drift"][0]["mean_move"], 0.5);
  const auto text = memory_stats_text(*store_);
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("coverage: 0 of 0"), std::string::npos) << *text;
}

TEST_F(ReportTest, shows_attempts_that_left_an_item_out) {
  Attempt a;
  a.id = {++n_};
  a.task = {"relu"};
  a.sweep = 5;
  a.verdict = measured(50);
  Learnt l;
  l.reward = 1;
  l.changes = {{Stage::kDraft, {1}, {0.5, 4, 0, 0, 4}, {0.05, 5, 0, 0, 5}}};
  ASSERT_TRUE(store_->commit(a, l, {}));
  const auto json = memory_item_json(*store_, {1});
  ASSERT_TRUE(json);
  ASSERT_EQ((*json)["history"].size(), 6u);
  EXPECT_EQ((*json)["history"][5]["selected_by"], "left_out");
  EXPECT_EQ((*json)["history"][5]["q"], 0.05);
}

TEST(Duration, has_three_digits_and_a_fitting_unit) {
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(12345), "12.3 us");
  EXPECT_EQ(duration_text(1.5e6), "1.50 ms");
}

}  // namespace
}  // namespace evk
