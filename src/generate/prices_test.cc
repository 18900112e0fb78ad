#include "generate/prices.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace evk {
namespace {

class PricesTest : public testing::Test {
 protected:
  PricesTest() : path_(testing::TempDir() + "prices.toml") {}
  ~PricesTest() override { std::filesystem::remove(path_); }

  Result<Price> read(const std::string& text, const std::string& model = "qwen3:8b") {
    std::ofstream(path_) << text;
    return read_price(path_, model);
  }

  std::string path_;
};

TEST_F(PricesTest, are_read_by_the_models_name) {
  const auto price = read("[\"gpt\"]\nprompt = 9\nanswer = 9\n[\"qwen3:8b\"]\nprompt = 0.5\nanswer = 2\n");
  ASSERT_TRUE(price) << price.error().text();
  EXPECT_EQ(price->prompt, 0.5);
  EXPECT_EQ(price->answer, 2);
  EXPECT_EQ(price->cached, 0.5) << "a table without a price for cached tokens knows no discount";
  EXPECT_EQ(read("[\"qwen3:8b\"]\nprompt = 1\nanswer = 2\ncached = 0.125\n")->cached, 0.125);
}

TEST_F(PricesTest, that_are_missing_wrong_or_no_numbers_are_refused) {
  for (const char* text :
       {"", "[\"other\"]\nprompt = 1\nanswer = 1\n", "[\"qwen3:8b\"]\nprompt = 1\n",
        "[\"qwen3:8b\"]\nprompt = -1\nanswer = 1\n", "[\"qwen3:8b\"]\nprompt = nan\nanswer = 1\n",
        "[\"qwen3:8b\"]\nprompt = 1\nanswer = inf\n", "[\"qwen3:8b\"]\nprompt = 'one'\nanswer = 1\n",
        "[\"qwen3:8b\"]\nprompt = 1\nanswer = 1\ncached = -2\n", "\"qwen3:8b\" = 3\n"}) {
    const auto price = read(text);
    ASSERT_FALSE(price) << text;
    EXPECT_NE(price.error().text().find("[\"qwen3:8b\"] with prompt and answer"), std::string::npos);
  }
  const auto broken = read("\n[\"qwen3:8b\"\n");
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().text().find("prices.toml:2"), std::string::npos) << broken.error().text();
  EXPECT_FALSE(read_price(path_ + ".none", "m"));
}

TEST_F(PricesTest, of_an_answer_count_cached_tokens_apart) {
  const Price price{2, 10, 0.5};
  Answer answer;
  answer.prompt_tokens = 1'000'000, answer.cached_tokens = 400'000, answer.answer_tokens = 200'000;
  EXPECT_DOUBLE_EQ(cost_of(price, answer), 0.6 * 2 + 0.4 * 0.5 + 0.2 * 10);
  answer.cached_tokens = 3'000'000;  // an endpoint that counts wrongly makes no negative cost
  EXPECT_DOUBLE_EQ(cost_of(price, answer), 0.5 + 2);
}

}  // namespace
}  // namespace evk
