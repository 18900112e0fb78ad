#include "campaign/study.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>

namespace evk {
namespace {

Variant named(const std::string& study, const std::string& name) {
  for (auto& variant : study_variants(study))
    if (variant.name == name) return variant;
  ADD_FAILURE() << study << " has no variant " << name;
  return {};
}

// The orderings of the published study of the rule's free choices, through the product's own retrieval and
// learning. Six worlds of 60 tasks: the differences are several times their standard errors.
TEST(Study, reproduces_what_the_free_choices_are_worth) {
  const std::vector<Variant> variants = {
      named("q0", "Q0 task mean, lambda 30"),   named("q0", "Q0 task mean, lambda 2"),
      named("q0", "Q0 zero, lambda 30"),        named("q0", "Q0 zero, lambda 2"),
      named("values", "similarity, lambda 2"),  named("values", "isolated memory, lambda 30"),
      named("order", "task by task, lambda 30")};
  StudyConfig config;
  config.seeds = 6;
  config.sweeps = 24;
  config.world.tasks = 60;
  config.jobs = 2;
  const auto rows = run_study(config, variants);
  std::map<std::string, double> solved;
  for (const auto& row : rows) solved[row.name] = row.solved.mean;
  const double best = solved["Q0 task mean, lambda 30"];
  EXPECT_GT(best, solved["similarity, lambda 2"] + 5) << "values beat the heuristic";
  EXPECT_GT(best, solved["isolated memory, lambda 30"] + 5) << "sharing helps";
  EXPECT_GT(best, solved["Q0 zero, lambda 30"]) << "optimism wastes a small budget";
  EXPECT_GT(best, solved["task by task, lambda 30"]) << "sweeps let easy tasks teach hard ones";
  EXPECT_GT(best - solved["Q0 task mean, lambda 2"],
            solved["Q0 zero, lambda 30"] - solved["Q0 zero, lambda 2"])
      << "a larger pool pays where never-used items are not overrated";
}

TEST(Study, gives_the_same_rows_whatever_the_number_of_jobs) {
  StudyConfig config;
  config.seeds = 2;
  config.sweeps = 6;
  config.world.tasks = 20;
  const std::vector<Variant> variants = {named("policies", "value, lambda 30"),
                                         named("policies", "thompson, lambda 30")};
  const auto one = run_study(config, variants);
  config.jobs = 3;
  const auto three = run_study(config, variants);
  ASSERT_EQ(one.size(), 2u);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].solved.mean, three[i].solved.mean) << one[i].name;
    EXPECT_EQ(one[i].speedup.mean, three[i].speedup.mean) << one[i].name;
  }
}

TEST(Study, every_variant_of_every_study_runs) {
  SyntheticConfig world;
  world.tasks = 12;
  for (const auto& name : study_names()) {
    const auto variants = study_variants(name);
    ASSERT_GE(variants.size(), 2u) << name;
    for (const auto& variant : variants) {
      const StudyRun run = run_variant(variant, world, 5);
      EXPECT_GE(run.solved, run.solved_half) << variant.name;
      EXPECT_LE(run.solved, 12) << variant.name;
    }
  }
  EXPECT_TRUE(study_variants("nothing").empty());
}

TEST(Interval, is_that_of_students_t) {
  const Interval i = interval_of({1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(i.mean, 2.5);
  EXPECT_NEAR(i.half_width, 3.182 * std::sqrt(5.0 / 3 / 4), 0.03);  // t of 3 degrees of freedom
  EXPECT_EQ(interval_of({7}).half_width, 0);
}

TEST(SyntheticWorld, makes_helpful_items_raise_the_odds) {
  SyntheticConfig config;
  config.difficulty_deviation = 0;
  SyntheticWorld world(config);
  const Task& task = world.tasks().front();
  MemoryItem item;
  item.task = task.id;
  item.category = task.category;
  Context poor, rich;
  for (int i = 0; i < 200; ++i) {
    item.name = "item/" + std::to_string(i);
    auto& context = world.help_of(item, task) > 0 ? rich : poor;
    if (context.items.size() < 5)
      context.items.push_back({std::make_shared<const MemoryItem>(item), SelectedBy::kGreedy});
  }
  const auto passes = [&](const Context& context) {
    int count = 0;
    for (std::uint64_t i = 0; i < 200; ++i)
      count += world.parts().generate.generate({task, context, "", Random(i)})->text.rfind("pass", 0) == 0;
    return count;
  };
  EXPECT_GT(passes(rich), passes(poor) + 50);
}

// The synthetic world behind the real campaign, with its store, its workers and its resume.
class SyntheticCampaign : public testing::Test {
 protected:
  SyntheticCampaign()
      : folder_(std::filesystem::temp_directory_path() / ("evk synthetic " + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~SyntheticCampaign() override { std::filesystem::remove_all(folder_); }

  // Runs to the end, or until so many attempts are committed.
  Result<std::string> run(const std::string& name, const CampaignConfig& config, int stop_after = 1 << 30) {
    SyntheticConfig world_config;
    world_config.tasks = 12;
    SyntheticWorld world(world_config);
    EVK_TRY(const auto store, Store::open((folder_ / name).string()));
    EVK_TRY(const auto campaign, Campaign::open(config, world.tasks(), {}, world.parts(), *store));
    Stopper stopper;
    stopper.left = stop_after;
    EVK_TRY_STATUS(campaign->run(stopper, stopper.stop));
    return store->fingerprint();
  }
  struct Stopper final : CampaignObserver {
    void on_attempt(const Attempt&, const Learnt&, std::int64_t, std::int64_t) override {
      if (--left <= 0) stop = true;
    }
    void on_sweep(const SweepSummary&) override {}
    int left = 0;
    std::atomic<bool> stop{false};
  };

  std::filesystem::path folder_;
};

TEST_F(SyntheticCampaign, is_the_same_with_any_number_of_workers_and_resumed_under_every_option) {
  std::vector<CampaignConfig> configs(4);
  configs[0].retrieve.rank.rule = Rule::kThompson;
  configs[0].retrieve.shrinkage = 2;
  configs[1].retrieve.rank.rule = Rule::kUcb1;
  configs[1].learn.step.offset = 1;
  configs[1].retrieve.leave_one_out = 0.4;
  configs[2].retrieve.rank.rule = Rule::kMemRl;
  configs[2].retrieve.rank.mmr = 0.7;
  configs[2].learn.credit = Credit::kAdvantage;
  configs[3].learn.unused.rule = configs[3].retrieve.unused.rule = UnusedRule::kGlobalMean;
  configs[3].schedule.lambda_rule = LambdaRule::kLinear;
  configs[3].schedule.epsilon_rule = EpsilonRule::kInverse;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    CampaignConfig config = configs[i];
    const std::string name = std::to_string(i);
    config.sweeps = 6;
    const auto whole = run(name + "whole", config);
    ASSERT_TRUE(whole) << whole.error().text();
    config.jobs = 3;
    ASSERT_TRUE(run(name + "parts", config, 29));
    ASSERT_NE(*run(name + "parts", config, 11), *whole);
    EXPECT_EQ(*run(name + "parts", config), *whole) << "configuration " << i;
  }
}

TEST_F(SyntheticCampaign, refuses_to_continue_with_an_option_more_or_less) {
  CampaignConfig plain, mmr;
  plain.sweeps = mmr.sweeps = 1;
  mmr.retrieve.rank.mmr = 0.7;
  ASSERT_TRUE(run("plain", plain));
  ASSERT_TRUE(run("mmr", mmr));
  const auto more = run("plain", mmr), less = run("mmr", plain);
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().message.find("retrieve.mmr = the default, now it is '0.7'"), std::string::npos)
      << more.error().message;
  ASSERT_FALSE(less);
  EXPECT_NE(less.error().message.find("retrieve.mmr = '0.7', now it is the default"), std::string::npos)
      << less.error().message;
}

TEST(KnownVerdicts, knows_equal_code_of_the_same_task) {
  Attempt a;
  a.task = {"t"};
  a.candidate.files = {{"a.cpp", "int x; // one\n"}};
  a.verdict = Verdict{Measured{5, true, {}}, {}, true, {}, ""};
  const Candidate same = a.candidate, near{{{"a.cpp", "int  x;\n"}}, {}, ""},
                  other{{{"a.cpp", "int y;"}}, {}, ""};
  KnownVerdicts exact(Duplicates::kExact), alike(Duplicates::kNear), never(Duplicates::kNever);
  for (KnownVerdicts* known : {&exact, &alike, &never}) known->add(a);
  EXPECT_EQ(exact.find({"t"}, same), a.verdict);
  EXPECT_FALSE(exact.find({"t"}, near));
  EXPECT_FALSE(exact.find({"u"}, same)) << "another task";
  EXPECT_EQ(alike.find({"t"}, near), a.verdict);
  EXPECT_FALSE(alike.find({"t"}, other));
  EXPECT_FALSE(never.find({"t"}, same));
}

TEST(KnownVerdicts, plain_source_keeps_what_a_compiler_sees) {
  EXPECT_EQ(plain_source("int  a; // x\n\n/* y */ int b;\n"), "int a; int b;");
  EXPECT_EQ(plain_source("auto s = \"// no  comment\"; char c = '\"';"),
            "auto s = \"// no  comment\"; char c = '\"';");
  EXPECT_EQ(plain_source("a\n#define X  1\nb"), "a\n#define X 1\nb");
  EXPECT_NE(plain_source("#define X\nfoo"), plain_source("#define X foo"));
  EXPECT_EQ(plain_source("\"open \\\" end"), "\"open \\\" end") << "an open quote ends with the text";
  EXPECT_EQ(plain_source("/* open"), "");
}

}  // namespace
}  // namespace evk
