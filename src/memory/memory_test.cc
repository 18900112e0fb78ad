#include "memory/memory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "memory/dot.h"
#include "memory/normaliser.h"
#include "memory/value_table.h"

namespace evk {
namespace {

TEST(ValueTable, moves_towards_the_reward_by_the_step) {
  EXPECT_DOUBLE_EQ(moved_towards(0.2, -1, 0.1), 0.08);
  ValueTable table;
  const auto change = table.update(Stage::kDraft, {1}, 1.0, 0.3, -1.0, 4);
  table.restore(change.stage, change.item, change.after);
  EXPECT_DOUBLE_EQ(change.before.q, -1.0);
  EXPECT_DOUBLE_EQ(change.after.q, -0.4);
  EXPECT_EQ(table.find(Stage::kDraft, {1})->n, 1);
  EXPECT_FALSE(table.find(Stage::kRefine, {1})) << "the stages are apart";
}

// Paper appendix A: rewards and start within a bound keep the value within it.
TEST(ValueTable, never_leaves_the_range_of_its_rewards) {
  std::mt19937 engine(3);
  std::uniform_real_distribution<double> uniform(-3, 3);
  ValueTable table;
  for (int i = 0; i < 10000; ++i) {
    const auto change = table.update(Stage::kRefine, {i % 7}, uniform(engine), 0.3, 0.0, i);
    table.restore(change.stage, change.item, change.after);
    EXPECT_LE(std::abs(table.find(Stage::kRefine, {i % 7})->q), 3.0);
  }
}

TEST(Normaliser, uses_the_statistics_before_the_reward_and_agrees_with_two_passes) {
  std::mt19937 engine(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Normaliser normaliser({});
  std::vector<double> seen;
  for (int i = 0; i < 200; ++i) {
    const double r = uniform(engine);
    double mu = 0, sigma = 1;
    if (seen.size() >= 5) {
      for (const double s : seen) mu += s / static_cast<double>(seen.size());
      double variance = 0;
      for (const double s : seen) variance += (s - mu) * (s - mu) / static_cast<double>(seen.size());
      sigma = std::max(0.1, std::sqrt(variance));
    }
    EXPECT_NEAR(normaliser.normalise(r), std::clamp((r - mu) / sigma, -3.0, 3.0), 1e-9) << i;
    seen.push_back(r);
  }
}

TEST(Normaliser, keeps_equal_rewards_finite) {
  Normaliser normaliser({});
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(std::isfinite(normaliser.normalise(-1)));
  EXPECT_LE(std::abs(normaliser.normalise(1)), 3.0);
}

TEST(Embedder, finds_the_text_about_the_same_thing) {
  const std::vector<std::string> corpus = {"softmax over rows exp sum divide", "relu activation max zero",
                                           "matrix multiply cube", "layer norm mean variance rows"};
  const auto embedder = hashed_tf_idf(corpus);
  const auto query = embedder->embed("log softmax: exp, sum of rows");
  std::vector<double> scores;
  for (const auto& text : corpus) scores.push_back(dot(query, embedder->embed(text)));
  EXPECT_EQ(std::max_element(scores.begin(), scores.end()) - scores.begin(), 0);
  EXPECT_NEAR(dot(query, query), 1.0, 1e-6);
  EXPECT_EQ(dot(embedder->embed(""), query), 0.0);
}

TEST(Embedder, splits_identifiers_into_words) {
  EXPECT_EQ(words_of("DataCopyPad(x_local, 32)"),
            (std::vector<std::string>{"data", "copy", "pad", "x", "local", "32"}));
}

TEST(VectorIndex, agrees_with_sorting_everything) {
  std::mt19937 engine(9);
  std::normal_distribution<float> normal;
  VectorIndex index(32);
  std::vector<std::vector<float>> rows;
  for (int i = 0; i < 300; ++i) {
    std::vector<float> row(32);
    for (float& v : row) v = normal(engine);
    const auto norm = static_cast<float>(std::sqrt(dot(row, row)));
    for (float& v : row) v /= norm;
    rows.push_back(i % 50 == 49 ? rows[0] : row);  // some ties
    index.add({i + 1}, rows.back());
  }
  const auto odd = [](ItemId id) { return id.number % 2 == 1; };
  std::vector<Neighbour> all;
  for (int i = 0; i < 300; ++i)
    if (odd({i + 1})) all.push_back({{i + 1}, dot(rows[0], rows[static_cast<std::size_t>(i)])});
  std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.similarity > b.similarity; });
  const auto found = index.nearest(rows[0], 20, odd);
  ASSERT_EQ(found.size(), 20u);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].item, all[i].item) << i;
  EXPECT_EQ(index.nearest(rows[0], 1000, odd).size(), 150u);
}

TEST(Memory, finds_items_by_the_names_they_document) {
  Memory memory(hashed_tf_idf({}));
  MemoryItem item;
  item.id = {1};
  item.name = "api/exp";
  item.names = {"Exp"};
  item.answers = {"compile.error"};
  memory.add(item);
  ASSERT_EQ(memory.documenting("Exp").size(), 1u);
  EXPECT_EQ(memory.documenting("Exp")[0]->name, "api/exp");
  EXPECT_EQ(memory.answering("compile.error").size(), 1u);
  EXPECT_TRUE(memory.documenting("Ln").empty());
}

}  // namespace
}  // namespace evk
