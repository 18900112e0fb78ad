#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace evk {
namespace {

using nlohmann::json;

Result<std::vector<ItemPtr>> shared_items(Store& store) {
  EVK_TRY(auto items, store.items());
  std::vector<ItemPtr> list;
  for (auto& item : items) list.push_back(std::make_shared<const MemoryItem>(std::move(item)));
  return list;
}

void count(TaskRow& row, const Attempt& a) {
  const Verdict& verdict = *a.verdict;
  ++row.attempts;
  row.last_gate = gate_of(verdict);
  row.last_code = code_of(verdict);
  if (is_compiled(verdict) && !row.first_compiled_sweep) row.first_compiled_sweep = a.sweep;
  if (!is_feasible(verdict)) return;
  if (!row.first_feasible_sweep) row.first_feasible_sweep = a.sweep;
  if (!row.best_attempt) row.best_attempt = a.id.number;
  const auto latency = latency_ns(verdict);
  if (!latency) return;
  row.simulated = std::get<Measured>(verdict.outcome).simulated;
  if (!row.first_latency_ns) row.first_latency_ns = latency;
  if (!row.best_latency_ns || *latency < *row.best_latency_ns) {
    row.best_latency_ns = latency;
    row.best_attempt = a.id.number;
  }
}

std::string stage_of(const TaskRow& row) {
  if (row.best_latency_ns && row.first_latency_ns && *row.best_latency_ns < *row.first_latency_ns)
    return "refined";
  if (row.first_feasible_sweep) return "feasible";
  return row.first_compiled_sweep ? "compiled" : "none";
}

std::vector<SweepRow> curve_of(const std::vector<TaskRow>& tasks, const std::vector<StoredAttempt>& log) {
  std::vector<SweepRow> curve;
  for (const auto& [attempt, learnt] : log) {
    while (static_cast<std::int64_t>(curve.size()) < attempt.sweep)
      curve.push_back({static_cast<std::int64_t>(curve.size()) + 1});
    ++curve[static_cast<std::size_t>(attempt.sweep) - 1].attempts;
  }
  for (auto& row : curve)
    for (const auto& task : tasks) {
      row.compiled += task.first_compiled_sweep && *task.first_compiled_sweep <= row.sweep;
      row.feasible += task.first_feasible_sweep && *task.first_feasible_sweep <= row.sweep;
    }
  return curve;
}

std::vector<ValueRow> values_of(const std::vector<ItemPtr>& items,
                                const std::map<std::pair<Stage, ItemId>, ItemValue>& values) {
  std::map<std::pair<std::string, std::string>, std::vector<double>> used;
  std::map<std::string, std::int64_t> total;
  for (const auto& item : items) ++total[std::string(name_of(item->kind))];
  for (const auto& [key, value] : values)
    used[{std::string(name_of(key.first)),
          std::string(name_of(items[static_cast<std::size_t>(key.second.number) - 1]->kind))}]
        .push_back(value.q);
  std::vector<ValueRow> rows;
  for (auto& [key, qs] : used) {
    std::sort(qs.begin(), qs.end());
    rows.push_back({key.first, key.second, total[key.second], static_cast<std::int64_t>(qs.size()),
                    qs.front(), qs[qs.size() / 2], qs.back()});
  }
  return rows;
}

std::string maybe(const std::optional<double>& ns) { return ns ? duration_text(*ns) : "-"; }
json maybe_json(const std::optional<double>& v) { return v ? json(*v) : json(nullptr); }
json maybe_json(const std::optional<std::int64_t>& v) { return v ? json(*v) : json(nullptr); }

std::string speedup_text(const TaskRow& row) {
  return row.first_latency_ns && row.best_latency_ns
             ? fmt::format("{:.2f}x", *row.first_latency_ns / *row.best_latency_ns)
             : "-";
}

std::string saved_in(const std::map<std::string, std::string>& saved, const std::string& task) {
  const auto found = saved.find(task);
  return found == saved.end() ? "-" : found->second;
}

std::string table_text(const Report& report, const std::map<std::string, std::string>& saved) {
  std::size_t width = 4;
  for (const auto& row : report.tasks) width = std::max(width, row.task.size());
  std::string text = fmt::format("{:<{}}  {:<8}  {:>8}  {:>14}  {:>10}  {:>10}  {:>8}  {}\n", "task", width,
                                 "stage", "attempts", "first feasible", "first", "best", "speedup", "kernel");
  for (const auto& row : report.tasks) {
    const std::string place = row.first_feasible_sweep
                                  ? saved_in(saved, row.task)
                                  : fmt::format("last: {} [{}]", row.last_gate, row.last_code);
    text += fmt::format("{:<{}}  {:<8}  {:>8}  {:>14}  {:>10}  {:>10}  {:>8}  {}\n", row.task, width,
                        row.stage, row.attempts,
                        row.first_feasible_sweep ? fmt::format("sweep {}", *row.first_feasible_sweep) : "-",
                        maybe(row.first_latency_ns), maybe(row.best_latency_ns), speedup_text(row), place);
  }
  return text;
}

std::string curve_text(const Report& report) {
  std::string sweeps = "sweep   ", compiled = "compiled", feasible = "feasible";
  for (const auto& s : report.sweeps) {
    sweeps += fmt::format("{:>4}", s.sweep);
    compiled += fmt::format("{:>4}", s.compiled);
    feasible += fmt::format("{:>4}", s.feasible);
  }
  return sweeps + "\n" + compiled + "\n" + feasible + "\n";
}

}  // namespace

std::string duration_text(double ns) {
  const auto digits = [](double v) { return v < 10 ? 2 : v < 100 ? 1 : 0; };
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.{}f} us", ns / 1e3, digits(ns / 1e3));
  return fmt::format("{:.{}f} ms", ns / 1e6, digits(ns / 1e6));
}

Result<Report> make_report(Store& store) {
  Report report;
  EVK_TRY(report.config, store.meta());
  EVK_TRY(const auto tasks, store.tasks());
  EVK_TRY(const auto items, shared_items(store));
  EVK_TRY(const auto log, store.attempts(items));
  EVK_TRY(const auto values, store.values());
  EVK_TRY(auto ledger, store.ledger());
  EVK_TRY(report.wall_ms_mean, store.wall_ms_mean());
  EVK_TRY(report.fingerprint, store.fingerprint());
  std::map<std::string, std::size_t> row_of;
  for (const auto& task : tasks) {
    row_of[task.id.text] = report.tasks.size();
    report.tasks.push_back({task.id.text, task.category});
  }
  for (const auto& [attempt, learnt] : log) {
    ++report.attempts;
    const auto row = row_of.find(attempt.task.text);
    if (row == row_of.end())
      return failure(
          fmt::format("store: attempt {} names unknown task {}", attempt.id.number, attempt.task.text));
    if (attempt.verdict)
      count(report.tasks[row->second], attempt);
    else
      ++report.infrastructure_errors;
  }
  for (auto& row : report.tasks) row.stage = stage_of(row);
  report.sweeps = curve_of(report.tasks, log);
  report.values = values_of(items, values);
  report.costs = costs_of(std::move(ledger));
  return report;
}

std::optional<double> mean_speedup(const Report& report) {
  double sum = 0;
  int n = 0;
  for (const auto& row : report.tasks)
    if (row.first_latency_ns && row.best_latency_ns) {
      sum += std::log(*row.first_latency_ns / *row.best_latency_ns);
      ++n;
    }
  return n ? std::optional(std::exp(sum / n)) : std::nullopt;
}

std::string to_text(const Report& report, const std::map<std::string, std::string>& saved) {
  const auto solved = std::count_if(report.tasks.begin(), report.tasks.end(),
                                    [](const TaskRow& r) { return r.first_feasible_sweep.has_value(); });
  std::string text = table_text(report, saved) + "\n" + curve_text(report) + "\n" + to_text(report.costs);
  text +=
      fmt::format("{} of {} tasks feasible after {} attempts", solved, report.tasks.size(), report.attempts);
  if (!report.sweeps.empty()) text += fmt::format("; {} in the first sweep", report.sweeps.front().feasible);
  if (const auto speedup = mean_speedup(report))
    text += fmt::format("; mean speedup within the operator {:.2f}x", *speedup);
  text += ".\nLatencies are simulated on the NPU twin.\n";
  if (report.infrastructure_errors)
    text += fmt::format("{} attempts ended without a verdict (infrastructure); they used no budget.\n",
                        report.infrastructure_errors);
  for (const auto& v : report.values)
    text +=
        fmt::format("values {:<6} {:<10}  {} of {} items used; Q low {:.2f}, median {:.2f}, high {:.2f}\n",
                    v.stage, v.kind, v.used, v.items, v.low, v.median, v.high);
  return text + fmt::format("seed {}; fingerprint {}\n",
                            report.config.count("seed") ? report.config.at("seed") : "?", report.fingerprint);
}

json to_json(const Report& report, const std::map<std::string, std::string>& saved) {
  json tasks = json::array(), sweeps = json::array(), values = json::array();
  json cost = to_json(report.costs);
  cost["infrastructure_errors"] = report.infrastructure_errors;
  cost["wall_ms_mean"] = report.wall_ms_mean;
  for (const auto& r : report.tasks)
    tasks.push_back({{"task", r.task},
                     {"category", r.category},
                     {"stage", r.stage},
                     {"feasible", r.first_feasible_sweep.has_value()},
                     {"attempts", r.attempts},
                     {"first_compiled_sweep", maybe_json(r.first_compiled_sweep)},
                     {"first_feasible_sweep", maybe_json(r.first_feasible_sweep)},
                     {"first_latency_ns", maybe_json(r.first_latency_ns)},
                     {"best_latency_ns", maybe_json(r.best_latency_ns)},
                     {"best_attempt", maybe_json(r.best_attempt)},
                     {"simulated", r.simulated},
                     {"last_gate", r.last_gate},
                     {"last_code", r.last_code},
                     {"kernel", saved.count(r.task) ? json(saved.at(r.task)) : json(nullptr)}});
  for (const auto& s : report.sweeps)
    sweeps.push_back(
        {{"sweep", s.sweep}, {"attempts", s.attempts}, {"compiled", s.compiled}, {"feasible", s.feasible}});
  for (const auto& v : report.values)
    values.push_back({{"stage", v.stage},
                      {"kind", v.kind},
                      {"items", v.items},
                      {"used", v.used},
                      {"q_low", v.low},
                      {"q_median", v.median},
                      {"q_high", v.high}});
  return {{"schema", 1},
          {"tasks", tasks},
          {"sweeps", sweeps},
          {"values", values},
          {"config", report.config},
          {"seed", report.config.count("seed") ? report.config.at("seed") : ""},
          {"cost", cost},
          {"speedup_mean", maybe_json(mean_speedup(report))},
          {"fingerprint", report.fingerprint}};
}

Result<std::vector<BestKernel>> best_kernels(Store& store) {
  EVK_TRY(const auto report, make_report(store));
  EVK_TRY(const auto items, shared_items(store));
  EVK_TRY(const auto log, store.attempts(items));
  std::vector<BestKernel> kernels;
  for (const auto& row : report.tasks)
    if (row.best_attempt)
      kernels.push_back({row.task, *row.best_attempt, row.best_latency_ns,
                         log[static_cast<std::size_t>(*row.best_attempt) - 1].attempt.candidate.files});
  return kernels;
}

}  // namespace evk
