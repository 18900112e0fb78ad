#include "campaign/campaign.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "campaign/workers.h"

namespace evk {
namespace {

// Writes "quality N", N drawn from the request's stream and lifted by what the context shows: enough for
// values to matter.
class ScriptedGenerator final : public Generator {
 public:
  Result<Answer> generate(const GenerateRequest& request) override {
    Random random = request.random;
    std::uint64_t quality = random.below(100);
    for (const auto& c : request.context.items) quality += c.item->feasible ? 20 : 5;
    return Answer{"quality " + std::to_string(quality), "scripted", 1, 1};
  }
};

// Feasible above 70; the higher the faster. Fails for infrastructure reasons when told so.
class ScriptedVerifier final : public Verifier {
 public:
  Result<Verdict> verify(const Task& task, const Candidate& candidate) override {
    if (task.id.text == broken) return failure("device lost", Retry::kAfterFix);
    const double quality = std::stod(candidate.files.at(0).text);
    if (quality < 70) return Verdict{Unbuilt{{{"compile.error", "bad quality"}}, "log"}, {}, {}, {}, "h"};
    return Verdict{Measured{1e6 / quality, true, {{}, "vector_bound", {}}}, {}, true, {}, "h"};
  }
  std::string broken;
};

struct Quiet final : CampaignObserver {
  void on_attempt(const Attempt&, const Learnt&, std::int64_t, std::int64_t) override {}
  void on_sweep(const SweepSummary& s) override { sweeps.push_back(s); }
  std::vector<SweepSummary> sweeps;
};

std::vector<Task> tasks() {
  std::vector<Task> list;
  for (const char* name : {"relu", "softmax", "layer_norm", "gelu"}) {
    Task t;
    t.id = {name};
    t.name = name;
    t.category = "activation";
    t.source_sha256 = name;
    list.push_back(t);
  }
  return list;
}

std::vector<MemoryItem> seeds() {
  MemoryItem item;
  item.id = {1};
  item.source = "seed";
  item.name = "api/exp";
  item.key_text = "exp";
  item.static_bundle = true;
  return {item};
}

tl::expected<Candidate, Finding> parse(const Task&, const Context&, const std::string& text) {
  if (text.rfind("quality ", 0) != 0) return tl::unexpected(Finding{"reply.no_code", "no code"});
  return Candidate{{{"op_kernel/a.cpp", text.substr(8)}}, {{"tail", text.substr(8)}}, ""};
}

class CampaignTest : public testing::Test {
 protected:
  CampaignTest()
      : folder_(std::filesystem::temp_directory_path() / ("evk campaign " + std::to_string(getpid()))) {
    clear();
  }
  ~CampaignTest() override { std::filesystem::remove_all(folder_); }
  void clear() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  // Runs to the end, with SIGKILL at the kill_at-th step of the store (0 = never). The fingerprint, or the
  // error's text.
  std::string run(int jobs, int kill_at, std::int64_t sweeps = 6) {
    auto store = Store::open((folder_ / "run.evk").string());
    if (!store) return store.error().text();
    int steps = 0;
    (*store)->on_step([&](const char*) {
      if (++steps == kill_at) ::raise(SIGKILL);
    });
    CampaignConfig config;
    config.seed = 11;
    config.sweeps = sweeps;
    config.jobs = jobs;
    const auto prompt = [](const Task& t, const Context& c) {
      return t.name + std::to_string(c.items.size());
    };
    const auto facts = [](const Task&, const Candidate&, const Verdict&) { return std::vector<Fact>{}; };
    auto campaign =
        Campaign::open(config, tasks(), seeds(), {generator_, verifier_, prompt, parse, facts}, **store);
    if (!campaign) return campaign.error().text();
    std::atomic<bool> stop{false};
    const Status done = (*campaign)->run(observer_, stop);
    if (!done) return done.error().text();
    last_ = (*campaign)->state();
    return *(*store)->fingerprint();
  }

  std::filesystem::path folder_;
  ScriptedGenerator generator_;
  ScriptedVerifier verifier_;
  Quiet observer_;
  LearningState last_;
};

TEST_F(CampaignTest, gives_every_task_its_budget_and_solves_by_sweeps) {
  ASSERT_EQ(run(1, 0).size(), 64u);
  for (const auto& t : tasks()) EXPECT_EQ(last_.progress(t.id).budget_used, 6) << t.id.text;
  ASSERT_EQ(observer_.sweeps.size(), 6u);
  EXPECT_EQ(observer_.sweeps.back().solved, 4);
  EXPECT_LT(observer_.sweeps.front().solved, 4);
}

TEST_F(CampaignTest, gives_the_same_store_whatever_the_number_of_workers) {
  const auto one = run(1, 0);
  clear();
  const auto three = run(3, 0);
  EXPECT_EQ(one.size(), 64u) << one;
  EXPECT_EQ(one, three);
}

// Kills the process at every step of every commit, resumes, and compares with an undisturbed run: no attempt
// lost, none twice, the same store.
TEST_F(CampaignTest, resumes_to_the_same_store_wherever_it_was_killed) {
  for (const int jobs : {1, 2}) {
    clear();
    const auto undisturbed = run(jobs, 0);
    ASSERT_EQ(undisturbed.size(), 64u) << undisturbed;
    int kills = 0;
    for (int kill_at = 1;;
         kill_at += jobs == 1 ? 1 : 3) {  // every step with one worker, every third with two
      clear();
      const pid_t child = fork();
      if (child == 0) {
        run(jobs, kill_at);
        _exit(0);
      }
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      ASSERT_EQ(run(jobs, 0), undisturbed) << "killed at step " << kill_at << " with " << jobs << " workers";
      if (!WIFSIGNALED(status)) break;
      ++kills;
    }
    EXPECT_GE(kills, 40);
  }
}

TEST_F(CampaignTest, continues_with_a_larger_budget) {
  ASSERT_EQ(run(1, 0, 3).size(), 64u);
  ASSERT_EQ(run(1, 0, 5).size(), 64u);
  for (const auto& t : tasks()) EXPECT_EQ(last_.progress(t.id).budget_used, 5);
}

TEST_F(CampaignTest, refuses_a_store_of_another_configuration_and_names_the_key) {
  ASSERT_EQ(run(1, 0).size(), 64u);
  auto store = Store::open((folder_ / "run.evk").string());
  CampaignConfig config;
  config.seed = 12;
  config.sweeps = 6;
  const auto prompt = [](const Task&, const Context&) { return std::string(); };
  const auto facts = [](const Task&, const Candidate&, const Verdict&) { return std::vector<Fact>{}; };
  const auto campaign =
      Campaign::open(config, tasks(), seeds(), {generator_, verifier_, prompt, parse, facts}, **store);
  ASSERT_FALSE(campaign);
  EXPECT_NE(campaign.error().message.find("seed = '11'"), std::string::npos) << campaign.error().text();
}

TEST_F(CampaignTest, an_infrastructure_failure_costs_no_budget_and_moves_no_value) {
  verifier_.broken = "gelu";
  run(1, 0, 3);
  const TaskProgress& gelu = last_.progress({"gelu"});
  EXPECT_EQ(gelu.budget_used, 0);
  EXPECT_EQ(gelu.draft_mean, -1);
}

TEST(Schedule, follows_each_rule) {
  ScheduleConfig config;
  const LearningState state;
  config.lambda_rule = LambdaRule::kPaper;
  EXPECT_EQ(lambda_at(config, state, 23, 30), 2);
  EXPECT_EQ(lambda_at(config, state, 24, 30), 30);
  config.lambda_rule = LambdaRule::kLinear;
  EXPECT_EQ(lambda_at(config, state, 1, 29), 2);
  EXPECT_EQ(lambda_at(config, state, 15, 29), 16);
  config.lambda_rule = LambdaRule::kConst;
  EXPECT_EQ(lambda_at(config, state, 30, 30), 2);
  config.epsilon_rule = EpsilonRule::kInverse;
  EXPECT_DOUBLE_EQ(epsilon_at(config, 3, 30), 0.1);
  EXPECT_DOUBLE_EQ(epsilon_at(config, 30, 30), 0.05);
  config.epsilon_rule = EpsilonRule::kConst;
  EXPECT_DOUBLE_EQ(epsilon_at(config, 30, 30), 0.3);
}

TEST(Schedule, epsilon_falls_linearly_over_the_sweeps) {
  EXPECT_DOUBLE_EQ(epsilon_at({}, 1, 30), 0.3);
  EXPECT_DOUBLE_EQ(epsilon_at({}, 30, 30), 0.05);
  EXPECT_DOUBLE_EQ(epsilon_at({}, 99, 30), 0.05);
  EXPECT_DOUBLE_EQ(epsilon_at({}, 1, 1), 0.3);
}

TEST(Workers, take_results_in_order_and_stop_at_the_first_failure) {
  std::atomic<bool> stop{false};
  std::vector<std::size_t> taken;
  const Status done = run_in_order<std::size_t>(
      4, 50, stop, [](std::size_t i) { return i * i; },
      [&](std::size_t i, std::size_t square) -> Status {
        EXPECT_EQ(square, i * i);
        taken.push_back(i);
        if (i == 30) return failure("enough");
        return {};
      });
  EXPECT_FALSE(done);
  ASSERT_EQ(taken.size(), 31u);
  for (std::size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(taken[i], i);
}

}  // namespace
}  // namespace evk
