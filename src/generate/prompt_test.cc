#include "generate/prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "generate/sample_tasks.h"

namespace evk {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Task task() {
  Task made = sample::usual_tasks().front();
  made.title = "ReLU";
  made.category = "activation";
  made.source_text = "class Model(nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n";
  made.shape_sets[0].cases = {{"hidden-1", true, "hidden_in.bin", "hidden_out.bin"},
                              {"public-1", false, "in.bin", "out.bin"}};
  return made;
}

ContextItem item(ItemKind kind, SelectedBy by, std::int64_t number, const std::string& title) {
  MemoryItem made;
  made.kind = kind;
  made.id.number = number;
  made.title = title;
  made.text = "Text of " + title + ".";
  ContextItem shown;
  shown.item = std::make_shared<const MemoryItem>(made);
  shown.by = by;
  shown.value = 0.123456;
  return shown;
}

ContextItem trace(SelectedBy by, std::int64_t number, bool feasible, double latency_ns) {
  ContextItem shown = item(ItemKind::kTrace, by, number, "a kernel");
  MemoryItem made = *shown.item;
  made.task = TaskId{"kb/21_Sigmoid"};
  made.feasible = feasible;
  if (feasible)
    made.latency_ns = latency_ns;
  else
    made.gate = "compile", made.code = "compile.error";
  made.files = {{"op_kernel/a.cpp", "int a;\n"}};
  made.bottleneck = "few_cores";
  made.hypothesis = "more blocks";
  shown.item = std::make_shared<const MemoryItem>(made);
  return shown;
}

Context context(Stage stage) {
  Context made;
  made.stage = stage;
  made.items = {item(ItemKind::kApi, SelectedBy::kApiStatic, 3, "Queues"),
                item(ItemKind::kApi, SelectedBy::kApiExact, 5, "Relu"),
                trace(SelectedBy::kGreedy, 17, true, 4200)};
  if (stage == Stage::kDraft)
    made.items.push_back(trace(SelectedBy::kPinned, 18, false, 0));
  else
    for (const auto by : {SelectedBy::kStart, SelectedBy::kChild, SelectedBy::kVariant})
      made.items.push_back(trace(by, 20 + static_cast<int>(by), true, 2100));
  return made;
}

PromptTemplates templates() {
  auto loaded = load_templates(EVK_SOURCE_DIR "/prompts/ascendc");
  EXPECT_TRUE(loaded) << loaded.error().text();
  return *loaded;
}

// EVK_UPDATE_GOLDENS=1 writes the file anew; the difference is then read by a person.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = EVK_SOURCE_DIR "/tests/golden/prompts/" + name;
  if (std::getenv("EVK_UPDATE_GOLDENS")) std::ofstream(path, std::ios::binary) << text;
  std::ifstream stream(path, std::ios::binary);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(stream), {})) << path;
}

TEST(Prompt, of_a_draft_is_the_golden_text) {
  expect_golden("draft.txt", build_prompt(task(), context(Stage::kDraft), templates()));
}

TEST(Prompt, of_a_refinement_is_the_golden_text) {
  expect_golden("refine.txt", build_prompt(task(), context(Stage::kRefine), templates()));
}

TEST(Prompt, shows_neither_cases_nor_values) {
  for (const auto stage : {Stage::kDraft, Stage::kRefine}) {
    const auto prompt = build_prompt(task(), context(stage), templates());
    EXPECT_THAT(prompt, Not(HasSubstr("hidden")));
    EXPECT_THAT(prompt, Not(HasSubstr(".bin")));
    EXPECT_THAT(prompt, Not(HasSubstr("0.123")));
    EXPECT_THAT(prompt, Not(HasSubstr("{{")));
  }
}

TEST(Prompt, does_not_fill_placeholders_that_come_from_data) {
  Task odd = task();
  odd.source_text = "{{start}}";
  EXPECT_THAT(build_prompt(odd, context(Stage::kDraft), templates()), HasSubstr("{{start}}"));
}

TEST(PromptTemplates, with_an_unknown_placeholder_are_refused_by_name) {
  const std::string dir = testing::TempDir();
  std::ofstream(dir + "/draft.md") << "{{tsk}}";
  std::ofstream(dir + "/refine.md") << "x";
  const auto loaded = load_templates(dir);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("\"tsk\""));
}

}  // namespace
}  // namespace evk
