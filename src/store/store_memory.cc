// The store's reading side for views of the memory, and the record of what was recalled.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "store/json_fields.h"
#include "store/store.h"

namespace evk {
namespace {

using nlohmann::json;

json rows_of(const std::vector<ContextItem>& items) {
  json list = json::array();
  for (const auto& c : items)
    list.push_back({c.item->id.number, name_of(c.by), c.slot, c.similarity, c.value, c.propensity});
  return list;
}

std::string to_text(const RecallLog& log) {
  json pool = json::array();
  for (const auto& r : log.pool) pool.push_back({r.item.number, r.similarity, r.value, r.score});
  return json{
      {"pool", pool}, {"coins", log.coins}, {"cut", rows_of(log.cut)}, {"left_out", rows_of(log.left_out)}}
      .dump();
}

std::vector<CutRow> cut_from(const json& list) {
  std::vector<CutRow> rows;
  for (const auto& j : list)
    rows.push_back({{j.at(0).get<std::int64_t>()},
                    j.at(1).get<std::string>(),
                    j.at(2).get<int>(),
                    j.at(3).get<double>(),
                    j.at(4).get<double>(),
                    j.at(5).get<double>()});
  return rows;
}

Result<RecallRow> recall_from(const std::string& text) {
  try {
    const json j = json::parse(text);
    RecallRow row;
    for (const auto& r : j.at("pool"))
      row.pool.push_back({{r.at(0).get<std::int64_t>()},
                          r.at(1).get<double>(),
                          r.at(2).get<double>(),
                          r.at(3).get<double>()});
    row.coins = j.at("coins").get<std::vector<double>>();
    row.cut = cut_from(j.at("cut"));
    row.left_out = cut_from(j.at("left_out"));
    return row;
  } catch (const std::exception& e) {
    return failure(fmt::format("store: damaged record of a recall: {}", e.what()));
  }
}

constexpr const char* kUses =
    "SELECT u.attempt_id, a.task_id, a.sweep, a.stage, u.item_id, u.selected_by, u.slot, u.similarity, "
    "u.value, u.propensity, u.updated, coalesce(a.reward_hat, a.reward), c.q_before, c.q FROM use u JOIN "
    "attempt a ON a.attempt_id = u.attempt_id LEFT JOIN value_change c ON c.attempt_id = u.attempt_id AND "
    "c.item_id = u.item_id AND c.stage = a.stage ";

// Attempts that moved the item's value without showing it: it had been left out. (An attempt also gives its
// own trace a first value.)
constexpr const char* kLeftOut =
    "SELECT c.attempt_id, a.task_id, a.sweep, a.stage, c.item_id, 'left_out', 0, 0, 0, 0, 1, "
    "coalesce(a.reward_hat, a.reward), c.q_before, c.q FROM value_change c JOIN attempt a ON a.attempt_id = "
    "c.attempt_id JOIN item i ON i.item_id = c.item_id WHERE c.item_id=? AND c.stage = a.stage AND "
    "i.attempt_id IS NOT a.attempt_id AND NOT EXISTS (SELECT 1 FROM use u WHERE u.attempt_id = c.attempt_id "
    "AND u.item_id = c.item_id)";

Result<std::vector<UseRow>> read_use_rows(Statement& get) {
  std::vector<UseRow> found;
  while (true) {
    EVK_TRY(const bool row, get.step());
    if (!row) return found;
    UseRow u;
    u.attempt = {get.integer(0)};
    u.task = {get.text(1)};
    u.sweep = get.integer(2);
    EVK_TRY(u.stage, stage_named(get.text(3)));
    u.item = {get.integer(4)};
    u.selected_by = get.text(5);
    u.slot = static_cast<int>(get.integer(6));
    u.similarity = get.real(7), u.value = get.real(8), u.propensity = get.real(9);
    u.updated = get.integer(10) != 0;
    u.reward = get.maybe_real(11), u.q_before = get.maybe_real(12), u.q_after = get.maybe_real(13);
    found.push_back(std::move(u));
  }
}

}  // namespace

Result<Stage> stage_named(const std::string& name) {
  if (name == "draft") return Stage::kDraft;
  if (name == "refine") return Stage::kRefine;
  return failure(fmt::format("store: unknown stage '{}'", name));
}

Status Store::put_recall(const Attempt& a) {
  if (a.context.recall.pool.empty()) return {};
  EVK_TRY(auto put, db_->prepare("INSERT INTO recall VALUES(?,?)"));
  return put.bind(a.id.number).bind(to_text(a.context.recall)).run();
}

Result<std::optional<RecallRow>> Store::recall_of(AttemptId attempt) {
  if (schema_ < 2) return std::nullopt;
  EVK_TRY(auto get, db_->prepare("SELECT log FROM recall WHERE attempt_id=?"));
  EVK_TRY(const bool row, get.bind(attempt.number).step());
  if (!row) return std::nullopt;
  EVK_TRY(auto log, recall_from(get.text(0)));
  return std::optional(std::move(log));
}

Result<std::vector<ItemBrief>> Store::item_briefs() {
  EVK_TRY(auto get, db_->prepare("SELECT item_id, kind, name, source, category, title, task_id, feasible, "
                                 "created_sweep FROM item ORDER BY item_id"));
  std::vector<ItemBrief> found;
  while (true) {
    EVK_TRY(const bool row, get.step());
    if (!row) return found;
    ItemBrief i;
    i.id = {get.integer(0)};
    const auto kind = item_kind_named(get.text(1));
    if (!kind) return failure(fmt::format("store: item {} has unknown kind '{}'", i.id.number, get.text(1)));
    i.kind = *kind;
    i.name = get.text(2), i.source = get.text(3), i.category = get.text(4), i.title = get.text(5);
    if (!get.is_null(6)) i.task = TaskId{get.text(6)};
    i.feasible = get.integer(7) != 0;
    i.created_sweep = get.integer(8);
    found.push_back(std::move(i));
  }
}

Result<AttemptBrief> Store::attempt_brief(AttemptId attempt) {
  EVK_TRY(auto get, db_->prepare("SELECT task_id, sweep, stage, pool_size, lambda, epsilon, reward, "
                                 "reward_hat, gate, code FROM attempt WHERE attempt_id=?"));
  EVK_TRY(const bool row, get.bind(attempt.number).step());
  if (!row)
    return failure(fmt::format("there is no attempt {} in {}; `evokernel report` lists them", attempt.number,
                               db_->path()));
  AttemptBrief a;
  a.id = attempt;
  a.task = {get.text(0)};
  a.sweep = get.integer(1);
  EVK_TRY(a.stage, stage_named(get.text(2)));
  a.pool_size = static_cast<int>(get.integer(3));
  a.lambda = get.real(4), a.epsilon = get.real(5);
  a.reward = get.maybe_real(6), a.reward_hat = get.maybe_real(7);
  a.gate = get.text(8), a.code = get.text(9);
  return a;
}

Result<std::vector<UseRow>> Store::uses_of(ItemId item) {
  EVK_TRY(auto get, db_->prepare(std::string(kUses) + "WHERE u.item_id=? ORDER BY u.attempt_id, u.position"));
  get.bind(item.number);
  EVK_TRY(auto found, read_use_rows(get));
  EVK_TRY(auto get_left_out, db_->prepare(kLeftOut));
  get_left_out.bind(item.number);
  EVK_TRY(auto left_out, read_use_rows(get_left_out));
  found.insert(found.end(), left_out.begin(), left_out.end());
  std::stable_sort(found.begin(), found.end(),
                   [](const UseRow& a, const UseRow& b) { return a.attempt < b.attempt; });
  return found;
}

Result<std::vector<UseRow>> Store::uses_in(AttemptId attempt) {
  EVK_TRY(auto get, db_->prepare(std::string(kUses) + "WHERE u.attempt_id=? ORDER BY u.position"));
  get.bind(attempt.number);
  return read_use_rows(get);
}

Result<std::vector<DriftRow>> Store::drift() {
  EVK_TRY(
      auto get,
      db_->prepare("SELECT a.sweep, a.stage, count(DISTINCT a.attempt_id), count(c.item_id), "
                   "avg(abs(c.q - c.q_before)), max(abs(c.q - c.q_before)), sum(c.n_before = 0), (SELECT "
                   "avg(coalesce(b.reward_hat, b.reward)) FROM attempt b WHERE b.sweep = a.sweep AND "
                   "b.stage = a.stage) FROM attempt a LEFT JOIN value_change c ON c.attempt_id = "
                   "a.attempt_id AND c.stage = a.stage GROUP BY a.sweep, a.stage ORDER BY a.sweep, a.stage"));
  std::vector<DriftRow> found;
  while (true) {
    EVK_TRY(const bool row, get.step());
    if (!row) return found;
    DriftRow d;
    d.sweep = get.integer(0);
    EVK_TRY(d.stage, stage_named(get.text(1)));
    d.attempts = get.integer(2), d.changes = get.integer(3);
    d.mean_move = get.maybe_real(4).value_or(0), d.largest_move = get.maybe_real(5).value_or(0);
    d.first_uses = get.maybe_integer(6).value_or(0);
    d.mean_reward = get.maybe_real(7).value_or(0);
    found.push_back(d);
  }
}

Result<std::map<std::pair<Stage, std::string>, std::int64_t>> Store::selections() {
  EVK_TRY(auto get, db_->prepare("SELECT a.stage, u.selected_by, count(*) FROM use u JOIN attempt a ON "
                                 "a.attempt_id = u.attempt_id GROUP BY a.stage, u.selected_by"));
  std::map<std::pair<Stage, std::string>, std::int64_t> found;
  while (true) {
    EVK_TRY(const bool row, get.step());
    if (!row) return found;
    EVK_TRY(const Stage stage, stage_named(get.text(0)));
    found[{stage, get.text(1)}] = get.integer(2);
  }
}

}  // namespace evk
