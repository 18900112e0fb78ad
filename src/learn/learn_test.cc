#include <gtest/gtest.h>

#include <cmath>

#include "learn/learner.h"
#include "learn/reward.h"

namespace evk {
namespace {

Verdict measured(double ns) { return {Measured{ns, true, {}}, {}, true, {}, "h"}; }
Verdict unbuilt() {
  return {
      Unbuilt{{{"compile.error", "no member named 'Log'", "", "op_kernel/a.cpp", 3}}, ""}, {}, {}, {}, "h"};
}

ItemPtr item(std::int64_t id) {
  MemoryItem i;
  i.id = {id};
  return std::make_shared<const MemoryItem>(i);
}

Attempt attempt(Stage stage, std::vector<std::int64_t> used, Verdict verdict, std::int64_t id = 1) {
  Attempt a;
  a.id = {id};
  a.task = {"t"};
  a.sweep = id;
  a.context.stage = stage;
  for (const auto u : used) a.context.items.push_back({item(u), SelectedBy::kGreedy, 0, 0, 0, 1, true});
  a.candidate.files = {{"op_kernel/a.cpp", "x" + std::to_string(id)}};
  a.candidate.choices = {{"tail", "data_copy_pad"}};
  a.verdict = std::move(verdict);
  return a;
}

std::vector<Fact> no_facts(const Task&, const Candidate&, const Verdict&) { return {}; }

Task task() {
  Task t;
  t.id = {"t"};
  t.name = "t";
  return t;
}

TEST(Reward, of_a_draft_is_plus_or_minus_one) {
  EXPECT_EQ(draft_reward(measured(5)), 1);
  EXPECT_EQ(draft_reward({Unsteady{1, 2}, {}, {}, {}, ""}), 1);
  EXPECT_EQ(draft_reward(unbuilt()), -1);
}

// The figures of learning.md section 2.
TEST(Reward, of_a_refinement_is_the_hyperbolic_tangent_of_the_log_speedup) {
  const std::pair<double, double> cases[] = {{0.5, -0.6},  {0.9, -0.105}, {1.03, 0.030}, {1.1, 0.095},
                                             {1.5, 0.385}, {2, 0.6},      {10, 0.980}};
  for (const auto& [rho, expected] : cases) {
    EXPECT_NEAR(refine_reward(measured(100 / rho), 100.0), expected, 5e-4) << rho;
    EXPECT_NEAR(speed_reward(rho, 1), std::tanh(std::log(rho)), 1e-12) << rho;
  }
  EXPECT_EQ(refine_reward(unbuilt(), 100.0), -1);
  EXPECT_EQ(refine_reward(measured(5), std::nullopt), 0);
}

TEST(Learner, moves_every_used_item_once_even_if_shown_twice) {
  const auto learnt =
      learn_from(task(), attempt(Stage::kDraft, {1, 2, 1}, measured(100)), LearningState(), {}, no_facts, 10);
  ASSERT_EQ(learnt.changes.size(), 3u);  // items 1 and 2, and the new start point
  EXPECT_DOUBLE_EQ(learnt.changes[0].after.q, -1 + 0.3 * 2);
  EXPECT_EQ(learnt.changes[0].after.n, 1);
  EXPECT_EQ(learnt.changes[2].item, ItemId{10});
  EXPECT_EQ(learnt.changes[2].stage, Stage::kRefine);
}

TEST(Learner, gives_no_reward_without_a_verdict) {
  Attempt a = attempt(Stage::kDraft, {1}, measured(1));
  a.verdict.reset();
  a.infrastructure_error = "disk full";
  const auto learnt = learn_from(task(), a, LearningState(), {}, no_facts, 10);
  EXPECT_TRUE(learnt.changes.empty());
  EXPECT_TRUE(learnt.items.empty());
  EXPECT_FALSE(learnt.reward);
  LearningState state;
  state.apply(a, learnt);
  EXPECT_EQ(state.progress({"t"}).budget_used, 0);
}

// A whole small life: draft, refine better, refine worse, fail; state by fold equals state by steps.
TEST(Learner, keeps_the_best_latency_monotone_and_normalises_with_earlier_rewards) {
  LearningState state;
  std::vector<std::pair<Attempt, Learnt>> log;
  std::int64_t next = 10;
  const auto go = [&](Stage stage, Verdict verdict) {
    Attempt a = attempt(stage, {1}, std::move(verdict), static_cast<std::int64_t>(log.size()) + 1);
    Learnt l = learn_from(task(), a, state, {}, no_facts, next);
    next += static_cast<std::int64_t>(l.items.size());
    state.apply(a, l);
    log.emplace_back(a, l);
    return l;
  };
  EXPECT_EQ(go(Stage::kDraft, measured(100)).best_after, 100);
  const auto better = go(Stage::kRefine, measured(50));
  EXPECT_NEAR(*better.reward, 0.6, 1e-12);
  EXPECT_NEAR(*better.reward_hat, 0.6, 1e-12) << "warm-up: not yet normalised";
  EXPECT_EQ(better.best_after, 50);
  const auto worse = go(Stage::kRefine, measured(200));
  EXPECT_LT(*worse.reward, 0);
  EXPECT_EQ(worse.best_after, 50);
  for (int i = 0; i < 6; ++i)
    EXPECT_LE(*go(Stage::kRefine, unbuilt()).reward_hat, 0) << "a failure never gains";
  EXPECT_EQ(state.progress({"t"}).budget_used, 9);
  EXPECT_EQ(state.progress({"t"}).start_points.size(), 3u);
  EXPECT_EQ(state.progress({"t"}).best_attempt, AttemptId{2});
  EXPECT_EQ(state.normaliser().n, 8);
  LearningState folded;
  for (const auto& [a, l] : log) folded.apply(a, l);
  EXPECT_EQ(folded, state);
}

TEST(Learner, makes_a_trace_and_an_experience_of_every_attempt_with_code) {
  const auto learnt = learn_from(
      task(), attempt(Stage::kDraft, {}, unbuilt()), LearningState(), {},
      [](const Task&, const Candidate&, const Verdict&) {
        return std::vector<Fact>{{{"vec.ln", "Log"}, false}};
      },
      10);
  ASSERT_EQ(learnt.items.size(), 2u);
  EXPECT_EQ(learnt.items[0].kind, ItemKind::kTrace);
  EXPECT_FALSE(learnt.items[0].facts.front().works);
  EXPECT_EQ(learnt.items[1].kind, ItemKind::kExperience);
  EXPECT_EQ(learnt.items[1].facts.front().choice.form, "Log");
  EXPECT_NE(learnt.items[1].text.find("no member named 'Log'"), std::string::npos) << learnt.items[1].text;
  EXPECT_EQ(learnt.items[1].finding_line, 3);
}

TEST(Learner, mirrors_the_reward_for_an_item_that_was_left_out) {
  Attempt a = attempt(Stage::kDraft, {1}, measured(100));
  a.context.recall.left_out.push_back({item(7), SelectedBy::kGreedy, 0, 0, 0, 1, true});
  const auto passed = learn_from(task(), a, LearningState(), {}, no_facts, 10);
  ASSERT_GE(passed.changes.size(), 2u);
  EXPECT_EQ(passed.changes[1].item, ItemId{7});
  EXPECT_DOUBLE_EQ(passed.changes[1].after.q, -1) << "it went well without: mirrored at -1, held at -1";
  a.verdict = unbuilt();
  const auto failed = learn_from(task(), a, LearningState(), {}, no_facts, 10);
  EXPECT_DOUBLE_EQ(failed.changes[1].after.q, -1) << "as bad as ever: nothing learnt";
  LearningState state;
  const auto first = attempt(Stage::kDraft, {}, {Unsteady{1, 2}, {}, {}, {}, ""});
  state.apply(first, learn_from(task(), first, state, {}, no_facts, 10));  // the task's mean is now -0.4
  const auto worse = learn_from(task(), a, state, {}, no_facts, 20);
  EXPECT_DOUBLE_EQ(worse.changes[1].after.q, -0.4 + 0.3 * (0.2 + 0.4)) << "2 * -0.4 - -1 = 0.2";
}

TEST(Learner, with_the_step_of_one_over_n_keeps_the_mean_of_start_and_rewards) {
  LearnConfig config;
  config.step.offset = 1;
  LearningState state;
  double sum = -1;
  for (int i = 1; i <= 6; ++i) {
    const Attempt a = attempt(Stage::kDraft, {1}, i % 3 ? unbuilt() : measured(100), i);
    const auto learnt = learn_from(task(), a, state, config, no_facts, 10 * i);
    if (i == 1) sum = -1;
    sum += *learnt.reward;
    state.apply(a, learnt);
    EXPECT_NEAR(state.values().find(Stage::kDraft, {1})->q, sum / (i + 1), 1e-12) << i;
  }
}

TEST(Learner, starts_values_where_the_rule_for_unused_items_says) {
  LearningState state;
  const Attempt first = attempt(Stage::kDraft, {}, measured(100));
  state.apply(first, learn_from(task(), first, state, {}, no_facts, 10));
  EXPECT_DOUBLE_EQ(unused_value({UnusedRule::kTaskMean, 0}, state, {"t"}, Stage::kDraft), -0.4);
  EXPECT_DOUBLE_EQ(unused_value({UnusedRule::kTaskMean, 0}, state, {"other"}, Stage::kDraft), -1);
  EXPECT_DOUBLE_EQ(unused_value({UnusedRule::kZero, 0}, state, {"t"}, Stage::kDraft), 0);
  EXPECT_DOUBLE_EQ(unused_value({UnusedRule::kGlobalMean, 0}, state, {"other"}, Stage::kDraft), 0);
  EXPECT_DOUBLE_EQ(unused_value({UnusedRule::kConst, 0.25}, state, {"t"}, Stage::kDraft), 0.25);
  for (const auto rule : {UnusedRule::kTaskMean, UnusedRule::kConst})
    EXPECT_EQ(unused_value({rule, 0.25}, state, {"t"}, Stage::kRefine), 0);
}

TEST(Learner, learns_the_advantage_over_the_tasks_mean_if_asked) {
  LearnConfig config;
  config.credit = Credit::kAdvantage;
  config.unused.rule = UnusedRule::kZero;
  const auto learnt =
      learn_from(task(), attempt(Stage::kDraft, {1}, measured(100)), LearningState(), config, no_facts, 10);
  EXPECT_DOUBLE_EQ(learnt.changes[0].after.q, 0.3 * 2);
  EXPECT_DOUBLE_EQ(*learnt.reward, 1) << "the reward on record is the paper's";
}

TEST(Learner, leaves_a_start_point_without_a_first_value_if_asked) {
  LearnConfig config;
  config.start_own = false;
  EXPECT_TRUE(
      learn_from(task(), attempt(Stage::kDraft, {}, measured(9)), LearningState(), config, no_facts, 1)
          .changes.empty());
}

TEST(LearningState, widens_the_pool_when_no_new_task_is_solved) {
  LearningState state;
  for (int i = 0; i < 3; ++i) state.end_sweep({});
  EXPECT_EQ(state.pool().lambda, 4);
  for (int i = 0; i < 30; ++i) state.end_sweep({});
  EXPECT_EQ(state.pool().lambda, 30);
}

}  // namespace
}  // namespace evk
