#include "twin/cli/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/random.h"
#include "twin/cli/report.h"

namespace evk::twin {
namespace {

constexpr std::uint32_t kOrderSize = 4096;  // more blocks than a launch on this chip makes sense with

// By the beginning of the code; the first that fits counts.
constexpr std::pair<const char*, const char*> kClasses[] = {
    {"race_", "hazard"},
    {"block_conflict", "hazard"},
    {"overlapping_copies", "hazard"},
    {"uninitialised_read", "hazard"},
    {"cache_not_cleaned", "hazard"},
    {"operands_overlap", "hazard"},
    {"gm_", "bounds"},
    {"chip_out_of_bounds", "bounds"},
    {"buffer_overrun", "bounds"},
    {"misaligned", "bounds"},
    {"datacopy_count_rounded", "bounds"},
    {"compare_tail", "bounds"},
    {"gather_offset", "bounds"},
    {"ub_", "capacity"},
    {"too_many_buffers", "capacity"},
    {"workspace_too_large", "capacity"},
    {"tiling_too_large", "capacity"},
    {"out_of_memory", "capacity"},
    {"queue_", "queue"},
    {"buffer_use_after_free", "queue"},
    {"flag_", "sync"},
    {"wait_without_set", "sync"},
    {"sync_all_", "sync"},
    {"cross_", "sync"},
    {"dtype_unsupported", "instruction"},
    {"unsupported_instruction", "instruction"},
    {"vector_on_gm", "instruction"},
    {"wrong_core", "instruction"},
    {"copy_", "instruction"},
    {"cast_mode_unsupported", "instruction"},
    {"atomic_dtype", "instruction"},
    {"output_", "result"},
};

Finding of_output(const char* code, std::string message, const char* remedy, bool note = false) {
  Finding f;
  f.code = code;
  f.message = std::move(message);
  f.remedy = remedy;
  f.note = note;
  return f;
}

void add_missing_end(CheckReport& report) {
  if (report.end == RunEnd::kComplete || !report.clean()) return;
  const bool late = report.end == RunEnd::kTimedOut || report.end == RunEnd::kRunaway;
  report.findings.push_back(of_output(
      late ? "endless" : "ended_early",
      late ? "the kernel did not come to its end in the time or the instructions it may take"
           : "the program ended before the kernel did",
      late ? "look for a loop that does not end, or launch smaller shapes" : "let every block return"));
}

void add_unwritten(CheckReport& report, const Launch& launch, const RunReport& run) {
  for (std::size_t j = 0; j < run.unwritten_bytes.size() && j < launch.outputs.size(); ++j)
    if (run.unwritten_bytes[j] > 0)
      report.findings.push_back(
          of_output("output_unwritten",
                    fmt::format("{} of {} bytes of {} were never written", run.unwritten_bytes[j],
                                run.outputs[j].size(), launch.outputs[j].name),
                    "write every element; look at the last tile and the last block"));
}

// Findings that the report does not have yet.
void add_new(CheckReport& report, const std::vector<Finding>& found) {
  const auto place = [](const Finding& f) { return std::tie(f.code, f.file, f.line, f.other_line); };
  for (const Finding& f : found)
    if (std::none_of(report.findings.begin(), report.findings.end(),
                     [&](const Finding& known) { return place(known) == place(f); }))
      report.findings.push_back(f);
}

void compare_outputs(CheckReport& report, const Launch& launch, const RunReport& first,
                     const RunReport& other, const char* code, const std::string& what, const char* remedy,
                     bool note) {
  for (std::size_t j = 0; j < first.outputs.size() && j < other.outputs.size(); ++j) {
    const auto &a = first.outputs[j], &b = other.outputs[j];
    const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
    if (at == a.end()) continue;
    report.findings.push_back(of_output(
        code, fmt::format("{} differs from byte {} on when {}", launch.outputs[j].name, at - a.begin(), what),
        remedy, note));
  }
}

Status run_reversed(CheckReport& report, Launch launch, const RunReport& first, const Runner& run) {
  launch.block_order.resize(kOrderSize);
  std::iota(launch.block_order.rbegin(), launch.block_order.rend(), 0u);
  EVK_TRY(const RunReport reversed, run(launch));
  ++report.runs;
  add_new(report, reversed.findings);
  // A sum of floats that blocks add atomically depends on their order on the device too.
  compare_outputs(
      report, launch, first, reversed, "output_depends_on_order", "the blocks run in the opposite order",
      "let no block read what another writes without SyncAll; atomic sums of floats do this", true);
  return {};
}

Status run_with_other_bytes(CheckReport& report, Launch launch, const RunReport& first, const Runner& run) {
  launch.poison = mix(launch.poison, 1);
  EVK_TRY(const RunReport other, run(launch));
  ++report.runs;
  add_new(report, other.findings);
  compare_outputs(report, launch, first, other, "output_depends_on_memory",
                  "memories held other bytes before the launch",
                  "write buffers, workspace and outputs before they are read", false);
  return {};
}

}  // namespace

std::string class_of(const std::string& code) {
  for (const auto& [beginning, name] : kClasses)
    if (code.starts_with(beginning)) return name;
  return "program";
}

bool CheckReport::clean() const {
  return std::all_of(findings.begin(), findings.end(), [](const Finding& f) { return f.note; });
}

std::map<std::string, int> CheckReport::faults_by_class() const {
  std::map<std::string, int> counts = {{"program", 0}};
  for (const auto& [beginning, name] : kClasses) counts[name] = 0;
  for (const Finding& f : findings) counts[class_of(f.code)] += !f.note;
  return counts;
}

Result<CheckReport> check(const Launch& launch, const Runner& run) {
  EVK_TRY(const RunReport first, run(launch));
  CheckReport report{first.end, 1, first.findings};
  add_missing_end(report);
  if (first.end == RunEnd::kComplete) add_unwritten(report, launch, first);
  if (report.clean()) {
    EVK_TRY_STATUS(run_reversed(report, launch, first, run));
    EVK_TRY_STATUS(run_with_other_bytes(report, launch, first, run));
  }
  std::stable_partition(report.findings.begin(), report.findings.end(),
                        [](const Finding& f) { return !f.note; });
  return report;
}

CheckReport does_not_compile(const std::string& compiler_output) {
  CheckReport report;
  report.findings.push_back(of_output("does_not_compile", compiler_output, "see the compiler's output"));
  return report;
}

nlohmann::json to_json(const CheckReport& report) {
  nlohmann::json findings = nlohmann::json::array();
  for (const Finding& f : report.findings) {
    findings.push_back(json_of(f));
    findings.back()["class"] = class_of(f.code);
  }
  return {{"schema", 1},
          {"clean", report.clean()},
          {"end", end_text(report.end)},
          {"runs", report.runs},
          {"faults", report.faults_by_class()},
          {"findings", findings}};
}

void show(const CheckReport& report) {
  for (const Finding& f : report.findings) show_finding(f);
  std::string counts;
  for (const auto& [name, n] : report.faults_by_class())
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", name, n);
  fmt::print("{}; {} {}; faults: {}\n", report.clean() ? "clean" : "faulty", report.runs,
             report.runs == 1 ? "run" : "runs", counts);
}

}  // namespace evk::twin
