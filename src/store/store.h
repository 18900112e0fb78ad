// The record of a campaign: one SQLite file in WAL mode. Each attempt is one transaction that holds
// everything: prompt, context with propensities, answer, verdict, rewards, values before and after, new items
// (learning.md 7). Whatever is reported or resumed is read from here. One thread at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/attempt.h"
#include "store/ledger.h"
#include "store/memory_rows.h"
#include "store/sqlite.h"

namespace evk {

inline constexpr int kStoreSchema = 3;  // older ones are read, and brought up when opened for writing

// A task as the store knows it.
struct StoredTask {
  TaskId id;
  std::string category;
  std::string source_sha256;
};

// An attempt as it was committed. `attempt.context` items point into the list given to `attempts`.
struct StoredAttempt {
  Attempt attempt;
  Learnt learnt;  // `items` hold ids only
};

// Keys of `meta` that record what happened to a store, and are no setting of a campaign.
bool is_record_key(std::string_view key);

class Store {
 public:
  // Opens for writing and creates what is missing; holds a lock file, so that a second writer gets an Error
  // that says who holds it. `read` opens an existing store without any lock.
  static Result<std::unique_ptr<Store>> open(const std::string& path);
  static Result<std::unique_ptr<Store>> read(const std::string& path);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // No campaign was begun in it; it may hold a memory.
  bool is_new() const { return is_new_; }

  // Writes a memory into a store that holds nothing; it stays new, for a campaign to begin with. REQUIRES:
  // is_new() and no items.
  Status put_memory(const MemoryImage& image);
  // Seeds that were brought in and are no longer part of M0 become plain imports.
  Status retire_seeds(const std::vector<ItemId>& items);
  // Writes configuration, tasks and seed items as one transaction. Seeds are numbered after the items that
  // are there. REQUIRES: is_new().
  Status begin_campaign(const std::map<std::string, std::string>& meta, const std::vector<StoredTask>& tasks,
                        const std::vector<MemoryItem>& seeds);
  // Changes one configuration value later (the budget grows when a campaign is continued with more sweeps).
  Status set_meta(const std::string& key, const std::string& value);
  // Commits the attempt whole, or not at all. `wall_ms` is kept apart from what must repeat bit for bit.
  Status commit(const Attempt& attempt, const Learnt& learnt, const std::map<std::string, double>& wall_ms);

  Result<std::map<std::string, std::string>> meta();
  Result<std::vector<StoredTask>> tasks();
  Result<std::vector<MemoryItem>> items();
  // In commit order, without their costs (`ledger`). `items` are those of this store.
  Result<std::vector<StoredAttempt>> attempts(const std::vector<ItemPtr>& items);
  Result<std::map<std::pair<Stage, ItemId>, ItemValue>> values();

  // For views of the memory; none reads a text. An attempt that is not there is an Error.
  Result<std::vector<ItemBrief>> item_briefs();
  Result<AttemptBrief> attempt_brief(AttemptId attempt);
  // In order of attempts; those that left the item out are selected by "left_out".
  Result<std::vector<UseRow>> uses_of(ItemId item);
  Result<std::vector<UseRow>> uses_in(AttemptId attempt);
  Result<std::optional<RecallRow>> recall_of(AttemptId attempt);  // nothing if it was not recorded
  Result<std::vector<DriftRow>> drift();
  // What items were brought in with; empty for a store that began with M0 alone.
  Result<ValueMap> priors();
  Result<std::vector<OriginRow>> origins();
  // How often items were selected, by stage and way.
  Result<std::map<std::pair<Stage, std::string>, std::int64_t>> selections();

  // Mean wall time by gate and phase, ms.
  Result<std::map<std::string, double>> wall_ms_mean();
  // What each attempt cost, in order of attempts.
  Result<std::vector<LedgerRow>> ledger();
  // SHA-256 over every row of every table but `clock`, `ledger` and `recall`: equal for equal runs, whatever
  // happened on the way.
  Result<std::string> fingerprint();

  // Called with a name at every point where a crash must lose nothing; tests end the process there.
  void on_step(std::function<void(const char*)> hook) { hook_ = std::move(hook); }

 private:
  explicit Store(std::unique_ptr<Database> db) : db_(std::move(db)) {}
  void step(const char* point) const {
    if (hook_) hook_(point);
  }
  Result<std::string> put_blob(const std::string& bytes);
  Result<std::string> blob(const std::string& hash);
  Status put_item(const MemoryItem& item);
  Status put_attempt(const Attempt& attempt, const Learnt& learnt);
  Status put_uses(const Attempt& attempt);
  Status put_origins(const std::vector<OriginRow>& origins);
  Status put_recall(const Attempt& attempt);
  Status put_ledger(const Attempt& attempt);
  Status put_changes(AttemptId id, const std::vector<ValueChange>& changes);
  Status write_commit(const Attempt& attempt, const Learnt& learnt,
                      const std::map<std::string, double>& wall_ms);
  Status read_uses(const std::vector<ItemPtr>& items, std::vector<StoredAttempt>& attempts);
  Status read_changes(std::vector<StoredAttempt>& attempts);

  std::unique_ptr<Database> db_;
  std::function<void(const char*)> hook_;
  bool is_new_ = false;
  int schema_ = kStoreSchema;
  int lock_fd_ = -1;
};

}  // namespace evk
