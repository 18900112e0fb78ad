#include "generate/composer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "generate/choice_book.h"
#include "generate/composer_facts.h"
#include "generate/evidence.h"
#include "generate/kernel_printer.h"
#include "generate/sample_tasks.h"

namespace evk {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

KernelPlan plan_of(const Task& task) {
  const auto lowered = lower(task.shapes("small")->graph);
  EXPECT_TRUE(std::holds_alternative<KernelPlan>(lowered))
      << task.name << ": " << (lowered.index() == 1 ? std::get<Unsupported>(lowered).why : "");
  return std::get<KernelPlan>(lowered);
}

// The first form of every construct is one that compiles and computes what was asked.
std::vector<SourceFile> project_of(const Task& task) {
  ChoiceBook book = book_of({});
  return print_project(task.name, plan_of(task), book);
}

Answer answer_to(const Task& task, const Context& context, std::uint64_t seed) {
  Composer composer;
  return *composer.generate({task, context, "", Random(seed)});
}

TEST(Lowering, takes_every_usual_task) {
  for (const auto& task : sample::usual_tasks()) EXPECT_EQ(plan_of(task).outputs.size(), 1u) << task.name;
}

TEST(Lowering, names_the_operation_it_does_not_know) {
  const Task task = sample::Graph({4, 4})
                        .node("y", "aten.cumsum.default", {sample::ref("x"), sample::integer(1)}, {4, 4})
                        .task("t", "y");
  const auto lowered = lower(task.shapes("small")->graph);
  ASSERT_TRUE(std::holds_alternative<Unsupported>(lowered));
  EXPECT_THAT(std::get<Unsupported>(lowered).why, HasSubstr("aten.cumsum.default"));
}

TEST(Printer, writes_three_files_and_the_list_of_its_choices) {
  for (const auto& task : sample::usual_tasks()) {
    const auto files = project_of(task);
    ASSERT_EQ(files.size(), 3u);
    EXPECT_TRUE(std::is_sorted(files.begin(), files.end()));
    EXPECT_FALSE(choices_in(files).empty()) << task.name;
  }
}

TEST(Printer, depends_on_the_task_by_its_graph_alone) {
  Task task = sample::usual_tasks().front();
  const auto before = project_of(task);
  task.title = "softmax";
  task.id.text = "other";
  EXPECT_EQ(before, project_of(task));
}

TEST(Composer, answers_the_same_for_the_same_stream) {
  const Task task = sample::usual_tasks()[4];
  EXPECT_EQ(answer_to(task, {}, 7).text, answer_to(task, {}, 7).text);
  EXPECT_NE(answer_to(task, {}, 7).text, answer_to(task, {}, 8).text);
}

TEST(Composer, says_which_operation_it_cannot_lower) {
  const Task task = sample::Graph({4, 4})
                        .node("y", "aten.cumsum.default", {sample::ref("x"), sample::integer(1)}, {4, 4})
                        .task("t", "y");
  const std::string text = answer_to(task, {}, 1).text;
  EXPECT_THAT(text, HasSubstr("aten.cumsum.default"));
  EXPECT_EQ(text.find("```"), std::string::npos);
}

Context context_of(std::vector<MemoryItem> items) {
  Context context;
  for (auto& item : items) {
    ContextItem shown;
    shown.item = std::make_shared<const MemoryItem>(std::move(item));
    context.items.push_back(std::move(shown));
  }
  return context;
}

int times_of(const std::string& wanted, const Task& task, const Context& context) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    found += answer_to(task, context, seed).text.find(wanted) != std::string::npos;
  return found;
}

TEST(Composer, mostly_takes_the_form_that_an_item_shows) {
  const Task task = sample::usual_tasks().front();
  MemoryItem item;
  item.facts = {{{"copy.tail", "pad"}, true}};
  EXPECT_LT(times_of("copy.tail=pad", task, {}), 90);
  EXPECT_GT(times_of("copy.tail=pad", task, context_of({item})), 175);
}

TEST(Composer, mostly_leaves_the_form_that_an_item_shows_to_fail) {
  const Task task = sample::usual_tasks().front();
  MemoryItem item;
  item.facts = {{{"copy.tail", "count"}, false}};
  EXPECT_GT(times_of("copy.tail=count", task, {}), 60);
  EXPECT_LT(times_of("copy.tail=count", task, context_of({item})), 20);
}

Candidate candidate_of(const Task& task, const std::vector<Choice>& choices) {
  ChoiceBook book = book_of(choices);
  Candidate candidate;
  candidate.files = print_project(task.name, plan_of(task), book);
  candidate.choices = book.taken();
  return candidate;
}

Verdict verdict_of(Outcome outcome) {
  Verdict verdict;
  verdict.outcome = std::move(outcome);
  return verdict;
}

int line_with(const std::string& text, const std::string& wanted) {
  const auto at = text.find(wanted);
  return at == std::string::npos
             ? 0
             : 1 + static_cast<int>(
                       std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

TEST(Facts, blame_the_construct_that_printed_the_line) {
  const Task task = sample::usual_tasks()[4];
  const Candidate candidate = candidate_of(task, {{"reduce.sum", "no_work"}});
  Finding finding;
  finding.code = "compile.error";
  finding.file = "op_kernel/softmax.cpp";
  finding.line = line_with(candidate.file(finding.file)->text, "ReduceSum(");
  const auto facts = facts_of(task, candidate, verdict_of(Unbuilt{{finding}, ""}));
  EXPECT_THAT(facts, testing::ElementsAre(Fact{{"reduce.sum", "no_work"}, false}));
}

TEST(Facts, of_a_mismatch_are_the_spellings_alone) {
  const Task task = sample::usual_tasks()[4];
  const auto facts = facts_of(task, candidate_of(task, {}), verdict_of(Mismatched{}));
  EXPECT_THAT(facts, Contains(Fact{{"vec.exp", "Exp"}, true}));
  for (const auto& fact : facts)
    EXPECT_EQ(construct_named(fact.choice.construct)->kind, ConstructKind::kSpelling);
}

TEST(Facts, of_a_feasible_candidate_vouch_for_every_choice) {
  const Task task = sample::usual_tasks()[4];
  const Candidate candidate = candidate_of(task, {});
  EXPECT_EQ(facts_of(task, candidate, verdict_of(Measured{})).size(), candidate.choices.size());
}

TEST(Facts, of_a_candidate_without_choices_are_none) {
  Candidate candidate;
  candidate.files = {{"op_kernel/x.cpp", "x"}};
  EXPECT_THAT(facts_of({}, candidate, verdict_of(Measured{})), IsEmpty());
}

TEST(Composer, mends_the_line_that_failed_and_keeps_the_rest) {
  const Task task = sample::usual_tasks()[4];
  const Candidate failed = candidate_of(task, {{"reduce.sum", "no_work"}});
  MemoryItem item;
  item.kind = ItemKind::kTrace;
  item.task = task.id;
  item.files = failed.files;
  item.gate = "compile";
  item.finding_file = "op_kernel/softmax.cpp";
  item.finding_line = line_with(failed.file(item.finding_file)->text, "ReduceSum(");
  EXPECT_LT(times_of("reduce.sum=no_work", task, context_of({item})), 20);
  EXPECT_GT(times_of("reduce.max=with_work", task, context_of({item})), 150);
}

TEST(Composer, does_not_repeat_an_attempt_that_mismatched) {
  const Task task = sample::usual_tasks().front();
  const Candidate failed = candidate_of(task, {});
  MemoryItem item;
  item.kind = ItemKind::kTrace;
  item.task = task.id;
  item.files = failed.files;
  item.gate = "compare";
  for (const auto& choice : failed.choices) item.facts.push_back({choice, true});
  EXPECT_EQ(times_of("Constructs: " + write_choices(failed.choices) + "\n\n", task, context_of({item})), 0);
}

TEST(Composer, changes_at_most_two_decisions_of_its_start_point) {
  const Task task = sample::usual_tasks()[4];
  const Candidate first = candidate_of(task, {{"sched.blocks", "one"}, {"sched.tile", "t1024"}});
  MemoryItem start;
  start.kind = ItemKind::kTrace;
  start.feasible = true;
  start.task = task.id;
  start.files = first.files;
  Context context = context_of({start});
  context.stage = Stage::kRefine;
  context.items[0].by = SelectedBy::kStart;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto text = answer_to(task, context, seed).text;
    const auto choices =
        read_choices(text.substr(text.find("Constructs:") + 11,
                                 text.find('\n', text.find("Constructs:")) - text.find("Constructs:") - 11));
    int changed = 0;
    for (const auto& before : first.choices)
      changed += std::any_of(choices.begin(), choices.end(), [&](const Choice& c) {
        return c.construct == before.construct && c.form != before.form;
      });
    EXPECT_GE(changed, 1) << seed;
    EXPECT_LE(changed, 2) << seed;
  }
}

TEST(Constructs, have_priors_that_sum_to_one) {
  for (const auto& construct : constructs()) {
    double total = 0;
    for (const auto& form : construct.forms) total += form.prior;
    EXPECT_NEAR(total, 1, 1e-9) << construct.name;
  }
}

TEST(Constructs, are_read_from_the_comment_of_a_line) {
  EXPECT_THAT(tags_of_line("a\n  b;  // [copy.tail tail.length]\n", 2),
              testing::ElementsAre("copy.tail", "tail.length"));
  EXPECT_THAT(tags_of_line("a // [copy.tail]\n", 7), IsEmpty());
  EXPECT_THAT(tags_of_line("a[0];  // [no.such]\n", 1), IsEmpty());
}

}  // namespace
}  // namespace evk
