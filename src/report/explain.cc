#include "report/explain.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/report.h"

namespace evk {
namespace {

using nlohmann::json;

struct Log {
  std::vector<ItemPtr> items;
  std::vector<StoredAttempt> attempts;
};

Result<Log> log_of(Store& store) {
  Log log;
  EVK_TRY(auto items, store.items());
  for (auto& item : items) log.items.push_back(std::make_shared<const MemoryItem>(std::move(item)));
  EVK_TRY(log.attempts, store.attempts(log.items));
  return log;
}

Result<const StoredAttempt*> attempt_of(const Log& log, AttemptId id) {
  if (id.number < 1 || id.number > static_cast<std::int64_t>(log.attempts.size()))
    return failure(
        fmt::format("there is no attempt {}; the store holds 1 to {}", id.number, log.attempts.size()));
  return &log.attempts[static_cast<std::size_t>(id.number) - 1];
}

Result<const MemoryItem*> item_of(const Log& log, ItemId id) {
  if (id.number < 1 || id.number > static_cast<std::int64_t>(log.items.size()))
    return failure(fmt::format("there is no item {}; the store holds 1 to {}", id.number, log.items.size()));
  return log.items[static_cast<std::size_t>(id.number) - 1].get();
}

std::string context_text(const Context& context) {
  std::string text = fmt::format("  pool {} items (lambda {}), epsilon {:.3f}\n", context.pool_size,
                                 context.lambda, context.epsilon);
  for (const auto& c : context.items)
    text +=
        fmt::format("  {:<12} item {:<5} {:<10} {:<28} similarity {:.3f}  Q {:+.3f}  propensity {:.3f}{}\n",
                    name_of(c.by), c.item->id.number, name_of(c.item->kind), c.item->name, c.similarity,
                    c.value, c.propensity, c.updated ? "  updated" : "");
  return text;
}

std::string facts_text(const std::vector<Fact>& facts) {
  std::string text;
  for (const auto& f : facts)
    text += fmt::format("  {} {}={}\n", f.works ? "shows" : "avoid", f.choice.construct, f.choice.form);
  return text;
}

json context_json(const Context& context) {
  json items = json::array();
  for (const auto& c : context.items)
    items.push_back({{"item", c.item->id.number},
                     {"kind", name_of(c.item->kind)},
                     {"name", c.item->name},
                     {"selected_by", name_of(c.by)},
                     {"slot", c.slot},
                     {"similarity", c.similarity},
                     {"value", c.value},
                     {"propensity", c.propensity},
                     {"updated", c.updated}});
  return {{"stage", name_of(context.stage)},
          {"pool_size", context.pool_size},
          {"lambda", context.lambda},
          {"epsilon", context.epsilon},
          {"items", items}};
}

json changes_json(const std::vector<ValueChange>& changes) {
  json list = json::array();
  for (const auto& c : changes)
    list.push_back({{"stage", name_of(c.stage)},
                    {"item", c.item.number},
                    {"q_before", c.before.q},
                    {"n_before", c.before.n},
                    {"q", c.after.q},
                    {"n", c.after.n}});
  return list;
}

json files_json(const std::vector<SourceFile>& files) {
  json list = json::array();
  for (const auto& f : files) list.push_back({{"path", f.path}, {"text", f.text}});
  return list;
}

json opt(const std::optional<double>& v) { return v ? json(*v) : json(nullptr); }

}  // namespace

Result<std::string> explain_text(Store& store, AttemptId id, bool with_prompt) {
  EVK_TRY(const auto log, log_of(store));
  EVK_TRY(const StoredAttempt* found, attempt_of(log, id));
  const auto& [a, l] = *found;
  std::string text =
      fmt::format("attempt {}: {} of {} in sweep {}, answered by {}\n\nshown\n{}", id.number,
                  name_of(a.context.stage), a.task.text, a.sweep, a.answer.model, context_text(a.context));
  text += "\nchoices\n";
  for (const auto& c : a.candidate.choices) text += fmt::format("  {}={}\n", c.construct, c.form);
  if (!a.candidate.hypothesis.empty()) text += "  hypothesis: " + a.candidate.hypothesis + "\n";
  text += "\nverdict\n" + (a.verdict ? feedback_of(*a.verdict) : "none: " + a.infrastructure_error + "\n");
  if (l.reward) text += fmt::format("\nreward {:+.3f}", *l.reward);
  if (l.reward_hat)
    text += fmt::format(", normalised {:+.3f} (mean {:.3f} of {} rewards)", *l.reward_hat, l.normaliser.mean,
                        l.normaliser.n);
  text += "\n";
  for (const auto& c : l.changes)
    text += fmt::format("  Q{} of item {}: {:+.3f} -> {:+.3f} (use {})\n", static_cast<int>(c.stage),
                        c.item.number, c.before.q, c.after.q, c.after.n);
  for (const auto& f : a.candidate.files) text += fmt::format("\n--- {}\n{}", f.path, f.text);
  if (with_prompt) text += "\n--- prompt\n" + a.prompt + "\n";
  return text;
}

Result<json> explain_json(Store& store, AttemptId id) {
  EVK_TRY(const auto log, log_of(store));
  EVK_TRY(const StoredAttempt* found, attempt_of(log, id));
  const auto& [a, l] = *found;
  json choices = json::array();
  for (const auto& c : a.candidate.choices) choices.push_back({c.construct, c.form});
  return json{{"schema", 1},
              {"attempt", id.number},
              {"task", a.task.text},
              {"sweep", a.sweep},
              {"model", a.answer.model},
              {"context", context_json(a.context)},
              {"prompt", a.prompt},
              {"answer", a.answer.text},
              {"choices", choices},
              {"hypothesis", a.candidate.hypothesis},
              {"files", files_json(a.candidate.files)},
              {"verdict", a.verdict ? to_json(*a.verdict) : json(nullptr)},
              {"infrastructure_error", a.infrastructure_error},
              {"reward", opt(l.reward)},
              {"reward_hat", opt(l.reward_hat)},
              {"best_before_ns", opt(l.best_before)},
              {"best_after_ns", opt(l.best_after)},
              {"changes", changes_json(l.changes)}};
}

Result<json> memory_stats_json(Store& store) {
  EVK_TRY(const auto report, make_report(store));
  EVK_TRY(const auto items, store.items());
  std::map<std::string, std::map<std::string, int>> count;
  for (const auto& item : items) ++count[std::string(name_of(item.kind))][item.source];
  json kinds = json::object(), values = json::array();
  for (const auto& [kind, by_source] : count) kinds[kind] = by_source;
  for (const auto& v : report.values)
    values.push_back({{"stage", v.stage},
                      {"kind", v.kind},
                      {"items", v.items},
                      {"used", v.used},
                      {"q_low", v.low},
                      {"q_median", v.median},
                      {"q_high", v.high}});
  return json{{"schema", 1}, {"items", items.size()}, {"kinds", kinds}, {"values", values}};
}

Result<std::string> memory_stats_text(Store& store) {
  EVK_TRY(const json stats, memory_stats_json(store));
  std::string text = fmt::format("{} items\n", stats["items"].get<std::size_t>());
  for (const auto& [kind, by_source] : stats["kinds"].items()) {
    text += fmt::format("  {:<10}", kind);
    for (const auto& [source, n] : by_source.items()) text += fmt::format("  {} {}", n.get<int>(), source);
    text += "\n";
  }
  for (const auto& v : stats["values"])
    text += fmt::format("  Q of {:<10} in {:<6}: {} of {} used; low {:+.3f}, median {:+.3f}, high {:+.3f}\n",
                        v["kind"].get<std::string>(), v["stage"].get<std::string>(), v["used"].get<int>(),
                        v["items"].get<int>(), v["q_low"].get<double>(), v["q_median"].get<double>(),
                        v["q_high"].get<double>());
  return text;
}

Result<json> memory_item_json(Store& store, ItemId id) {
  EVK_TRY(const auto log, log_of(store));
  EVK_TRY(const MemoryItem* item, item_of(log, id));
  EVK_TRY(const auto values, store.values());
  json facts = json::array(), q = json::object(), history = json::array();
  for (const auto& f : item->facts)
    facts.push_back({{"construct", f.choice.construct}, {"form", f.choice.form}, {"works", f.works}});
  for (const auto stage : {Stage::kDraft, Stage::kRefine})
    if (const auto v = values.find({stage, id}); v != values.end())
      q[std::string(name_of(stage))] = {
          {"q", v->second.q},
          {"n", v->second.n},
          {"mean_reward", v->second.sum_r / static_cast<double>(std::max<std::int64_t>(1, v->second.n))}};
  for (const auto& [a, l] : log.attempts)
    for (const auto& c : l.changes)
      if (c.item == id)
        history.push_back({{"attempt", a.id.number},
                           {"task", a.task.text},
                           {"stage", name_of(c.stage)},
                           {"q_before", c.before.q},
                           {"q", c.after.q}});
  return json{{"schema", 1},
              {"item", id.number},
              {"kind", name_of(item->kind)},
              {"name", item->name},
              {"source", item->source},
              {"title", item->title},
              {"category", item->category},
              {"text", item->text},
              {"facts", facts},
              {"names", item->names},
              {"answers", item->answers},
              {"feasible", item->feasible},
              {"latency_ns", opt(item->latency_ns)},
              {"gate", item->gate},
              {"code", item->code},
              {"bottleneck", item->bottleneck},
              {"created_sweep", item->created_sweep},
              {"files", files_json(item->files)},
              {"values", q},
              {"history", history}};
}

Result<std::string> memory_item_text(Store& store, ItemId id) {
  EVK_TRY(const auto log, log_of(store));
  EVK_TRY(const MemoryItem* item, item_of(log, id));
  EVK_TRY(const json j, memory_item_json(store, id));
  std::string text = fmt::format("item {}: {} {} ({})\n{}\n\n{}\n", id.number, name_of(item->kind),
                                 item->name, item->source, item->title, item->text);
  text += facts_text(item->facts);
  for (const auto& [stage, v] : j["values"].items())
    text += fmt::format("Q in {}: {:+.3f} after {} uses, mean reward {:+.3f}\n", stage, v["q"].get<double>(),
                        v["n"].get<std::int64_t>(), v["mean_reward"].get<double>());
  for (const auto& h : j["history"])
    text += fmt::format("  attempt {} ({}, {}): {:+.3f} -> {:+.3f}\n", h["attempt"].get<std::int64_t>(),
                        h["task"].get<std::string>(), h["stage"].get<std::string>(),
                        h["q_before"].get<double>(), h["q"].get<double>());
  return text;
}

}  // namespace evk
