#include "cli/options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace evk {
namespace {

TEST(Options, table_has_one_flag_key_and_variable_each_and_takes_its_own_defaults) {
  std::set<std::string> flags, keys, variables;
  for (const auto& option : run_options()) {
    EXPECT_TRUE(flags.insert(option.flag).second) << option.flag;
    EXPECT_TRUE(keys.insert(option.key).second) << option.key;
    EXPECT_TRUE(variables.insert(option.variable).second) << option.variable;
    RunOptions options;
    EXPECT_TRUE(option.set(options, option.show(RunOptions()))) << option.flag;
    EXPECT_EQ(option.show(options), option.show(RunOptions())) << option.flag;
  }
}

TEST(Options, file_sets_and_variable_beats_it) {
  RunOptions options;
  ASSERT_TRUE(apply_file(options, "[campaign]\nsweeps = 7\nseed = 3\n[learn]\nalpha = 0.5\n", "c.toml"));
  EXPECT_EQ(options.sweeps, 7);
  EXPECT_EQ(options.alpha, 0.5);
  ::setenv("EVK_SWEEPS", "9", 1);
  ASSERT_TRUE(apply_environment(options));
  ::unsetenv("EVK_SWEEPS");
  EXPECT_EQ(options.sweeps, 9);
  EXPECT_EQ(options.seed, 3u);
}

TEST(Options, unknown_key_names_the_nearest) {
  RunOptions options;
  const Status bad = apply_file(options, "[campaign]\nsweep = 7\n", "c.toml");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "c.toml: unknown key 'campaign.sweep'; did you mean 'campaign.sweeps'?");
}

TEST(Options, bad_values_name_file_key_and_range) {
  RunOptions options;
  for (const char* text :
       {"[campaign]\nsweeps = 0\n", "[campaign]\nsweeps = \"many\"\n", "[learn]\nalpha = 2\n", "[campaign\n",
        "sweeps = 3\n", "[campaign]\nsweeps = [1]\n", "[campaign]\nbackend = \"moon\"\n"}) {
    const Status bad = apply_file(options, text, "c.toml");
    ASSERT_FALSE(bad) << text;
    EXPECT_EQ(bad.error().message.rfind("c.toml", 0), 0u) << bad.error().message;
  }
  EXPECT_EQ(options.sweeps, 30);
}

}  // namespace
}  // namespace evk
