#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "retrieve/policy.h"
#include "retrieve/retriever.h"

namespace evk {
namespace {

PoolEntry entry(std::int64_t id, double value, double similarity = 0, ItemKind kind = ItemKind::kTrace,
                const char* task = nullptr) {
  MemoryItem i;
  i.id = {id};
  i.kind = kind;
  if (task) i.task = TaskId{task};
  return {std::make_shared<const MemoryItem>(i), similarity, value};
}

std::vector<std::int64_t> ids(const std::vector<ContextItem>& chosen) {
  std::vector<std::int64_t> list;
  for (const auto& c : chosen) list.push_back(c.item->id.number);
  return list;
}

const PolicyConfig kFive{5, {{ItemKind::kTrace, 3}, {ItemKind::kExperience, 2}}, 2};

TEST(Policy, is_greedy_by_value_then_similarity_then_lower_id) {
  Random random(1);
  EXPECT_EQ(ids(choose({entry(1, 0), entry(2, 1), entry(3, 1, 0.5), entry(4, 1, 0.5)}, kFive, 0, random)),
            (std::vector<std::int64_t>{3, 4, 2, 1}));
}

TEST(Policy, gives_unused_slots_of_a_kind_to_the_best_value_left) {
  Random random(1);
  std::vector<PoolEntry> pool;
  for (int i = 1; i <= 6; ++i) pool.push_back(entry(i, -i));
  pool.push_back(entry(7, -10, 0, ItemKind::kExperience));
  EXPECT_EQ(ids(choose(pool, kFive, 0, random)), (std::vector<std::int64_t>{1, 2, 3, 7, 4}));
}

TEST(Policy, shows_at_most_two_items_of_one_task) {
  Random random(1);
  std::vector<PoolEntry> pool;
  for (int i = 1; i <= 4; ++i) pool.push_back(entry(i, 1, 0, ItemKind::kTrace, "same"));
  EXPECT_EQ(choose(pool, kFive, 0, random).size(), 2u);
}

TEST(Policy, returns_the_whole_pool_if_it_is_smaller_than_the_slots) {
  Random random(1);
  EXPECT_EQ(choose({entry(1, 0)}, kFive, 0.3, random).size(), 1u);
  EXPECT_TRUE(choose({}, kFive, 0.3, random).empty());
}

// The recorded propensity is the frequency with which the first slot is given to the item.
TEST(Policy, records_propensities_that_match_frequencies) {
  const PolicyConfig one{1, {{ItemKind::kTrace, 1}}, 2};
  std::map<std::int64_t, int> count;
  std::map<std::int64_t, double> propensity;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    Random random(mix(77, static_cast<std::uint64_t>(i)));
    const auto chosen = choose({entry(1, 0), entry(2, 1), entry(3, 0.5)}, one, 0.3, random);
    ++count[chosen[0].item->id.number];
    propensity[chosen[0].item->id.number] = chosen[0].propensity;
  }
  for (const auto& [id, p] : propensity) EXPECT_NEAR(p, count[id] / static_cast<double>(kDraws), 0.015) << id;
}

std::int64_t first_of(std::vector<PoolEntry> pool, PolicyConfig config, std::uint64_t seed = 1) {
  Random random(seed);
  config.slots = 1;
  return choose(std::move(pool), config, 0, random).at(0).item->id.number;
}

PoolEntry used(std::int64_t id, double q, std::int64_t n, double sum_r, double similarity = 0) {
  PoolEntry e = entry(id, q, similarity);
  e.learnt = {q, n, sum_r, sum_r * sum_r, 1};
  return e;
}

TEST(Ranking, by_ucb1_prefers_the_lesser_known_of_equals_and_the_better_of_the_known) {
  PolicyConfig config = kFive;
  config.rank.rule = Rule::kUcb1;
  EXPECT_EQ(first_of({used(1, 0.5, 10, 5), used(2, 0.5, 2, 1)}, config), 2);
  config.rank.ucb_c = 0;
  EXPECT_EQ(first_of({used(1, 0.5, 10, 5), used(2, 0.5, 2, 0.5)}, config), 1);
  Random random(1);
  std::vector<PoolEntry> pool = {used(1, 0.5, 4, 2), entry(2, -1)};
  set_scores(pool, {Rule::kUcb1, 0.5}, Stage::kDraft, random);
  EXPECT_DOUBLE_EQ(pool[0].score, 0.5 + 0.5 * std::sqrt(2 * std::log(4.0) / 4));
  EXPECT_DOUBLE_EQ(pool[1].score, -1 + 0.5 * std::sqrt(2 * std::log(4.0)));
}

TEST(Ranking, by_thompson_draws_in_proportion_to_the_evidence) {
  PolicyConfig config = kFive;
  config.rank.rule = Rule::kThompson;
  for (const Stage stage : {Stage::kDraft, Stage::kRefine}) {
    config.stage = stage;
    int good = 0, unsure = 0;
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
      good += first_of({used(1, 0.6, 50, 30), used(2, -0.6, 50, -30)}, config, seed) == 1;
      unsure += first_of({used(1, 0.1, 2, 0.2), entry(2, 0.1)}, config, seed) == 1;
    }
    EXPECT_EQ(good, 500);
    EXPECT_GT(unsure, 150);
    EXPECT_LT(unsure, 350);
  }
}

TEST(Ranking, by_memrl_weighs_similarity_against_value) {
  PolicyConfig config = kFive;
  config.rank.rule = Rule::kMemRl;
  const std::vector<PoolEntry> pool = {entry(1, 1, 0.1), entry(2, 0, 0.9), entry(3, 0.2, 0.2)};
  config.rank.mix = 1;
  EXPECT_EQ(first_of(pool, config), 1);
  config.rank.mix = 0;
  EXPECT_EQ(first_of(pool, config), 2);
}

TEST(Ranking, by_marginal_relevance_passes_over_what_is_alike) {
  PolicyConfig config = kFive;
  config.slots = 2;
  config.rank.mmr = 0.7;
  config.alike = [](ItemId a, ItemId b) { return a.number + b.number == 3 ? 1.0 : 0.0; };  // 1 and 2
  Random random(1);
  const std::vector<PoolEntry> pool = {entry(1, 1), entry(2, 0.9), entry(3, 0.6)};
  EXPECT_EQ(ids(choose(pool, config, 0, random)), (std::vector<std::int64_t>{1, 3}));
  config.rank.mmr = 1;
  EXPECT_EQ(ids(choose(pool, config, 0, random)), (std::vector<std::int64_t>{1, 2}));
}

TEST(Policy, logs_pool_and_coins) {
  Random random(1);
  RecallLog log;
  choose({entry(1, 0.5, 0.3), entry(2, 0.1)}, kFive, 0.5, random, &log);
  ASSERT_EQ(log.pool.size(), 2u);
  EXPECT_EQ(log.pool[0].item, ItemId{1});
  EXPECT_EQ(log.pool[0].value, 0.5);
  EXPECT_EQ(log.pool[0].score, 0.5);
  EXPECT_EQ(log.coins.size(), 2u);
}

class RetrieverTest : public testing::Test {
 protected:
  RetrieverTest() : memory_(hashed_tf_idf({})) {
    task_.id = {"softmax"};
    task_.name = "softmax rows exp sum";
  }
  MemoryItem& make(ItemKind kind, const char* key, const char* task = nullptr, bool feasible = true) {
    items_.emplace_back();
    MemoryItem& i = items_.back();
    i.id = {static_cast<std::int64_t>(items_.size())};
    i.kind = kind;
    i.key_text = key;
    i.feasible = feasible;
    if (task) i.task = TaskId{task};
    return i;
  }
  void fill() {
    for (auto& i : items_) memory_.add(i);
  }
  Context draft(RetrieveConfig config = {}) {
    Random random(5);
    return retrieve_for_draft(task_, memory_, state_, config, {2, 0}, random);
  }
  std::deque<MemoryItem> items_;
  Memory memory_;
  LearningState state_;
  Task task_;
};

TEST_F(RetrieverTest, drafting_with_an_empty_memory_gives_an_empty_context) {
  EXPECT_TRUE(draft().items.empty());
}

TEST_F(RetrieverTest, drafting_is_shown_traces_of_other_tasks_only) {
  make(ItemKind::kTrace, "softmax rows", "softmax");
  make(ItemKind::kTrace, "softmax rows", "other");
  make(ItemKind::kExperience, "softmax rows", "softmax");
  make(ItemKind::kPractice, "softmax rows");
  fill();
  std::vector<std::int64_t> shown;
  for (const auto& c : draft().items) shown.push_back(c.item->id.number);
  EXPECT_EQ(shown, (std::vector<std::int64_t>{2, 3}));
}

TEST_F(RetrieverTest, recalls_lambda_times_n_and_prefers_what_is_near) {
  for (int i = 0; i < 30; ++i)
    make(ItemKind::kTrace, i % 2 ? "softmax rows exp" : "conv weights", ("t" + std::to_string(i)).c_str());
  fill();
  const auto context = draft();
  EXPECT_EQ(context.pool_size, 10);
  for (const auto& c : context.items) EXPECT_EQ(c.item->key_text, "softmax rows exp");
}

TEST_F(RetrieverTest, finds_api_items_by_the_names_of_an_error_and_of_shown_code) {
  make(ItemKind::kApi, "zzz").names = {"Exp"};
  make(ItemKind::kApi, "yyy").names = {"Ln"};
  make(ItemKind::kApi, "vvv").static_bundle = true;
  make(ItemKind::kPractice, "www").answers = {"compile.error"};
  MemoryItem& failed = make(ItemKind::kTrace, "softmax", "softmax", false);
  failed.text = "no member named 'Log'; did you mean 'Ln'";
  failed.code = "compile.error";
  make(ItemKind::kTrace, "softmax", "other").files = {{"op_kernel/a.cpp", "AscendC::Exp(y, x, 8);"}};
  fill();
  Attempt a;
  a.task = task_.id;
  a.verdict = Verdict{Unbuilt{}, {}, {}, {}, ""};
  Learnt l;
  l.items = {failed};
  state_.apply(a, l);
  RetrieveConfig config;
  config.api_semantic_max = 0;
  const auto context = draft(config);
  EXPECT_EQ(context.chosen(SelectedBy::kPinned).size(), 1u);
  EXPECT_EQ(context.chosen(SelectedBy::kApiStatic).front()->item->id.number, 3);
  std::vector<std::int64_t> exact;
  for (const auto* c : context.chosen(SelectedBy::kApiExact)) exact.push_back(c->item->id.number);
  EXPECT_EQ(exact, (std::vector<std::int64_t>{2, 4, 1}))
      << "the error's names first, then its pitfall, then shown code";
}

TEST_F(RetrieverTest, drops_the_lowest_value_first_when_the_budget_is_short) {
  for (int i = 0; i < 4; ++i)
    make(ItemKind::kTrace, "softmax", ("t" + std::to_string(i)).c_str()).text = std::string(1000, 'x');
  fill();
  Attempt a;
  a.task = {"x"};
  Learnt l;
  l.changes = {{Stage::kDraft, {2}, {}, {0.9, 1, 0.9, 0.81, 1}}};
  state_.apply(a, l);
  RetrieveConfig config;
  config.chars_max = 1500;
  const auto context = draft(config);
  ASSERT_EQ(context.items.size(), 1u);
  EXPECT_EQ(context.items[0].item->id.number, 2);
  EXPECT_EQ(context.recall.cut.size(), 3u) << "what was dropped is on record";
}

TEST_F(RetrieverTest, leaves_one_out_in_the_asked_share_of_attempts) {
  for (int i = 0; i < 5; ++i) make(ItemKind::kTrace, "softmax", ("t" + std::to_string(i)).c_str());
  fill();
  RetrieveConfig config;
  config.leave_one_out = 0.25;
  int without = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const auto context = retrieve_for_draft(task_, memory_, state_, config, {2, 0}, random);
    const auto& left_out = context.recall.left_out;
    EXPECT_EQ(context.items.size() + left_out.size(), 5u);
    without += !left_out.empty();
    for (const auto& c : context.items)
      EXPECT_TRUE(left_out.empty() || c.item->id != left_out[0].item->id) << seed;
  }
  EXPECT_NEAR(without, 100, 30);
  EXPECT_TRUE(draft().recall.left_out.empty());
}

TEST_F(RetrieverTest, without_quotas_one_task_and_one_kind_may_fill_the_context) {
  for (int i = 0; i < 5; ++i) make(ItemKind::kTrace, "softmax", "other", false);
  make(ItemKind::kExperience, "softmax", "third");
  fill();
  EXPECT_EQ(draft().items.size(), 3u);
  RetrieveConfig config;
  config.quotas = false;
  std::vector<std::int64_t> shown;
  for (const auto& c : draft(config).items) shown.push_back(c.item->id.number);
  EXPECT_EQ(shown, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
}

TEST_F(RetrieverTest, shrinks_values_towards_the_mean_of_kind_and_category) {
  for (int i = 0; i < 3; ++i)
    make(ItemKind::kTrace, "softmax", ("t" + std::to_string(i)).c_str()).category = i < 2 ? "good" : "bad";
  fill();
  Attempt a;
  a.task = {"x"};
  Learnt l;
  for (const std::int64_t id : {1, 3}) {
    a.context.items.push_back({memory_.at({id}), SelectedBy::kGreedy, 0, 0, 0, 1, true});
    l.changes.push_back({Stage::kDraft, {id}, {}, {id == 1 ? 1.0 : -1.0, 1, id == 1 ? 1.0 : -1.0, 1, 1}});
  }
  state_.apply(a, l);
  RetrieveConfig config;
  config.shrinkage = 1;
  const auto context = draft(config);
  std::map<std::int64_t, double> value;
  for (const auto& c : context.items) value[c.item->id.number] = c.value;
  EXPECT_DOUBLE_EQ(value[1], 1);
  EXPECT_DOUBLE_EQ(value[2], 1) << "never used: the mean of its group";
  EXPECT_DOUBLE_EQ(value[3], -1);
}

TEST_F(RetrieverTest, refines_from_the_start_point_of_highest_value_and_shows_its_children) {
  for (int i = 0; i < 2; ++i) make(ItemKind::kTrace, "softmax", "softmax").latency_ns = 100 - i;
  make(ItemKind::kTrace, "softmax", "softmax", false).parent = ItemId{1};
  make(ItemKind::kPractice, "softmax");
  fill();
  for (std::int64_t id = 1; id <= 3; ++id) {
    Attempt a;
    a.id = {id};
    a.task = task_.id;
    a.verdict = id < 3 ? Verdict{Measured{100.0 - static_cast<double>(id - 1), true, {}}, {}, {}, {}, ""}
                       : Verdict{Unbuilt{}, {}, {}, {}, ""};
    Learnt l;
    MemoryItem trace = *memory_.at({id});
    trace.source_hash = std::to_string(id);
    l.items = {trace};
    if (id == 1) l.changes = {{Stage::kRefine, {1}, {}, {0.8, 1, 0.8, 0.64, 1}}};
    state_.apply(a, l);
  }
  Random random(5);
  const auto context = retrieve_for_refine(task_, memory_, state_, {}, {2, 0}, random);
  EXPECT_EQ(context.start()->id, ItemId{1});
  ASSERT_EQ(context.chosen(SelectedBy::kChild).size(), 1u);
  EXPECT_EQ(context.chosen(SelectedBy::kChild)[0]->item->id, ItemId{3});
  ASSERT_EQ(context.chosen(SelectedBy::kVariant).size(), 1u);
  EXPECT_EQ(context.chosen(SelectedBy::kVariant)[0]->item->id, ItemId{2});
  RetrieveConfig heuristic;
  heuristic.rank.rule = Rule::kSimilarity;
  Random again(5);
  EXPECT_EQ(retrieve_for_refine(task_, memory_, state_, heuristic, {2, 0}, again).start()->id, ItemId{2})
      << "lowest latency";
}

}  // namespace
}  // namespace evk
