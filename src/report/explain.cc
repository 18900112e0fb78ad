#include "report/explain.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/costs.h"

namespace evk {
namespace {

using nlohmann::json;

struct Log {
  std::vector<ItemPtr> items;
  std::vector<StoredAttempt> attempts;
  std::vector<LedgerRow> ledger;  // of the same order
};

Result<Log> log_of(Store& store) {
  Log log;
  EVK_TRY(auto items, store.items());
  for (auto& item : items) log.items.push_back(std::make_shared<const MemoryItem>(std::move(item)));
  EVK_TRY(log.attempts, store.attempts(log.items));
  EVK_TRY(log.ledger, store.ledger());
  return log;
}

Result<const StoredAttempt*> attempt_of(const Log& log, AttemptId id) {
  if (id.number < 1 || id.number > static_cast<std::int64_t>(log.attempts.size()))
    return failure(
        fmt::format("there is no attempt {}; the store holds 1 to {}", id.number, log.attempts.size()));
  return &log.attempts[static_cast<std::size_t>(id.number) - 1];
}

// REQUIRES: the attempt is there.
const LedgerRow& cost_in(const Log& log, AttemptId id) {
  return log.ledger[static_cast<std::size_t>(id.number) - 1];
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
  text += "\ncost: " + cost_line(cost_in(log, id)) + "\n";
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
              {"cost", cost_json(cost_in(log, id))},
              {"reward", opt(l.reward)},
              {"reward_hat", opt(l.reward_hat)},
              {"best_before_ns", opt(l.best_before)},
              {"best_after_ns", opt(l.best_after)},
              {"changes", changes_json(l.changes)}};
}

}  // namespace evk
