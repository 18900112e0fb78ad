// Figures of a campaign, all from its store.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/costs.h"
#include "store/store.h"

namespace evk {

struct TaskRow {
  std::string task, category;
  std::string stage;          // furthest: "none", "compiled", "feasible", "refined"
  std::int64_t attempts = 0;  // that used budget
  std::optional<std::int64_t> first_compiled_sweep, first_feasible_sweep;
  std::optional<double> first_latency_ns, best_latency_ns;
  std::optional<std::int64_t> best_attempt;
  bool simulated = true;
  std::string last_gate, last_code;  // where the last attempt ended
};

struct SweepRow {
  std::int64_t sweep = 0, attempts = 0;
  std::int64_t compiled = 0, feasible = 0;  // tasks so far, cumulative
};

// Values of one stage and item kind (asked for by users of such memories: is anything learnt?).
struct ValueRow {
  std::string stage, kind;
  std::int64_t items = 0, used = 0;
  double low = 0, median = 0, high = 0;  // of the used ones
};

struct Report {
  std::vector<TaskRow> tasks;
  std::vector<SweepRow> sweeps;
  std::vector<ValueRow> values;
  Costs costs;
  std::map<std::string, std::string> config;
  std::map<std::string, double> wall_ms_mean;
  std::int64_t attempts = 0, infrastructure_errors = 0;
  std::string fingerprint;
};

Result<Report> make_report(Store& store);

// Geometric mean of first / best latency over the tasks with both; unset if none.
std::optional<double> mean_speedup(const Report& report);

// For a terminal: a table, a summary, the curve by sweep. `saved` names where kernels were written, by task;
// may be empty.
std::string to_text(const Report& report, const std::map<std::string, std::string>& saved);
nlohmann::json to_json(const Report& report, const std::map<std::string, std::string>& saved);

// The files of the best kernel of each feasible task.
struct BestKernel {
  std::string task;
  std::int64_t attempt = 0;
  std::optional<double> latency_ns;
  std::vector<SourceFile> files;
};
Result<std::vector<BestKernel>> best_kernels(Store& store);

// "12.3 us": three digits with a fitting unit.
std::string duration_text(double ns);

}  // namespace evk
