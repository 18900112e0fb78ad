#include "cli/make_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace evk {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

RunOptions endpoint() {
  RunOptions options;
  options.generator = "openai";
  options.model = "m";
  options.base_url = "http://127.0.0.1:1/v1";
  return options;
}

TEST(MakeGenerator, takes_keys_out_of_the_environment_that_children_inherit) {
  for (const char* name : {"EVOKERNEL_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"})
    ::setenv(name, "sk-1", 1);
  ASSERT_TRUE(make_generator(endpoint()));
  for (const char* name : {"EVOKERNEL_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"})
    EXPECT_EQ(std::getenv(name), nullptr) << name;
}

TEST(MakeGenerator, refuses_a_key_that_would_break_a_header_without_printing_it) {
  ::setenv("EVOKERNEL_API_KEY", "sk-1\r\nx: y", 1);
  const auto made = make_generator(endpoint());
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, AllOf(HasSubstr("the key"), Not(HasSubstr("sk-1"))));
}

TEST(MakeGenerator, asks_for_what_a_generator_needs) {
  RunOptions options = endpoint();
  options.model = "";
  EXPECT_THAT(make_generator(options).error().message, HasSubstr("--model"));
  options = endpoint();
  options.budget_usd = 1;
  EXPECT_THAT(make_generator(options).error().message, HasSubstr("--prices"));
  options.generator = "replay";
  EXPECT_THAT(make_generator(options).error().message, HasSubstr("--cassette"));
  options.generator = "command";
  EXPECT_THAT(make_generator(options).error().message, HasSubstr("--command"));
}

TEST(MakeGenerator, reads_prices_of_its_model_and_names_what_is_wrong) {
  RunOptions options = endpoint();
  options.budget_usd = 1;
  options.prices = testing::TempDir() + "/prices.toml";
  const auto with = [&](const std::string& text) {
    std::ofstream(options.prices) << text;
    return make_generator(options);
  };
  EXPECT_TRUE(with("[\"m\"]\nprompt = 1\nanswer = 2.5\n"));
  EXPECT_THAT(with("[\"other\"]\nprompt = 1\nanswer = 2\n").error().message, HasSubstr("[\"m\"]"));
  EXPECT_THAT(with("[\"m\"]\nprompt = -1\nanswer = 2\n").error().message, HasSubstr("[\"m\"]"));
  EXPECT_THAT(with("m = 3\n").error().message, HasSubstr("[\"m\"]"));
  EXPECT_THAT(with("\n[\"m\"\n").error().message, HasSubstr("prices.toml:2"));
  options.prices += ".missing";
  EXPECT_THAT(make_generator(options).error().message, HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace evk
