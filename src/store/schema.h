// The tables of a store: schema 1, and what schemas 2 and 3 add (docs/formats.md describes each). Append in a
// new schema, never change in place.
#pragma once

namespace evk {

inline constexpr const char* kStoreTables = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE task(task_id TEXT PRIMARY KEY, position INTEGER NOT NULL, category TEXT NOT NULL,
  source_sha256 TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE blob(hash TEXT PRIMARY KEY, bytes TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE item(item_id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, backend TEXT NOT NULL,
  source TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL, key_text TEXT NOT NULL, category TEXT NOT NULL,
  facts TEXT NOT NULL, names TEXT NOT NULL, answers TEXT NOT NULL, static INTEGER NOT NULL, task_id TEXT,
  attempt_id INTEGER, parent INTEGER, files TEXT NOT NULL, feasible INTEGER NOT NULL, latency_ns REAL,
  gate TEXT NOT NULL, code TEXT NOT NULL, finding_file TEXT NOT NULL, finding_line INTEGER NOT NULL,
  bottleneck TEXT NOT NULL, hypothesis TEXT NOT NULL, source_hash TEXT NOT NULL, created_sweep INTEGER NOT NULL);
CREATE TABLE attempt(attempt_id INTEGER PRIMARY KEY, task_id TEXT NOT NULL, sweep INTEGER NOT NULL, stage TEXT NOT NULL,
  pool_size INTEGER NOT NULL, lambda REAL NOT NULL, epsilon REAL NOT NULL, prompt TEXT NOT NULL, answer TEXT NOT NULL,
  model TEXT NOT NULL, prompt_tokens INTEGER NOT NULL, answer_tokens INTEGER NOT NULL, files TEXT NOT NULL,
  choices TEXT NOT NULL, hypothesis TEXT NOT NULL, verdict TEXT, gate TEXT, code TEXT, feasible INTEGER,
  latency_ns REAL, infrastructure_error TEXT NOT NULL, reward REAL, reward_hat REAL, best_before REAL, best_after REAL,
  norm_n INTEGER NOT NULL, norm_mean REAL NOT NULL, norm_m2 REAL NOT NULL);
CREATE TABLE use(attempt_id INTEGER NOT NULL, position INTEGER NOT NULL, item_id INTEGER NOT NULL,
  selected_by TEXT NOT NULL, slot INTEGER NOT NULL, similarity REAL NOT NULL, value REAL NOT NULL,
  propensity REAL NOT NULL, updated INTEGER NOT NULL, PRIMARY KEY(attempt_id, position)) WITHOUT ROWID;
CREATE TABLE value_change(attempt_id INTEGER NOT NULL, position INTEGER NOT NULL, stage TEXT NOT NULL,
  item_id INTEGER NOT NULL, q_before REAL NOT NULL, n_before INTEGER NOT NULL, q REAL NOT NULL, n INTEGER NOT NULL,
  sum_r REAL NOT NULL, sum_r2 REAL NOT NULL, PRIMARY KEY(attempt_id, position)) WITHOUT ROWID;
CREATE TABLE q(stage TEXT NOT NULL, item_id INTEGER NOT NULL, q REAL NOT NULL, n INTEGER NOT NULL, sum_r REAL NOT NULL,
  sum_r2 REAL NOT NULL, last_sweep INTEGER NOT NULL, PRIMARY KEY(stage, item_id)) WITHOUT ROWID;
CREATE TABLE clock(attempt_id INTEGER NOT NULL, name TEXT NOT NULL, ms REAL NOT NULL,
  PRIMARY KEY(attempt_id, name)) WITHOUT ROWID;
CREATE INDEX attempt_task ON attempt(task_id, attempt_id);
CREATE INDEX use_item ON use(item_id);
CREATE INDEX change_item ON value_change(item_id);
)sql";

// Schema 2. `recall`: what an attempt's context was chosen from, as JSON; not part of the fingerprint, since
// it follows from what is. `prior`: values that items were brought in with. `origin`: where an item was
// brought in from, once for each store that had it; `ancestors` names a blob with the tasks that it descends
// from.
inline constexpr const char* kStoreTables2 = R"sql(
CREATE TABLE recall(attempt_id INTEGER PRIMARY KEY, log TEXT NOT NULL);
CREATE TABLE prior(stage TEXT NOT NULL, item_id INTEGER NOT NULL, q REAL NOT NULL, n INTEGER NOT NULL,
  sum_r REAL NOT NULL, sum_r2 REAL NOT NULL, PRIMARY KEY(stage, item_id)) WITHOUT ROWID;
CREATE TABLE origin(item_id INTEGER NOT NULL, position INTEGER NOT NULL, store TEXT NOT NULL, item INTEGER NOT NULL,
  attempt INTEGER, ancestors TEXT NOT NULL, PRIMARY KEY(item_id, position)) WITHOUT ROWID;
)sql";

// Schema 3: what an attempt cost beyond its tokens. Not part of the fingerprint, as `clock` is not: prices
// and an endpoint's cache change from day to day.
inline constexpr const char* kStoreTables3 = R"sql(
CREATE TABLE ledger(attempt_id INTEGER PRIMARY KEY, calls INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, usd REAL);
)sql";

}  // namespace evk
