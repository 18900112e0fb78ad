#include "report/memory_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace evk {
namespace {

using nlohmann::json;

constexpr std::array kStages = {Stage::kDraft, Stage::kRefine};
constexpr std::array kKinds = {ItemKind::kApi, ItemKind::kExperience, ItemKind::kTrace, ItemKind::kPractice};

json opt(const std::optional<double>& v) { return v ? json(*v) : json(nullptr); }

// The value below which a share `p` of the sorted values lies, between neighbours in proportion.
double quantile(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

json quantiles_json(std::vector<double> q) {
  if (q.empty()) return nullptr;
  std::sort(q.begin(), q.end());
  return {{"min", q.front()},         {"p10", quantile(q, 0.1)},
          {"p25", quantile(q, 0.25)}, {"median", quantile(q, 0.5)},
          {"p75", quantile(q, 0.75)}, {"p90", quantile(q, 0.9)},
          {"max", q.back()}};
}

using Values = std::map<std::pair<Stage, ItemId>, ItemValue>;

// Items of a kind with their values in one stage.
json value_row(Stage stage, ItemKind kind, const std::vector<ItemBrief>& items, const Values& values) {
  std::vector<double> q;
  std::int64_t count = 0, uses = 0;
  for (const auto& item : items) {
    if (item.kind != kind) continue;
    ++count;
    const auto found = values.find({stage, item.id});
    if (found == values.end() || found->second.n == 0) continue;
    uses += found->second.n;
    q.push_back(found->second.q);
  }
  json row = {{"stage", name_of(stage)},
              {"kind", name_of(kind)},
              {"items", count},
              {"used", q.size()},
              {"uses", uses}};
  row["never_used_share"] = count ? 1 - static_cast<double>(q.size()) / static_cast<double>(count) : 0.0;
  row["q"] = quantiles_json(std::move(q));
  return row;
}

json kinds_json(const std::vector<ItemBrief>& items) {
  json kinds = json::object();
  for (const auto& item : items) {
    json& count = kinds[std::string(name_of(item.kind))][item.source];
    count = count.is_null() ? 1 : count.get<int>() + 1;
  }
  return kinds;
}

// Of the items that selection may pick, how many were ever used in any stage.
json coverage_json(const std::vector<ItemBrief>& items, const Values& values) {
  std::int64_t selectable = 0, used = 0;
  for (const auto& item : items) {
    if (item.kind == ItemKind::kApi) continue;
    ++selectable;
    used += std::any_of(kStages.begin(), kStages.end(), [&](Stage stage) {
      const auto found = values.find({stage, item.id});
      return found != values.end() && found->second.n > 0;
    });
  }
  const double share = selectable ? static_cast<double>(used) / static_cast<double>(selectable) : 0;
  return {{"selectable", selectable}, {"used", used}, {"coverage", share}, {"never_used_share", 1 - share}};
}

json drift_json(const std::vector<DriftRow>& drift) {
  json list = json::array();
  for (const auto& d : drift)
    list.push_back({{"sweep", d.sweep},
                    {"stage", name_of(d.stage)},
                    {"attempts", d.attempts},
                    {"mean_reward", d.mean_reward},
                    {"changes", d.changes},
                    {"first_uses", d.first_uses},
                    {"mean_move", d.mean_move},
                    {"largest_move", d.largest_move}});
  return list;
}

std::string value_line(const json& v) {
  std::string line = fmt::format("  {:<7} {:<11} {:>7} {:>7} {:>6.1f} %", v["stage"].get<std::string>(),
                                 v["kind"].get<std::string>(), v["items"].get<std::int64_t>(),
                                 v["used"].get<std::int64_t>(), 100 * v["never_used_share"].get<double>());
  if (v["q"].is_null()) return line + "\n";
  for (const char* name : {"min", "p10", "p25", "median", "p75", "p90", "max"})
    line += fmt::format(" {:>+7.3f}", v["q"][name].get<double>());
  return line + "\n";
}

json facts_json(const std::vector<Fact>& facts) {
  json list = json::array();
  for (const auto& f : facts)
    list.push_back({{"construct", f.choice.construct}, {"form", f.choice.form}, {"works", f.works}});
  return list;
}

json files_json(const std::vector<SourceFile>& files) {
  json list = json::array();
  for (const auto& f : files) list.push_back({{"path", f.path}, {"text", f.text}});
  return list;
}

json history_json(const std::vector<UseRow>& uses) {
  json list = json::array();
  for (const auto& u : uses)
    list.push_back({{"attempt", u.attempt.number},
                    {"task", u.task.text},
                    {"sweep", u.sweep},
                    {"stage", name_of(u.stage)},
                    {"selected_by", u.selected_by},
                    {"similarity", u.similarity},
                    {"propensity", u.propensity},
                    {"reward", opt(u.reward)},
                    {"updated", u.updated},
                    {"q_before", opt(u.q_before)},
                    {"q", opt(u.q_after)}});
  return list;
}

json values_json(const Values& values, ItemId id) {
  json q = json::object();
  for (const auto stage : kStages)
    if (const auto v = values.find({stage, id}); v != values.end())
      q[std::string(name_of(stage))] = {
          {"q", v->second.q},
          {"n", v->second.n},
          {"mean_reward", v->second.sum_r / static_cast<double>(std::max<std::int64_t>(1, v->second.n))},
          {"last_sweep", v->second.last_sweep}};
  return q;
}

Result<MemoryItem> item_with(Store& store, ItemId id) {
  EVK_TRY(auto items, store.items());
  if (id.number < 1 || id.number > static_cast<std::int64_t>(items.size()))
    return failure(fmt::format("there is no item {}; the store holds 1 to {}", id.number, items.size()));
  return std::move(items[static_cast<std::size_t>(id.number) - 1]);
}

// What became of an item of the pool.
struct Fate {
  std::string outcome = "passed over";  // or a way of selection, "cut", "left out"
  std::optional<int> slot;
  std::optional<double> propensity;
};

struct Why {
  AttemptBrief attempt;
  std::vector<UseRow> uses;
  std::optional<RecallRow> recall;
  std::map<ItemId, ItemBrief> briefs;

  Fate fate_of(ItemId item) const {
    for (const auto& u : uses)
      if (u.item == item) return {u.selected_by, u.slot, u.propensity};
    for (const auto& c : recall->cut)
      if (c.item == item) return {"cut", c.slot, c.propensity};
    for (const auto& c : recall->left_out)
      if (c.item == item) return {"left out", c.slot, c.propensity};
    return {};
  }
  ItemBrief brief(ItemId item) const {
    const auto found = briefs.find(item);
    return found == briefs.end() ? ItemBrief{item} : found->second;
  }
  std::optional<double> coin(const std::optional<int>& slot) const {
    if (!slot || *slot < 0 || *slot >= static_cast<int>(recall->coins.size())) return std::nullopt;
    return recall->coins[static_cast<std::size_t>(*slot)];
  }
  bool in_pool(ItemId item) const {
    return recall && std::any_of(recall->pool.begin(), recall->pool.end(),
                                 [&](const Recalled& r) { return r.item == item; });
  }
};

Result<Why> why_of(Store& store, AttemptId id) {
  Why why;
  EVK_TRY(why.attempt, store.attempt_brief(id));
  EVK_TRY(why.uses, store.uses_in(id));
  EVK_TRY(why.recall, store.recall_of(id));
  EVK_TRY(auto briefs, store.item_briefs());
  for (auto& brief : briefs) why.briefs[brief.id] = std::move(brief);
  return why;
}

json pool_json(const Why& why) {
  json pool = json::array();
  for (const auto& r : why.recall->pool) {
    const Fate fate = why.fate_of(r.item);
    const ItemBrief brief = why.brief(r.item);
    pool.push_back({{"item", r.item.number},
                    {"kind", name_of(brief.kind)},
                    {"name", brief.name},
                    {"task", brief.task ? json(brief.task->text) : json(nullptr)},
                    {"similarity", r.similarity},
                    {"value", r.value},
                    {"score", r.score},
                    {"outcome", fate.outcome},
                    {"slot", fate.slot ? json(*fate.slot) : json(nullptr)},
                    {"coin", opt(why.coin(fate.slot))},
                    {"propensity", opt(fate.propensity)}});
  }
  return pool;
}

std::string pool_line(const Why& why, const Recalled& r) {
  const Fate fate = why.fate_of(r.item);
  const ItemBrief brief = why.brief(r.item);
  std::string line = fmt::format("  {:>7} {:<11} {:<26} {:>8.3f} {:>+8.3f} {:>+8.3f}  {}", r.item.number,
                                 name_of(brief.kind), brief.task ? brief.task->text : brief.name,
                                 r.similarity, r.value, r.score, fate.outcome);
  if (fate.slot) line += fmt::format(", slot {}", *fate.slot);
  if (const auto coin = why.coin(fate.slot)) line += fmt::format(", coin {:.3f}", *coin);
  if (fate.propensity) line += fmt::format(", propensity {:.3f}", *fate.propensity);
  return line + "\n";
}

std::string cut_text(const Why& why) {
  std::string text;
  for (const auto& [rows, what] :
       {std::pair(&why.recall->cut, "cut from the prompt, which would have been too long"),
        std::pair(&why.recall->left_out, "left out, to see what it is worth")})
    for (const auto& c : *rows)
      text += fmt::format("  item {} ({}): {}\n", c.item.number, why.brief(c.item).name, what);
  return text;
}

json cut_json(const std::vector<CutRow>& rows) {
  json list = json::array();
  for (const auto& c : rows)
    list.push_back({{"item", c.item.number},
                    {"selected_by", c.selected_by},
                    {"slot", c.slot},
                    {"similarity", c.similarity},
                    {"value", c.value},
                    {"propensity", c.propensity}});
  return list;
}

}  // namespace

Result<json> memory_stats_json(Store& store) {
  EVK_TRY(const auto items, store.item_briefs());
  EVK_TRY(const auto values, store.values());
  EVK_TRY(const auto drift, store.drift());
  EVK_TRY(const auto selections, store.selections());
  json rows = json::array(), selected = json::object();
  for (const auto stage : kStages)
    for (const auto kind : kKinds)
      if (json row = value_row(stage, kind, items, values); row["items"].get<std::int64_t>() > 0)
        rows.push_back(std::move(row));
  for (const auto& [key, count] : selections) selected[std::string(name_of(key.first))][key.second] = count;
  return json{{"schema", 1},
              {"items", items.size()},
              {"kinds", kinds_json(items)},
              {"coverage", coverage_json(items, values)},
              {"values", rows},
              {"selected", selected},
              {"drift", drift_json(drift)}};
}

Result<std::string> memory_stats_text(Store& store) {
  EVK_TRY(const json stats, memory_stats_json(store));
  const json& coverage = stats["coverage"];
  std::string text = fmt::format("{} items\n", stats["items"].get<std::size_t>());
  for (const auto& [kind, by_source] : stats["kinds"].items()) {
    text += fmt::format("  {:<10}", kind);
    for (const auto& [source, n] : by_source.items()) text += fmt::format("  {} {}", n.get<int>(), source);
    text += "\n";
  }
  text += fmt::format("coverage: {} of {} selectable items were ever used, {:.1f} % never\n\n",
                      coverage["used"].get<std::int64_t>(), coverage["selectable"].get<std::int64_t>(),
                      100 * coverage["never_used_share"].get<double>());
  text += fmt::format(
      "values of used items\n  {:<7} {:<11} {:>7} {:>7} {:>8} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}\n",
      "stage", "kind", "items", "used", "never", "min", "10 %", "25 %", "median", "75 %", "90 %", "max");
  for (const auto& v : stats["values"]) text += value_line(v);
  text += "\nselected\n";
  for (const auto& [stage, ways] : stats["selected"].items()) {
    text += fmt::format("  {:<7}", stage);
    for (const auto& [way, n] : ways.items()) text += fmt::format(" {} {} ", way, n.get<std::int64_t>());
    text += "\n";
  }
  text += fmt::format("\ndrift\n  {:>5} {:<7} {:>8} {:>8} {:>8} {:>10} {:>10} {:>8}\n", "sweep", "stage",
                      "attempts", "reward", "changes", "first uses", "mean move", "largest");
  for (const auto& d : stats["drift"])
    text += fmt::format("  {:>5} {:<7} {:>8} {:>+8.3f} {:>8} {:>10} {:>10.4f} {:>8.3f}\n",
                        d["sweep"].get<std::int64_t>(), d["stage"].get<std::string>(),
                        d["attempts"].get<std::int64_t>(), d["mean_reward"].get<double>(),
                        d["changes"].get<std::int64_t>(), d["first_uses"].get<std::int64_t>(),
                        d["mean_move"].get<double>(), d["largest_move"].get<double>());
  return text;
}

Result<json> memory_item_json(Store& store, ItemId id) {
  EVK_TRY(const MemoryItem item, item_with(store, id));
  EVK_TRY(const auto values, store.values());
  EVK_TRY(const auto uses, store.uses_of(id));
  return json{{"schema", 1},
              {"item", id.number},
              {"kind", name_of(item.kind)},
              {"name", item.name},
              {"source", item.source},
              {"title", item.title},
              {"category", item.category},
              {"task", item.task ? json(item.task->text) : json(nullptr)},
              {"attempt", item.attempt ? json(item.attempt->number) : json(nullptr)},
              {"parent", item.parent ? json(item.parent->number) : json(nullptr)},
              {"text", item.text},
              {"facts", facts_json(item.facts)},
              {"names", item.names},
              {"answers", item.answers},
              {"feasible", item.feasible},
              {"latency_ns", opt(item.latency_ns)},
              {"gate", item.gate},
              {"code", item.code},
              {"bottleneck", item.bottleneck},
              {"created_sweep", item.created_sweep},
              {"files", files_json(item.files)},
              {"values", values_json(values, id)},
              {"history", history_json(uses)}};
}

Result<std::string> memory_item_text(Store& store, ItemId id) {
  EVK_TRY(const json j, memory_item_json(store, id));
  std::string text = fmt::format("item {}: {} {} ({})\n{}\n\n{}\n", id.number, j["kind"].get<std::string>(),
                                 j["name"].get<std::string>(), j["source"].get<std::string>(),
                                 j["title"].get<std::string>(), j["text"].get<std::string>());
  for (const auto& f : j["facts"])
    text += fmt::format("  {} {}={}\n", f["works"].get<bool>() ? "shows" : "avoid",
                        f["construct"].get<std::string>(), f["form"].get<std::string>());
  for (const auto& [stage, v] : j["values"].items())
    text += fmt::format("Q in {}: {:+.3f} after {} uses, mean reward {:+.3f}\n", stage, v["q"].get<double>(),
                        v["n"].get<std::int64_t>(), v["mean_reward"].get<double>());
  for (const auto& h : j["history"]) {
    text += fmt::format("  sweep {:>3}, attempt {:>5} ({}, {}), {}", h["sweep"].get<std::int64_t>(),
                        h["attempt"].get<std::int64_t>(), h["task"].get<std::string>(),
                        h["stage"].get<std::string>(), h["selected_by"].get<std::string>());
    if (!h["reward"].is_null()) text += fmt::format(": reward {:+.3f}", h["reward"].get<double>());
    if (!h["q"].is_null())
      text += fmt::format(", Q {:+.3f} -> {:+.3f}", h["q_before"].get<double>(), h["q"].get<double>());
    text += "\n";
  }
  return text;
}

Result<json> memory_why_json(Store& store, AttemptId id) {
  EVK_TRY(const Why why, why_of(store, id));
  const AttemptBrief& a = why.attempt;
  json shown = json::array();
  for (const auto& u : why.uses)
    shown.push_back({{"item", u.item.number},
                     {"kind", name_of(why.brief(u.item).kind)},
                     {"name", why.brief(u.item).name},
                     {"selected_by", u.selected_by},
                     {"slot", u.slot},
                     {"similarity", u.similarity},
                     {"value", u.value},
                     {"propensity", u.propensity},
                     {"updated", u.updated},
                     {"q_before", opt(u.q_before)},
                     {"q", opt(u.q_after)}});
  json j = {{"schema", 1},          {"attempt", id.number},           {"task", a.task.text},
            {"sweep", a.sweep},     {"stage", name_of(a.stage)},      {"lambda", a.lambda},
            {"epsilon", a.epsilon}, {"pool_size", a.pool_size},       {"reward", opt(a.reward)},
            {"shown", shown},       {"reward_hat", opt(a.reward_hat)}};
  j["pool"] = why.recall ? pool_json(why) : json(nullptr);
  j["coins"] = why.recall ? json(why.recall->coins) : json(nullptr);
  j["cut"] = why.recall ? cut_json(why.recall->cut) : json(nullptr);
  j["left_out"] = why.recall ? cut_json(why.recall->left_out) : json(nullptr);
  return j;
}

Result<std::string> memory_why_text(Store& store, AttemptId id) {
  EVK_TRY(const Why why, why_of(store, id));
  const AttemptBrief& a = why.attempt;
  std::string text = fmt::format(
      "attempt {}: {} of {} in sweep {}; ended with {}\npool of {} items (lambda {}), epsilon {:.3f}: a slot "
      "whose coin falls below it is filled by chance\n\n",
      id.number, name_of(a.stage), a.task.text, a.sweep, a.code.empty() ? "no verdict" : a.code, a.pool_size,
      a.lambda, a.epsilon);
  if (why.recall) {
    text += fmt::format("  {:>7} {:<11} {:<26} {:>8} {:>8} {:>8}  outcome\n", "item", "kind", "of", "similar",
                        "value", "score");
    for (const auto& r : why.recall->pool) text += pool_line(why, r);
    text += cut_text(why);
  } else {
    text += "  the pool was not recorded: nothing was recalled, or an earlier version wrote this store\n";
  }
  text += "\nshown besides\n";
  for (const auto& u : why.uses)
    if (!why.in_pool(u.item))
      text += fmt::format("  {:>7} {:<11} {:<26} {:>8.3f} {:>+8.3f}  {}\n", u.item.number,
                          name_of(why.brief(u.item).kind), why.brief(u.item).name, u.similarity, u.value,
                          u.selected_by);
  text += "\nlearnt\n";
  if (a.reward) text += fmt::format("  reward {:+.3f}", *a.reward);
  if (a.reward_hat) text += fmt::format(", normalised {:+.3f}", *a.reward_hat);
  text += "\n";
  for (const auto& u : why.uses)
    if (u.q_after)
      text += fmt::format("  item {}: Q {:+.3f} -> {:+.3f}\n", u.item.number, *u.q_before, *u.q_after);
  return text;
}

}  // namespace evk
