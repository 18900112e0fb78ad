#include "memory/knowledge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace evk {
namespace {

using ::testing::HasSubstr;

const std::string kGood =
    "+++\nkind = \"api\"\nname = \"api/exp\"\ntitle = \"Exp\"\ncategory = \"vector\"\nnames = "
    "[\"Exp\"]\nstatic = true\n"
    "shows = [\"vec.exp=Exp\"]\navoid = [\"vec.exp=Exps\"]\n+++\n\nElementwise exponential.\n";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kGood;
  text.replace(text.find(from), from.size(), to);
  return text;
}

std::string error_of(const std::string& text) {
  const auto read = read_knowledge(text, "api/exp.md", "b");
  return read ? "" : read.error().message;
}

TEST(Knowledge, reads_every_field) {
  const auto item = read_knowledge(kGood, "api/exp.md", "ascendc_twin");
  ASSERT_TRUE(item) << item.error().text();
  EXPECT_EQ(item->kind, ItemKind::kApi);
  EXPECT_EQ(item->name, "api/exp");
  EXPECT_EQ(item->backend, "ascendc_twin");
  EXPECT_TRUE(item->static_bundle);
  EXPECT_EQ(item->text, "Elementwise exponential.");
  EXPECT_THAT(item->names, testing::ElementsAre("Exp"));
  EXPECT_THAT(item->facts,
              testing::ElementsAre(Fact{{"vec.exp", "Exp"}, true}, Fact{{"vec.exp", "Exps"}, false}));
}

TEST(Knowledge, refuses_what_it_does_not_know_and_names_file_and_key) {
  EXPECT_THAT(error_of(with("static", "sttic")), HasSubstr("api/exp.md: unknown key \"sttic\""));
  EXPECT_THAT(error_of(with("\"api\"", "\"law\"")), HasSubstr("\"kind\""));
  EXPECT_THAT(error_of(with("api/exp", "pitfall/exp")), HasSubstr("\"name\""));
  EXPECT_THAT(error_of(with("title = \"Exp\"\n", "")), HasSubstr("\"title\""));
  EXPECT_THAT(error_of(with("vec.exp=Exps", "vec.exp")), HasSubstr("\"avoid\""));
  EXPECT_THAT(error_of(with("static = true", "static = 1")), HasSubstr("\"static\""));
  EXPECT_THAT(error_of(with("[\"Exp\"]", "[1]")), HasSubstr("\"names\""));
  EXPECT_THAT(error_of(with("category = \"vector\"", "category = \"pitfall\"")), HasSubstr("\"category\""));
  EXPECT_THAT(error_of(with("kind =", "kind")), HasSubstr("front matter line"));
  EXPECT_THAT(error_of("# Exp\n"), HasSubstr("front matter"));
  EXPECT_THAT(error_of(kGood + std::string(70000, 'x')), HasSubstr("bytes"));
}

TEST(Knowledge, of_the_product_loads_in_the_order_of_names) {
  const auto items = load_knowledge(EVK_SOURCE_DIR "/knowledge/ascendc", "ascendc_twin");
  ASSERT_TRUE(items) << items.error().text();
  std::size_t apis = 0, statics = 0, pitfalls = 0, practices = 0;
  std::string before;
  for (const auto& item : *items) {
    EXPECT_LT(before, item.name);
    before = item.name;
    apis += item.kind == ItemKind::kApi;
    statics += item.static_bundle;
    pitfalls += item.category == "pitfall";
    practices += item.kind == ItemKind::kPractice && item.category != "pitfall";
    EXPECT_EQ(item.kind == ItemKind::kPractice, !item.answers.empty()) << item.name;
    EXPECT_FALSE(item.text.empty()) << item.name;
  }
  EXPECT_GE(apis, 150u);
  EXPECT_GE(pitfalls, 60u);
  EXPECT_GE(practices, 30u);
  EXPECT_GE(statics, 5u);
  EXPECT_LE(statics, 7u);
}

std::string text_of(const std::string& path) {
  std::ifstream in(std::string(EVK_SOURCE_DIR) + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Knowledge, pitfalls_answer_findings_that_there_are) {
  const auto items = load_knowledge(EVK_SOURCE_DIR "/knowledge/ascendc", "ascendc_twin");
  ASSERT_TRUE(items);
  const std::string twin = text_of("/docs/twin_findings.md") + text_of("/docs/twin.md");
  std::string ours;
  for (const char* folder : {"/src/verify", "/src/backend", "/src/core"})
    for (const auto& file : std::filesystem::directory_iterator(std::string(EVK_SOURCE_DIR) + folder))
      if (file.path().extension() == ".cc")
        ours += text_of(std::string(folder) + "/" + file.path().filename().string());
  for (const auto& item : *items) {
    if (item.category != "pitfall") continue;
    for (const auto& code : item.answers) {
      const bool known = code.starts_with("twin.")
                             ? twin.find("`" + code.substr(5) + "`") != std::string::npos
                             : ours.find("\"" + code + "\"") != std::string::npos;
      EXPECT_TRUE(known) << item.name << " answers " << code;
    }
  }
}

TEST(Knowledge, of_a_folder_that_is_not_there_is_an_error) {
  const auto items = load_knowledge("/nonexistent/folder", "b");
  ASSERT_FALSE(items);
  EXPECT_THAT(items.error().message, HasSubstr("/nonexistent/folder"));
}

}  // namespace
}  // namespace evk
