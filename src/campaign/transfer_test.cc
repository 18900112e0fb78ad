#include "campaign/transfer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "campaign/synthetic.h"

namespace evk {
namespace {

namespace fs = std::filesystem;

struct Quiet final : CampaignObserver {
  void on_attempt(const Attempt& attempt, const Learnt& learnt, std::int64_t, std::int64_t) override {
    attempts.push_back(attempt);
    for (const auto& change : learnt.changes) changed.push_back(change.item);
    if (--left == 0) stop = true;
  }
  void on_sweep(const SweepSummary&) override {}
  std::vector<Attempt> attempts;
  std::vector<ItemId> changed;
  int left = 1 << 30;
  std::atomic<bool> stop{false};
};

class TransferTest : public testing::Test {
 protected:
  TransferTest() : folder_(fs::temp_directory_path() / ("evk transfer " + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~TransferTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static std::vector<MemoryItem> seeds() {
    std::vector<MemoryItem> list(2);
    for (std::size_t i = 0; i < list.size(); ++i) {
      list[i].id = {static_cast<std::int64_t>(i) + 1};
      list[i].kind = ItemKind::kPractice;
      list[i].source = "seed";
      list[i].name = "practice/" + std::to_string(i);
      list[i].key_text = "advice " + std::to_string(i);
    }
    return list;
  }

  // A campaign over ten easy tasks. The fingerprint, or the error's text.
  std::string run(const std::string& name, Quiet& quiet, CampaignConfig config = {},
                  std::vector<MemoryItem> with = seeds()) {
    SyntheticConfig easy;
    easy.tasks = 10;
    easy.difficulty_mean = 1;
    SyntheticWorld world(easy);
    config.sweeps = 6;
    auto store = Store::open(path(name));
    if (!store) return store.error().text();
    auto campaign = Campaign::open(config, world.tasks(), std::move(with), world.parts(), **store);
    if (!campaign) return campaign.error().text();
    const Status done = (*campaign)->run(quiet, quiet.stop);
    return done ? *(*store)->fingerprint() : done.error().text();
  }
  std::string run(const std::string& name, CampaignConfig config = {}) {
    Quiet quiet;
    return run(name, quiet, config);
  }

  template <typename T>
  T read(const std::string& name, Result<T> (Store::*what)()) const {
    const auto store = Store::read(path(name));
    if (!store) {
      ADD_FAILURE() << store.error().text();
      return {};
    }
    return *((**store).*what)();
  }
  std::vector<MemoryItem> items_of(const std::string& name) const { return read(name, &Store::items); }
  ValueMap priors_of(const std::string& name) const { return read(name, &Store::priors); }
  ValueMap values_of(const std::string& name) const { return read(name, &Store::values); }
  std::vector<OriginRow> origins_of(const std::string& name) const { return read(name, &Store::origins); }

  // What the items of `copy` were worth in `source`: of equal ones, the mean by uses.
  ValueMap values_by_origin(const std::string& source, const std::string& copy) const {
    const ValueMap values = values_of(source);
    ValueMap sum;
    for (const auto& origin : origins_of(copy))
      for (const auto stage : {Stage::kDraft, Stage::kRefine}) {
        const auto found = values.find({stage, origin.there});
        if (found == values.end()) continue;
        ItemValue& into = sum[{stage, origin.item}];
        const auto n = static_cast<double>(into.n), m = static_cast<double>(found->second.n);
        into.q = (into.q * n + found->second.q * m) / (n + m);
        into.n += found->second.n;
        into.sum_r += found->second.sum_r;
      }
    return sum;
  }

  std::string bytes_of(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path folder_;
};

TEST_F(TransferTest, leaves_nothing_of_an_excluded_task_or_its_descendants_in_any_table) {
  run("source");
  ASSERT_NE(bytes_of("source").find("synthetic_3"), std::string::npos);
  TransferConfig config;
  config.without = {{"synthetic/3"}, {"synthetic/7"}};
  const auto done = transfer_memory({path("source")}, path("memory"), config);
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_GT(done->items, 5);
  EXPECT_GT(done->excluded, 20);
  const std::string bytes = bytes_of("memory");  // every table, index and free page
  for (const char* trace : {"synthetic_3", "synthetic/3", "synthetic_7", "synthetic/7"})
    EXPECT_EQ(bytes.find(trace), std::string::npos) << trace;
  EXPECT_NE(bytes.find("synthetic_4"), std::string::npos);
  EXPECT_FALSE(fs::exists(path("memory-wal"))) << "the file is complete by itself";

  // Nor of what was made where it was seen: recompute the descent from the source, step by step.
  std::vector<ItemPtr> items;
  for (auto& item : items_of("source")) items.push_back(std::make_shared<const MemoryItem>(item));
  std::set<std::int64_t> tainted;
  const auto source = *Store::read(path("source"));
  const auto attempts = *source->attempts(items);
  for (const auto& [attempt, learnt] : attempts) {
    bool bad = attempt.task.text == "synthetic/3" || attempt.task.text == "synthetic/7";
    for (const auto& used : attempt.context.items) bad = bad || tainted.contains(used.item->id.number);
    for (const auto& item : learnt.items)
      if (bad) tainted.insert(item.id.number);
  }
  for (const auto& origin : origins_of("memory")) EXPECT_FALSE(tainted.contains(origin.there.number));
  EXPECT_EQ(static_cast<std::size_t>(done->excluded), tainted.size());
}

TEST_F(TransferTest, excludes_through_several_stores) {
  run("first");
  ASSERT_TRUE(transfer_memory({path("first")}, path("second"), {}));
  ASSERT_EQ(run("second").size(), 64u);  // goes on from the first one's memory
  TransferConfig config;
  config.without = {{"synthetic/3"}};
  const auto done = transfer_memory({path("second")}, path("third"), config);
  ASSERT_TRUE(done) << done.error().text();
  const std::string bytes = bytes_of("third");
  EXPECT_EQ(bytes.find("synthetic_3"), std::string::npos);
  EXPECT_EQ(bytes.find("synthetic/3"), std::string::npos);
  EXPECT_GT(done->items, 2);
}

TEST_F(TransferTest, of_own_items_alone_keeps_what_others_made_of_them) {
  run("source");
  TransferConfig config;
  config.without = {{"synthetic/3"}};
  const auto all = transfer_memory({path("source")}, path("descendants"), config);
  config.exclusion = Exclusion::kOwn;
  const auto own = transfer_memory({path("source")}, path("own"), config);
  ASSERT_TRUE(all && own);
  EXPECT_EQ(own->excluded, 12) << "a trace and an experience of each of six attempts";
  EXPECT_GT(own->items, all->items);
  for (const auto& item : items_of("own")) EXPECT_NE(item.task, TaskId{"synthetic/3"});
}

// Learning again from all attempts must give the very values that the campaign learnt.
TEST_F(TransferTest, learns_the_values_again_from_what_is_kept) {
  for (const bool by_count : {false, true}) {
    const std::string name = by_count ? "count" : "constant";
    CampaignConfig config;
    if (by_count) config.learn.step.offset = 1;
    run(name, config);
    TransferConfig whole;
    whole.uses_max = 1 << 30;
    ASSERT_TRUE(transfer_memory({path(name)}, path(name + "2"), whole));
    const auto before = values_by_origin(name, name + "2");
    const auto after = priors_of(name + "2");
    ASSERT_EQ(before.size(), after.size());
    ASSERT_GT(after.size(), 50u);
    for (const auto& [key, value] : before) {
      EXPECT_NEAR(after.at(key).q, value.q, 1e-12) << key.second.number;
      EXPECT_EQ(after.at(key).n, value.n);
      EXPECT_NEAR(after.at(key).sum_r, value.sum_r, 1e-12);
    }
  }
}

TEST_F(TransferTest, caps_uses_or_forgets_values) {
  run("source");
  TransferConfig config;
  config.uses_max = 2;
  ASSERT_TRUE(transfer_memory({path("source")}, path("capped"), config));
  const auto before = values_by_origin("source", "capped");
  const auto capped = priors_of("capped");
  ASSERT_EQ(before.size(), capped.size());
  for (const auto& [key, value] : capped) {
    EXPECT_LE(value.n, 2);
    EXPECT_NEAR(value.q, before.at(key).q, 1e-12);
  }
  config.values = false;
  const auto reset = transfer_memory({path("source")}, path("reset"), config);
  EXPECT_EQ(reset->values, 0);
}

TEST_F(TransferTest, merges_equal_items_into_one_worth_their_mean_by_uses) {
  run("source");
  TransferConfig config;
  config.uses_max = 1 << 30;
  ASSERT_TRUE(transfer_memory({path("source")}, path("one"), config));
  const auto twice = transfer_memory({path("source"), path("one")}, path("two"), config);
  ASSERT_TRUE(twice) << twice.error().text();
  const auto one = priors_of("one"), two = priors_of("two");
  EXPECT_EQ(static_cast<std::size_t>(twice->items), items_of("one").size());
  EXPECT_EQ(static_cast<std::size_t>(twice->duplicates), items_of("source").size()) << "each is in the first";
  ASSERT_EQ(one.size(), two.size());
  for (const auto& [key, value] : two) {
    EXPECT_DOUBLE_EQ(value.q, one.at(key).q);
    EXPECT_EQ(value.n, 2 * one.at(key).n);
  }
  std::int64_t of_first = 0;
  for (const auto& origin : origins_of("two")) of_first += origin.item == ItemId{1};
  EXPECT_EQ(of_first, 3) << "from the campaign, from its export, and from where that had it";
}

TEST_F(TransferTest, a_campaign_begins_with_it_and_resumes_to_the_same_store) {
  run("source");
  ASSERT_TRUE(transfer_memory({path("source")}, path("a"), {}));
  fs::copy_file(path("a"), path("b"));
  Quiet whole, part;
  const auto fingerprint = run("a", whole);
  ASSERT_EQ(fingerprint.size(), 64u) << fingerprint;
  part.left = 23;
  run("b", part);
  EXPECT_EQ(run("b"), fingerprint);
  const auto items = items_of("a");
  std::size_t seeds_there = 0;
  for (const auto& item : items) seeds_there += item.source == "seed";
  EXPECT_EQ(seeds_there, 2u) << "M0 is there once";
  bool used = false;
  for (const auto& c : whole.attempts.at(0).context.items) used = used || c.item->source == "import";
  EXPECT_TRUE(used);
}

TEST_F(TransferTest, what_is_no_longer_a_seed_becomes_an_import) {
  run("source");
  ASSERT_TRUE(transfer_memory({path("source")}, path("a"), {}));
  auto changed = seeds();
  changed[1].text = "new words";
  Quiet quiet;
  ASSERT_EQ(run("a", quiet, {}, changed).size(), 64u);
  std::map<std::string, std::vector<std::string>> sources;
  for (const auto& item : items_of("a")) sources[item.name].push_back(item.source);
  EXPECT_EQ(sources["practice/0"], (std::vector<std::string>{"seed"}));
  EXPECT_EQ(sources["practice/1"], (std::vector<std::string>{"import", "seed"}));
}

TEST_F(TransferTest, a_frozen_memory_neither_changes_nor_grows) {
  run("source");
  ASSERT_TRUE(transfer_memory({path("source")}, path("a"), {}));
  const auto before = priors_of("a");
  CampaignConfig config;
  config.retrieve.frozen = config.learn.frozen = true;
  Quiet quiet;
  ASSERT_EQ(run("a", quiet, config).size(), 64u);
  const auto after = values_of("a");
  const auto items = items_of("a");
  for (const auto& [key, value] : before) {
    EXPECT_EQ(after.at(key).q, value.q);
    EXPECT_EQ(after.at(key).n, value.n);
  }
  for (const auto& attempt : quiet.attempts)
    for (const auto& recalled : attempt.context.recall.pool)
      EXPECT_NE(items.at(static_cast<std::size_t>(recalled.item.number) - 1).source, "run");
}

TEST_F(TransferTest, refuses_unknown_tasks_existing_files_and_damaged_sources) {
  run("source");
  TransferConfig typo;
  typo.without = {{"synthetic_3"}};
  const auto unknown = transfer_memory({path("source")}, path("a"), typo);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("no source knows the task synthetic_3"), std::string::npos);
  EXPECT_FALSE(fs::exists(path("a")));
  EXPECT_FALSE(transfer_memory({path("source")}, path("source"), {}));
  EXPECT_FALSE(transfer_memory({path("nowhere")}, path("a"), {}));
  for (const char* damage :
       {"UPDATE item SET parent=900 WHERE item_id=5", "DELETE FROM item WHERE item_id=4",
        "UPDATE value_change SET item_id=0", "UPDATE meta SET value='x' WHERE key='learn.alpha'",
        "INSERT INTO prior VALUES('draft',5000,0,1,0,0)", "INSERT INTO origin VALUES(-1,0,'s',1,1,'')"}) {
    fs::remove(path("damaged"));
    fs::copy_file(path("source"), path("damaged"));
    ASSERT_TRUE((*Database::open(path("damaged"), Database::Mode::kReadWrite))->execute(damage)) << damage;
    EXPECT_FALSE(transfer_memory({path("damaged")}, path("a"), {})) << damage;
    EXPECT_FALSE(fs::exists(path("a"))) << damage;
  }
}

}  // namespace
}  // namespace evk
