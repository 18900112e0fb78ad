#include "store/store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace evk {
namespace {

class StoreTest : public testing::Test {
 protected:
  StoreTest() : folder_(std::filesystem::temp_directory_path() / ("evk store " + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / "run.evk").string();
  }
  ~StoreTest() override { std::filesystem::remove_all(folder_); }

  static MemoryItem seed() {
    MemoryItem item;
    item.id = {1};
    item.name = "api/exp";
    item.text = "Exp(dst, src, count)";
    item.facts = {{{"vec.exp", "Exp"}, true}};
    item.names = {"Exp"};
    item.source = "seed";
    return item;
  }

  std::unique_ptr<Store> begun() {
    auto store = Store::open(path_);
    EXPECT_TRUE(store) << store.error().text();
    if ((*store)->is_new()) {
      EXPECT_TRUE(
          (*store)->begin_campaign({{"seed", "7"}}, {{{"demo/relu"}, "activation", "abc"}}, {seed()}));
    }
    return *std::move(store);
  }

  // Attempt n of a small made-up run: uses the seed, adds one trace.
  static std::pair<Attempt, Learnt> made(std::int64_t n) {
    Attempt a;
    a.id = {n};
    a.task = {"demo/relu"};
    a.sweep = n;
    a.prompt = "write a relu";
    a.answer = {"text \xff not UTF-8", "composer", 3, 4};
    a.candidate.files = {{"op_kernel/relu.cpp", "void relu() {}"}};
    a.context.items = {
        {std::make_shared<const MemoryItem>(seed()), SelectedBy::kGreedy, 0, 0.5, -1, 0.7, true}};
    a.verdict = Verdict{Measured{100.0 + static_cast<double>(n), true, {}}, {}, true, {}, "h"};
    Learnt l;
    l.reward = 1;
    l.best_after = 100;
    l.changes = {{Stage::kDraft, {1}, {-1, n - 1, 0, 0, 0}, {-0.4, n, 1, 1, n}}};
    MemoryItem trace = seed();
    trace.id = {n + 1};
    trace.kind = ItemKind::kTrace;
    trace.source = "run";
    trace.attempt = a.id;
    trace.task = a.task;
    trace.files = a.candidate.files;
    l.items = {trace};
    return {a, l};
  }

  std::filesystem::path folder_;
  std::string path_;
};

std::vector<ItemPtr> shared(const std::vector<MemoryItem>& items) {
  std::vector<ItemPtr> list;
  for (const auto& item : items) list.push_back(std::make_shared<const MemoryItem>(item));
  return list;
}

TEST_F(StoreTest, gives_back_what_was_committed) {
  {
    auto store = begun();
    const auto [a, l] = made(1);
    ASSERT_TRUE(store->commit(a, l, {{"verify", 12.0}}));
  }
  auto store = Store::read(path_);
  ASSERT_TRUE(store) << store.error().text();
  const auto items = (*store)->items();
  ASSERT_TRUE(items) << items.error().text();
  ASSERT_EQ(items->size(), 2u);
  EXPECT_EQ(items->at(0).facts, seed().facts);
  const auto attempts = (*store)->attempts(shared(*items));
  ASSERT_TRUE(attempts) << attempts.error().text();
  ASSERT_EQ(attempts->size(), 1u);
  const auto [a, l] = made(1);
  const StoredAttempt& s = attempts->front();
  EXPECT_EQ(s.attempt.prompt, a.prompt);
  EXPECT_EQ(*s.attempt.verdict, *a.verdict);
  EXPECT_EQ(s.attempt.candidate.files, a.candidate.files);
  ASSERT_EQ(s.attempt.context.items.size(), 1u);
  EXPECT_DOUBLE_EQ(s.attempt.context.items[0].propensity, 0.7);
  ASSERT_EQ(s.learnt.changes.size(), 1u);
  EXPECT_EQ(s.learnt.changes[0].after, l.changes[0].after);
  ASSERT_EQ(s.learnt.items.size(), 1u);
  EXPECT_EQ((*store)->values()->at({Stage::kDraft, ItemId{1}}), l.changes[0].after);
}

TEST_F(StoreTest, has_a_fingerprint_that_wall_times_do_not_move) {
  std::string prints[2];
  for (int i = 0; i < 2; ++i) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    auto store = begun();
    const auto [a, l] = made(1);
    ASSERT_TRUE(store->commit(a, l, {{"verify", 12.0 * i}}));
    prints[i] = *store->fingerprint();
    const auto [b, m] = made(2);
    ASSERT_TRUE(store->commit(b, m, {}));
    EXPECT_NE(*store->fingerprint(), prints[i]);
  }
  EXPECT_EQ(prints[0], prints[1]);
}

TEST_F(StoreTest, refuses_a_second_writer_and_says_who_holds_it) {
  auto first = begun();
  auto second = Store::open(path_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find(std::to_string(getpid())), std::string::npos)
      << second.error().text();
  EXPECT_TRUE(Store::read(path_)) << "reading needs no lock";
}

TEST_F(StoreTest, says_what_is_wrong_with_a_file_that_is_no_store) {
  std::ofstream(path_)
      << "this is no database, only text that is long enough to be read as a header of one ........";
  EXPECT_FALSE(Store::open(path_));
  EXPECT_FALSE(Store::read(path_));
  EXPECT_FALSE(Store::read((folder_ / "nowhere.evk").string()));
}

// Ends the process by SIGKILL at every point of every commit in turn; what was acknowledged must be there
// afterwards, nothing half, and going on must lead to the same store.
TEST_F(StoreTest, keeps_every_acknowledged_attempt_wherever_the_process_is_killed) {
  const auto run_all = [&](int kill_at) {
    auto store = begun();
    int points = 0;
    store->on_step([&](const char*) {
      if (++points == kill_at) ::raise(SIGKILL);
    });
    const auto items = shared(*store->items());
    const auto done = store->attempts(items)->size();
    for (auto n = static_cast<std::int64_t>(done) + 1; n <= 3; ++n) {
      const auto [a, l] = made(n);
      EXPECT_TRUE(store->commit(a, l, {}));
    }
    return *store->fingerprint();
  };
  const std::string undisturbed = run_all(0);
  int kills = 0;
  for (int kill_at = 1;; ++kill_at) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    const pid_t child = fork();
    if (child == 0) {
      run_all(kill_at);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(run_all(0), undisturbed) << "killed at point " << kill_at;
    if (!WIFSIGNALED(status)) break;  // the point lay beyond the last one
    ++kills;
  }
  EXPECT_GE(kills, 15);
}

TEST_F(StoreTest, keeps_what_was_recalled_apart_from_the_fingerprint) {
  auto [attempt, learnt] = made(1);
  std::string bare;
  {
    auto store = begun();
    ASSERT_TRUE(store->commit(attempt, learnt, {}));
    EXPECT_FALSE(store->recall_of({1})->has_value());
    bare = *store->fingerprint();
  }
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_);
  attempt.context.recall.pool = {{{1}, 0.5, -1, -0.25}};
  attempt.context.recall.coins = {0.125, 0.5};
  attempt.context.recall.left_out = {attempt.context.items[0]};
  auto store = begun();
  ASSERT_TRUE(store->commit(attempt, learnt, {}));
  EXPECT_EQ(*store->fingerprint(), bare);
  const auto recall = store->recall_of({1});
  ASSERT_TRUE(recall && *recall);
  EXPECT_EQ((*recall)->pool.at(0).score, -0.25);
  EXPECT_EQ((*recall)->coins, attempt.context.recall.coins);
  EXPECT_EQ((*recall)->left_out.at(0).item, ItemId{1});
  EXPECT_EQ(store->uses_in({1})->at(0).q_after, -0.4);
  EXPECT_EQ(store->attempt_brief({1})->reward, 1);
  EXPECT_FALSE(store->attempt_brief({2}));
}

TEST_F(StoreTest, of_an_older_schema_is_read_as_it_is_and_brought_up_when_written) {
  { begun(); }
  {
    auto db = Database::open(path_, Database::Mode::kReadWrite);
    ASSERT_TRUE(
        (*db)->execute("DROP TABLE recall; DROP TABLE prior; DROP TABLE origin; DROP TABLE ledger;"
                       "PRAGMA user_version=1;"));
  }
  {
    auto old = Store::read(path_);
    ASSERT_TRUE(old) << old.error().text();
    EXPECT_FALSE((*old)->recall_of({1})->has_value());
    EXPECT_TRUE((*old)->ledger());
  }
  auto [attempt, learnt] = made(1);
  attempt.context.recall.pool = {{{1}, 0.5, -1, -1}};
  auto store = begun();
  ASSERT_TRUE(store->commit(attempt, learnt, {}));
  EXPECT_TRUE(store->recall_of({1})->has_value());
}

TEST_F(StoreTest, keeps_what_an_attempt_cost_apart_from_what_must_repeat) {
  const auto fingerprint_with = [&](double usd) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    auto [attempt, learnt] = made(1);
    attempt.answer.calls = 2, attempt.answer.cached_tokens = 7, attempt.answer.usd = usd;
    auto store = begun();
    EXPECT_TRUE(store->commit(attempt, learnt, {{"generate", 30}, {"verify", 12}}));
    const auto ledger = store->ledger();
    EXPECT_TRUE(ledger && ledger->size() == 1);
    EXPECT_EQ(ledger->at(0).usd, usd);
    EXPECT_EQ(ledger->at(0).calls, 2);
    EXPECT_EQ(ledger->at(0).cached_tokens, 7);
    EXPECT_EQ(ledger->at(0).generate_ms, 30);
    EXPECT_EQ(ledger->at(0).wall_ms, 42);
    return *store->fingerprint();
  };
  EXPECT_EQ(fingerprint_with(0.5), fingerprint_with(0.25));
}

TEST_F(StoreTest, names_a_damaged_record_of_a_recall) {
  auto store = begun();
  auto [attempt, learnt] = made(1);
  ASSERT_TRUE(store->commit(attempt, learnt, {}));
  auto db = Database::open(path_, Database::Mode::kReadWrite);
  for (const char* text :
       {"", "[]", "{\"pool\":[[1]]}", "{\"pool\":3,\"coins\":[],\"cut\":[],\"left_out\":[]}"}) {
    auto put = (*db)->prepare("INSERT OR REPLACE INTO recall VALUES(1,?)");
    ASSERT_TRUE(put->bind(text).run());
    const auto recall = store->recall_of({1});
    ASSERT_FALSE(recall) << text;
    EXPECT_NE(recall.error().message.find("damaged record"), std::string::npos);
  }
}

}  // namespace
}  // namespace evk
