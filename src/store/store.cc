#include "store/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/sha256.h"
#include "store/json_fields.h"
#include "store/schema.h"

namespace evk {
namespace {

Result<SelectedBy> selected_by_named(const std::string& name) {
  for (const auto by : {SelectedBy::kGreedy, SelectedBy::kExplore, SelectedBy::kApiStatic,
                        SelectedBy::kApiExact, SelectedBy::kApiSemantic, SelectedBy::kStart,
                        SelectedBy::kChild, SelectedBy::kPinned, SelectedBy::kVariant})
    if (name_of(by) == name) return by;
  return failure(fmt::format("store: unknown selection '{}'", name));
}

// An advisory lock on a file beside the store; released by the kernel however the process ends.
Result<int> take_lock(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0)
    return failure(fmt::format("store: cannot create {}: check that the folder exists and is writable", path),
                   Retry::kAfterFix);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    char who[32] = {};
    const auto n = ::pread(fd, who, sizeof who - 1, 0);
    ::close(fd);
    return failure(
        fmt::format("store: in use by another run (process {}); wait for it, or give another --store",
                    n > 0 ? who : "?"),
        Retry::kAfterFix);
  }
  const std::string pid = fmt::format("{}", ::getpid());
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, pid.data(), pid.size(), 0) < 0)
    return failure(fmt::format("store: cannot write {}", path), Retry::kAfterFix);
  return fd;
}

Result<int> schema_of(Database& db) {
  EVK_TRY(auto statement, db.prepare("PRAGMA user_version"));
  EVK_TRY([[maybe_unused]] const bool row, statement.step());
  return static_cast<int>(statement.integer(0));
}

Status check_schema(const std::string& path, int schema) {
  if (schema >= 1 && schema <= kStoreSchema) return {};
  return failure(fmt::format(
      "store: {} has schema {}, this program reads schemas 1 to {}; use the version that wrote it", path,
      schema, kStoreSchema));
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const std::string& path) {
  EVK_TRY(const int lock, take_lock(path + ".lock"));
  auto opened = Database::open(path, Database::Mode::kReadWrite);
  if (!opened) {
    ::close(lock);
    return tl::unexpected<Error>(opened.error());
  }
  auto store = std::unique_ptr<Store>(new Store(*std::move(opened)));
  store->lock_fd_ = lock;
  Database& db = *store->db_;
  EVK_TRY_STATUS(db.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"));
  EVK_TRY(const int schema, schema_of(db));
  if (schema != 0) EVK_TRY_STATUS(check_schema(path, schema));
  if (schema < kStoreSchema)
    EVK_TRY_STATUS(transaction(db, [&] {
      return db.execute(std::string(schema < 1 ? kStoreTables : "") + (schema < 2 ? kStoreTables2 : "") +
                        kStoreTables3 + fmt::format("PRAGMA user_version={};", kStoreSchema));
    }));
  EVK_TRY(const auto meta, store->meta());
  store->is_new_ =
      std::all_of(meta.begin(), meta.end(), [](const auto& entry) { return is_record_key(entry.first); });
  return store;
}

Result<std::unique_ptr<Store>> Store::read(const std::string& path) {
  if (::access(path.c_str(), R_OK) != 0)
    return failure(fmt::format("store: {} is not there or not readable; `evokernel run --store {}` makes one",
                               path, path),
                   Retry::kAfterFix);
  EVK_TRY(auto db, Database::open(path, Database::Mode::kReadOnly));
  auto store = std::unique_ptr<Store>(new Store(std::move(db)));
  EVK_TRY(store->schema_, schema_of(*store->db_));
  EVK_TRY_STATUS(check_schema(path, store->schema_));
  return store;
}

Store::~Store() {
  if (lock_fd_ >= 0) ::close(lock_fd_);
}

Status Store::begin_campaign(const std::map<std::string, std::string>& meta,
                             const std::vector<StoredTask>& tasks, const std::vector<MemoryItem>& seeds) {
  EVK_CHECK(is_new_);
  const Status done = transaction(*db_, [&]() -> Status {
    EVK_TRY(auto put_meta, db_->prepare("INSERT OR REPLACE INTO meta VALUES(?,?)"));
    for (const auto& [key, value] : meta) EVK_TRY_STATUS(put_meta.bind(key).bind(value).run());
    EVK_TRY(auto put_task, db_->prepare("INSERT INTO task VALUES(?,?,?,?)"));
    std::int64_t position = 0;
    for (const auto& t : tasks)
      EVK_TRY_STATUS(put_task.bind(t.id.text).bind(position++).bind(t.category).bind(t.source_sha256).run());
    for (const auto& item : seeds) EVK_TRY_STATUS(put_item(item));
    step("begin_campaign");
    return {};
  });
  if (done) is_new_ = false;
  return done;
}

Status Store::set_meta(const std::string& key, const std::string& value) {
  EVK_TRY(auto put,
          db_->prepare("INSERT INTO meta VALUES(?,?) ON CONFLICT(key) DO UPDATE SET value=excluded.value"));
  return put.bind(key).bind(value).run();
}

Result<std::string> Store::put_blob(const std::string& bytes) {
  const std::string hash = sha256_hex(bytes);
  EVK_TRY(auto put, db_->prepare("INSERT INTO blob VALUES(?,?) ON CONFLICT(hash) DO NOTHING"));
  EVK_TRY_STATUS(put.bind(hash).bind(bytes).run());
  return hash;
}

Result<std::string> Store::blob(const std::string& hash) {
  EVK_TRY(auto get, db_->prepare("SELECT bytes FROM blob WHERE hash=?"));
  EVK_TRY(const bool row, get.bind(hash).step());
  if (!row)
    return failure(fmt::format("store: {}: text {} is missing; the file is damaged", db_->path(), hash));
  return get.text(0);
}

Status Store::put_item(const MemoryItem& i) {
  EVK_TRY(const auto text, put_blob(i.text));
  EVK_TRY(const auto key_text, put_blob(i.key_text));
  EVK_TRY(const auto files, put_blob(files_to_json(i.files)));
  EVK_TRY(auto put,
          db_->prepare("INSERT INTO item VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  put.bind(i.id.number)
      .bind(name_of(i.kind))
      .bind(i.name)
      .bind(i.backend)
      .bind(i.source)
      .bind(i.title)
      .bind(text);
  put.bind(key_text).bind(i.category).bind(facts_to_json(i.facts)).bind(strings_to_json(i.names));
  put.bind(strings_to_json(i.answers)).bind(i.static_bundle);
  put.bind(i.task ? std::optional(i.task->text) : std::nullopt);
  put.bind(i.attempt ? std::optional(i.attempt->number) : std::nullopt);
  put.bind(i.parent ? std::optional(i.parent->number) : std::nullopt);
  put.bind(files).bind(i.feasible).bind(i.latency_ns).bind(i.gate).bind(i.code).bind(i.finding_file);
  put.bind(i.finding_line).bind(i.bottleneck).bind(i.hypothesis).bind(i.source_hash).bind(i.created_sweep);
  return put.run();
}

Status Store::put_attempt(const Attempt& a, const Learnt& l) {
  EVK_TRY(const auto prompt, put_blob(a.prompt));
  EVK_TRY(const auto answer, put_blob(a.answer.text));
  EVK_TRY(const auto files, put_blob(files_to_json(a.candidate.files)));
  EVK_TRY(
      auto put,
      db_->prepare("INSERT INTO attempt VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  put.bind(a.id.number)
      .bind(a.task.text)
      .bind(a.sweep)
      .bind(name_of(a.context.stage))
      .bind(a.context.pool_size);
  put.bind(a.context.lambda).bind(a.context.epsilon).bind(prompt).bind(answer).bind(a.answer.model);
  put.bind(a.answer.prompt_tokens)
      .bind(a.answer.answer_tokens)
      .bind(files)
      .bind(choices_to_json(a.candidate.choices));
  put.bind(a.candidate.hypothesis);
  if (a.verdict)
    put.bind(to_json(*a.verdict).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
        .bind(gate_of(*a.verdict))
        .bind(code_of(*a.verdict))
        .bind(is_feasible(*a.verdict))
        .bind(latency_ns(*a.verdict));
  else
    put.bind_null().bind_null().bind_null().bind_null().bind_null();
  put.bind(a.infrastructure_error).bind(l.reward).bind(l.reward_hat).bind(l.best_before).bind(l.best_after);
  put.bind(l.normaliser.n).bind(l.normaliser.mean).bind(l.normaliser.m2);
  return put.run();
}

Status Store::put_uses(const Attempt& a) {
  EVK_TRY(auto put, db_->prepare("INSERT INTO use VALUES(?,?,?,?,?,?,?,?,?)"));
  int position = 0;
  for (const auto& u : a.context.items)
    EVK_TRY_STATUS(put.bind(a.id.number)
                       .bind(position++)
                       .bind(u.item->id.number)
                       .bind(name_of(u.by))
                       .bind(u.slot)
                       .bind(u.similarity)
                       .bind(u.value)
                       .bind(u.propensity)
                       .bind(u.updated)
                       .run());
  return {};
}

Status Store::put_changes(AttemptId id, const std::vector<ValueChange>& changes) {
  EVK_TRY(auto put, db_->prepare("INSERT INTO value_change VALUES(?,?,?,?,?,?,?,?,?,?)"));
  EVK_TRY(auto put_q, db_->prepare("INSERT OR REPLACE INTO q VALUES(?,?,?,?,?,?,?)"));
  int position = 0;
  for (const auto& c : changes) {
    EVK_TRY_STATUS(put.bind(id.number)
                       .bind(position++)
                       .bind(name_of(c.stage))
                       .bind(c.item.number)
                       .bind(c.before.q)
                       .bind(c.before.n)
                       .bind(c.after.q)
                       .bind(c.after.n)
                       .bind(c.after.sum_r)
                       .bind(c.after.sum_r2)
                       .run());
    EVK_TRY_STATUS(put_q.bind(name_of(c.stage))
                       .bind(c.item.number)
                       .bind(c.after.q)
                       .bind(c.after.n)
                       .bind(c.after.sum_r)
                       .bind(c.after.sum_r2)
                       .bind(c.after.last_sweep)
                       .run());
  }
  return {};
}

Status Store::write_commit(const Attempt& attempt, const Learnt& learnt,
                           const std::map<std::string, double>& wall_ms) {
  step("attempt");
  EVK_TRY_STATUS(put_attempt(attempt, learnt));
  step("uses");
  EVK_TRY_STATUS(put_uses(attempt));
  EVK_TRY_STATUS(put_recall(attempt));
  EVK_TRY_STATUS(put_ledger(attempt));
  step("items");
  for (const auto& item : learnt.items) EVK_TRY_STATUS(put_item(item));
  step("values");
  EVK_TRY_STATUS(put_changes(attempt.id, learnt.changes));
  EVK_TRY(auto put_clock, db_->prepare("INSERT INTO clock VALUES(?,?,?)"));
  for (const auto& [name, ms] : wall_ms)
    EVK_TRY_STATUS(put_clock.bind(attempt.id.number).bind(name).bind(ms).run());
  step("before_commit");
  return {};
}

Status Store::commit(const Attempt& attempt, const Learnt& learnt,
                     const std::map<std::string, double>& wall_ms) {
  EVK_TRY_STATUS(transaction(*db_, [&] { return write_commit(attempt, learnt, wall_ms); }));
  step("committed");
  return {};
}

Result<std::map<std::string, std::string>> Store::meta() {
  EVK_TRY(auto get, db_->prepare("SELECT key, value FROM meta ORDER BY key"));
  std::map<std::string, std::string> found;
  while (true) {
    EVK_TRY(const bool row, get.step());
    if (!row) return found;
    found[get.text(0)] = get.text(1);
  }
}

Result<std::vector<StoredTask>> Store::tasks() {
  EVK_TRY(auto get, db_->prepare("SELECT task_id, category, source_sha256 FROM task ORDER BY position"));
  std::vector<StoredTask> found;
  while (true) {
    EVK_TRY(const bool row, get.step());
    if (!row) return found;
    found.push_back({{get.text(0)}, get.text(1), get.text(2)});
  }
}

Result<std::vector<MemoryItem>> Store::items() {
  EVK_TRY(auto get, db_->prepare("SELECT * FROM item ORDER BY item_id"));
  std::vector<MemoryItem> found;
  while (true) {
    EVK_TRY(const bool row, get.step());
    if (!row) return found;
    MemoryItem i;
    i.id = {get.integer(0)};
    const auto kind = item_kind_named(get.text(1));
    if (!kind) return failure(fmt::format("store: item {} has unknown kind '{}'", i.id.number, get.text(1)));
    i.kind = *kind;
    i.name = get.text(2), i.backend = get.text(3), i.source = get.text(4), i.title = get.text(5);
    EVK_TRY(i.text, blob(get.text(6)));
    EVK_TRY(i.key_text, blob(get.text(7)));
    i.category = get.text(8);
    EVK_TRY(i.facts, facts_from_json(get.text(9)));
    EVK_TRY(i.names, strings_from_json(get.text(10)));
    EVK_TRY(i.answers, strings_from_json(get.text(11)));
    i.static_bundle = get.integer(12) != 0;
    if (!get.is_null(13)) i.task = TaskId{get.text(13)};
    if (!get.is_null(14)) i.attempt = AttemptId{get.integer(14)};
    if (!get.is_null(15)) i.parent = ItemId{get.integer(15)};
    EVK_TRY(const auto files, blob(get.text(16)));
    EVK_TRY(i.files, files_from_json(files));
    i.feasible = get.integer(17) != 0;
    i.latency_ns = get.maybe_real(18);
    i.gate = get.text(19), i.code = get.text(20), i.finding_file = get.text(21);
    i.finding_line = static_cast<int>(get.integer(22));
    i.bottleneck = get.text(23), i.hypothesis = get.text(24), i.source_hash = get.text(25);
    i.created_sweep = get.integer(26);
    found.push_back(std::move(i));
  }
}

Status Store::read_uses(const std::vector<ItemPtr>& items, std::vector<StoredAttempt>& attempts) {
  EVK_TRY(auto get, db_->prepare("SELECT * FROM use ORDER BY attempt_id, position"));
  while (true) {
    EVK_TRY(const bool row, get.step());
    if (!row) return {};
    const auto attempt = static_cast<std::size_t>(get.integer(0)) - 1;
    const auto item = static_cast<std::size_t>(get.integer(2)) - 1;
    if (attempt >= attempts.size() || item >= items.size())
      return failure(fmt::format("store: {}: a use names an unknown attempt or item", db_->path()));
    EVK_TRY(const auto by, selected_by_named(get.text(3)));
    attempts[attempt].attempt.context.items.push_back({items[item], by, static_cast<int>(get.integer(4)),
                                                       get.real(5), get.real(6), get.real(7),
                                                       get.integer(8) != 0});
  }
}

Status Store::read_changes(std::vector<StoredAttempt>& attempts) {
  EVK_TRY(auto get, db_->prepare("SELECT * FROM value_change ORDER BY attempt_id, position"));
  while (true) {
    EVK_TRY(const bool row, get.step());
    if (!row) return {};
    const auto index = static_cast<std::size_t>(get.integer(0)) - 1;
    if (index >= attempts.size())
      return failure(fmt::format("store: {}: a value change names an unknown attempt", db_->path()));
    ValueChange c;
    EVK_TRY(c.stage, stage_named(get.text(2)));
    c.item = {get.integer(3)};
    c.before.q = get.real(4), c.before.n = get.integer(5);
    c.after = {get.real(6), get.integer(7), get.real(8), get.real(9), attempts[index].attempt.sweep};
    attempts[index].learnt.changes.push_back(c);
  }
}

Result<std::vector<StoredAttempt>> Store::attempts(const std::vector<ItemPtr>& items) {
  EVK_TRY(auto get, db_->prepare("SELECT * FROM attempt ORDER BY attempt_id"));
  std::vector<StoredAttempt> found;
  while (true) {
    EVK_TRY(const bool row, get.step());
    if (!row) break;
    StoredAttempt s;
    Attempt& a = s.attempt;
    a.id = {get.integer(0)};
    if (a.id.number != static_cast<std::int64_t>(found.size()) + 1)
      return failure(fmt::format("store: {}: attempt {} is missing", db_->path(), found.size() + 1));
    a.task = {get.text(1)};
    a.sweep = get.integer(2);
    EVK_TRY(a.context.stage, stage_named(get.text(3)));
    a.context.pool_size = static_cast<int>(get.integer(4));
    a.context.lambda = get.real(5), a.context.epsilon = get.real(6);
    EVK_TRY(a.prompt, blob(get.text(7)));
    EVK_TRY(a.answer.text, blob(get.text(8)));
    a.answer.model = get.text(9), a.answer.prompt_tokens = get.integer(10),
    a.answer.answer_tokens = get.integer(11);
    EVK_TRY(const auto files, blob(get.text(12)));
    EVK_TRY(a.candidate.files, files_from_json(files));
    EVK_TRY(a.candidate.choices, choices_from_json(get.text(13)));
    a.candidate.hypothesis = get.text(14);
    if (!get.is_null(15)) {
      const auto json = nlohmann::json::parse(get.text(15), nullptr, false);
      if (json.is_discarded())
        return failure(fmt::format("store: verdict of attempt {} is no JSON", a.id.number));
      EVK_TRY(a.verdict, verdict_from(json));
    }
    a.infrastructure_error = get.text(20);
    s.learnt.reward = get.maybe_real(21), s.learnt.reward_hat = get.maybe_real(22);
    s.learnt.best_before = get.maybe_real(23), s.learnt.best_after = get.maybe_real(24);
    s.learnt.normaliser = {get.integer(25), get.real(26), get.real(27)};
    found.push_back(std::move(s));
  }
  EVK_TRY_STATUS(read_uses(items, found));
  EVK_TRY_STATUS(read_changes(found));
  for (const auto& item : items)
    if (item->attempt && item->attempt->number <= static_cast<std::int64_t>(found.size()) &&
        item->source == "run")
      found[static_cast<std::size_t>(item->attempt->number) - 1].learnt.items.push_back(*item);
  return found;
}

Result<std::map<std::pair<Stage, ItemId>, ItemValue>> Store::values() {
  EVK_TRY(auto get, db_->prepare("SELECT * FROM q ORDER BY stage, item_id"));
  std::map<std::pair<Stage, ItemId>, ItemValue> found;
  while (true) {
    EVK_TRY(const bool row, get.step());
    if (!row) return found;
    EVK_TRY(const Stage stage, stage_named(get.text(0)));
    found[{stage, ItemId{get.integer(1)}}] = {get.real(2), get.integer(3), get.real(4), get.real(5),
                                              get.integer(6)};
  }
}

Result<std::map<std::string, double>> Store::wall_ms_mean() {
  EVK_TRY(auto get, db_->prepare("SELECT name, avg(ms) FROM clock GROUP BY name ORDER BY name"));
  std::map<std::string, double> found;
  while (true) {
    EVK_TRY(const bool row, get.step());
    if (!row) return found;
    found[get.text(0)] = get.real(1);
  }
}

Result<std::string> Store::fingerprint() {
  std::vector<const char*> queries = {"SELECT * FROM meta ORDER BY key",
                                      "SELECT * FROM task ORDER BY position",
                                      "SELECT * FROM blob ORDER BY hash",
                                      "SELECT * FROM item ORDER BY item_id",
                                      "SELECT * FROM attempt ORDER BY attempt_id",
                                      "SELECT * FROM use ORDER BY attempt_id, position",
                                      "SELECT * FROM value_change ORDER BY attempt_id, position",
                                      "SELECT * FROM q ORDER BY stage, item_id"};
  EVK_TRY(const auto brought_in, origins());
  if (!brought_in.empty()) {
    queries.push_back("SELECT * FROM prior ORDER BY stage, item_id");
    queries.push_back("SELECT * FROM origin ORDER BY item_id, position");
  }
  Sha256 sha;
  for (const char* query : queries) {
    EVK_TRY(auto get, db_->prepare(query));
    sha.field(query);
    while (true) {
      EVK_TRY(const bool row, get.step());
      if (!row) break;
      for (int c = 0; c < get.columns(); ++c) sha.field(get.is_null(c) ? "null" : "=" + get.text(c));
    }
  }
  return sha.hex();
}

}  // namespace evk
