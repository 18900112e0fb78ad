#include "task/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "task/task_samples.h"

namespace evk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> ids(const std::vector<SuiteEntry>& entries) {
  std::vector<std::string> found;
  for (const SuiteEntry& entry : entries) found.push_back(entry.id.text.substr(entry.id.text.find('/') + 1));
  return found;
}

class Suite : public testing::Test {
 protected:
  Suite() {
    for (const char* name :
         {"10_ten.py", "2_Two_.py", "1_one.py", "100_hundred.py", "extra.py", "notes.txt", "_hidden.py"})
      folder_.write(std::string("kb/") + name, "x = 1\n");
  }
  std::vector<SuiteEntry> all() { return resolve_suite(folder_.path() + "/kb", EVK_SOURCE_DIR).value(); }
  sample::Folder folder_;
};

TEST_F(Suite, a_folder_is_read_in_the_order_of_its_numbers) {
  EXPECT_THAT(ids(all()), ElementsAre("1_one", "2_Two_", "10_ten", "100_hundred", "extra"));
  EXPECT_EQ(all()[0].id.text, "kb/1_one");
}

TEST_F(Suite, a_file_is_a_suite_of_one_with_the_same_id) {
  auto one = resolve_suite(folder_.path() + "/kb/10_ten.py", EVK_SOURCE_DIR);
  ASSERT_TRUE(one);
  ASSERT_EQ(one->size(), 1u);
  EXPECT_EQ((*one)[0].id.text, "kb/10_ten");
  EXPECT_FALSE(resolve_suite(folder_.path() + "/kb/notes.txt", EVK_SOURCE_DIR));
}

TEST_F(Suite, our_demo_comes_with_packs) {
  auto demo = resolve_suite("demo", EVK_SOURCE_DIR);
  ASSERT_TRUE(demo) << demo.error().message;
  EXPECT_GE(demo->size(), 14u);
  for (const SuiteEntry& entry : *demo) EXPECT_FALSE(entry.shipped_pack.empty()) << entry.id.text;
  EXPECT_EQ((*demo)[0].id.text.substr(0, 5), "demo/");
}

TEST_F(Suite, what_does_not_exist_is_an_error_that_names_our_suites) {
  auto none = resolve_suite("no_such_suite", EVK_SOURCE_DIR);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("demo"));
  EXPECT_FALSE(resolve_suite("packs", EVK_SOURCE_DIR));
  EXPECT_FALSE(resolve_suite("../tasks", std::string(EVK_SOURCE_DIR) + "/tasks"));
  EXPECT_FALSE(resolve_suite("", EVK_SOURCE_DIR));
}

TEST_F(Suite, selects_by_number_range_and_name) {
  const auto chosen = [&](const char* only) { return ids(select_tasks(all(), only).value()); };
  EXPECT_THAT(chosen("2-10"), ElementsAre("2_Two_", "10_ten"));
  EXPECT_THAT(chosen("100, 1"), ElementsAre("1_one", "100_hundred"));
  EXPECT_THAT(chosen("two,extra"), ElementsAre("2_Two_", "extra"));
  EXPECT_THAT(chosen("10_ten"), ElementsAre("10_ten"));
  EXPECT_THAT(chosen("kb/extra"), ElementsAre("extra"));
  EXPECT_EQ(chosen("").size(), 5u);
}

TEST_F(Suite, an_item_that_matches_nothing_names_the_nearest_task) {
  auto none = select_tasks(all(), "1,hundrat");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("100_hundred"));
  EXPECT_FALSE(select_tasks(all(), "3-9"));
  EXPECT_FALSE(select_tasks(all(), "99999999999999999999"));
}

}  // namespace
}  // namespace evk
