#include "report/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/report.h"

namespace evk {
namespace {

using nlohmann::json;

bool has_tokens(const LedgerRow& row) { return row.prompt_tokens + row.answer_tokens > 0; }

void add(CostSum& sum, const LedgerRow& row) {
  ++sum.attempts;
  sum.calls += row.calls;
  sum.prompt_tokens += row.prompt_tokens;
  sum.answer_tokens += row.answer_tokens;
  sum.cached_tokens += row.cached_tokens;
  if (row.usd) sum.usd = sum.usd.value_or(0) + *row.usd;
  sum.unpriced += !row.usd && has_tokens(row);
  sum.generate_ms += row.generate_ms;
  sum.wall_ms += row.wall_ms;
}

std::string usd_text(const CostSum& sum) {
  if (!sum.usd) return "-";
  return fmt::format("{:.4f}{}", *sum.usd, sum.unpriced ? "+" : "");
}

std::string line(const std::string& name, std::size_t width, const CostSum& s) {
  return fmt::format("{:<{}}  {:>8}  {:>6}  {:>10}  {:>10}  {:>10}  {:>10}  {:>9}  {:>9}\n", name, width,
                     s.attempts, s.calls, s.prompt_tokens, s.cached_tokens, s.answer_tokens, usd_text(s),
                     duration_text(s.generate_ms * 1e6), duration_text(s.wall_ms * 1e6));
}

json sum_json(const CostSum& s) {
  return {{"attempts", s.attempts},
          {"calls", s.calls},
          {"prompt_tokens", s.prompt_tokens},
          {"cached_tokens", s.cached_tokens},
          {"answer_tokens", s.answer_tokens},
          {"usd", s.usd ? json(*s.usd) : json(nullptr)},
          {"unpriced", s.unpriced},
          {"generate_ms", s.generate_ms},
          {"wall_ms", s.wall_ms}};
}

}  // namespace

Costs costs_of(std::vector<LedgerRow> ledger) {
  Costs costs;
  for (const auto& row : ledger) {
    add(costs.total, row);
    add(costs.by_task[row.task.text], row);
    if (!row.model.empty()) add(costs.by_model[{row.model, std::string(name_of(row.stage))}], row);
  }
  costs.attempts = std::move(ledger);
  return costs;
}

std::string to_text(const Costs& costs) {
  if (costs.total.prompt_tokens + costs.total.answer_tokens == 0) return "";
  std::map<std::string, CostSum> rows;
  std::size_t width = 4;
  for (const auto& [key, sum] : costs.by_model)
    width = std::max(width, key.first.size() + key.second.size() + 2);
  for (const auto& [task, sum] : costs.by_task) width = std::max(width, task.size());
  std::string text =
      fmt::format("{:<{}}  {:>8}  {:>6}  {:>10}  {:>10}  {:>10}  {:>10}  {:>9}  {:>9}\n", "cost", width,
                  "attempts", "calls", "tokens in", "cached", "out", "USD", "asking", "in all");
  for (const auto& [key, sum] : costs.by_model) text += line(key.first + ", " + key.second, width, sum);
  for (const auto& [task, sum] : costs.by_task) text += line(task, width, sum);
  text += line("all", width, costs.total);
  if (costs.total.unpriced)
    text +=
        fmt::format("{} attempts have tokens and no price; --prices FILE tells a run what its model costs.\n",
                    costs.total.unpriced);
  return text + "\n";
}

json to_json(const Costs& costs) {
  json made = sum_json(costs.total);
  json models = json::array(), tasks = json::array(), attempts = json::array();
  for (const auto& [key, sum] : costs.by_model) {
    models.push_back(sum_json(sum));
    models.back()["model"] = key.first;
    models.back()["stage"] = key.second;
  }
  for (const auto& [task, sum] : costs.by_task) {
    tasks.push_back(sum_json(sum));
    tasks.back()["task"] = task;
  }
  for (const auto& row : costs.attempts) attempts.push_back(cost_json(row));
  made["by_model"] = std::move(models);
  made["by_task"] = std::move(tasks);
  made["by_attempt"] = std::move(attempts);
  return made;
}

std::string cost_line(const LedgerRow& row) {
  return fmt::format(
      "{} tokens asked ({} cached), {} answered, {} call{}, {}asking {}, verifying {}, in all {}",
      row.prompt_tokens, row.cached_tokens, row.answer_tokens, row.calls, row.calls == 1 ? "" : "s",
      row.usd ? fmt::format("{:.4f} USD, ", *row.usd) : "", duration_text(row.generate_ms * 1e6),
      duration_text(row.verify_ms * 1e6), duration_text(row.wall_ms * 1e6));
}

json cost_json(const LedgerRow& row) {
  return {{"attempt", row.attempt.number},
          {"task", row.task.text},
          {"stage", name_of(row.stage)},
          {"model", row.model},
          {"calls", row.calls},
          {"prompt_tokens", row.prompt_tokens},
          {"cached_tokens", row.cached_tokens},
          {"answer_tokens", row.answer_tokens},
          {"usd", row.usd ? json(*row.usd) : json(nullptr)},
          {"generate_ms", row.generate_ms},
          {"verify_ms", row.verify_ms},
          {"wall_ms", row.wall_ms}};
}

}  // namespace evk
