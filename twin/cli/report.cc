#include "twin/cli/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "twin/cli/tensors.h"

namespace evk::twin {
namespace {

constexpr std::size_t kLinesShown = 10;

const char* end_text(RunEnd end) {
  switch (end) {
    case RunEnd::kComplete:
      return "complete";
    case RunEnd::kTilingFailed:
      return "tiling failed";
    case RunEnd::kAborted:
      return "aborted";
    case RunEnd::kTimedOut:
      return "timed out";
    case RunEnd::kRunaway:
      return "runaway";
  }
  return "aborted";
}

nlohmann::json json_of(const Finding& f) {
  return {{"code", f.code},
          {"message", f.message},
          {"remedy", f.remedy},
          {"file", f.file},
          {"line", f.line},
          {"other_file", f.other_file},
          {"other_line", f.other_line},
          {"block", f.block},
          {"count", f.count},
          {"note", f.note}};
}

nlohmann::json json_of(const RunProfile& p) {
  nlohmann::json lines = nlohmann::json::array();
  for (const auto& l : p.lines)
    lines.push_back({{"where", l.where}, {"pipe", l.pipe}, {"busy", l.busy}, {"stalled", l.stalled}});
  return {{"total_ns", p.total_ns},
          {"launch_ns", p.launch_ns},
          {"total_cycles", p.total_cycles},
          {"block_dim", p.block_dim},
          {"aiv_vec_ratio", p.vec_ratio},
          {"aiv_scalar_ratio", p.scalar_ratio},
          {"aiv_mte2_ratio", p.mte2_ratio},
          {"aiv_mte3_ratio", p.mte3_ratio},
          {"gm_read_bytes", p.gm_read_bytes},
          {"gm_write_bytes", p.gm_write_bytes},
          {"dma_count", p.dma_count},
          {"vector_instructions", p.vector_instructions},
          {"scalar_accesses", p.scalar_accesses},
          {"inserted_syncs", p.inserted_syncs},
          {"ub_peak_bytes", p.ub_peak_bytes},
          {"bank_conflict_ratio", p.bank_conflict_ratio},
          {"block_imbalance", p.block_imbalance},
          {"lines", lines}};
}

// Of outputs that were written: none in timing-only runs.
nlohmann::json json_of(const LaunchTensor& t, const std::vector<std::byte>& bytes) {
  nlohmann::json j = {{"name", t.name}, {"type", type_name(t.dtype)}, {"shape", t.shape}};
  if (bytes.empty()) return j;
  const TensorSummary s = summarise(t.dtype, bytes);
  j.update(
      {{"min", s.min}, {"max", s.max}, {"mean", s.mean}, {"nans", s.nans}, {"infinities", s.infinities}});
  return j;
}

void show_finding(const Finding& f) {
  fmt::print("{}: {}:{}: [{}] {}", f.note ? "note" : "FINDING", f.file, f.line, f.code, f.message);
  if (f.other_line) fmt::print(" (other access: line {})", f.other_line);
  if (f.count > 1) fmt::print(" ({} times)", f.count);
  fmt::print("\n");
  if (!f.remedy.empty()) fmt::print("    remedy: {}\n", f.remedy);
}

void show_output(const LaunchTensor& t, const std::vector<std::byte>& bytes) {
  fmt::print("{} {} {}", t.name, type_name(t.dtype), sizes_text(t.shape));
  if (bytes.empty()) return fmt::print(": no contents\n");
  const TensorSummary s = summarise(t.dtype, bytes);
  fmt::print(": min {:.6g}, max {:.6g}, mean {:.6g}", s.min, s.max, s.mean);
  if (s.nans || s.infinities) fmt::print(", {} NaN, {} infinite", s.nans, s.infinities);
  fmt::print("; begins {:.6g}\n", fmt::join(s.first, " "));
}

}  // namespace

nlohmann::json to_json(const RunReport& r, const std::vector<LaunchTensor>& outputs) {
  nlohmann::json findings = nlohmann::json::array(), made = nlohmann::json::array();
  for (const auto& f : r.findings) findings.push_back(json_of(f));
  for (std::size_t j = 0; j < outputs.size() && j < r.outputs.size(); ++j)
    made.push_back(json_of(outputs[j], r.outputs[j]));
  return {{"schema", 1},
          {"end", end_text(r.end)},
          {"simulated", true},
          {"findings", findings},
          {"outputs", made},
          {"printed", r.printed},
          {"tiling_key", r.tiling_key},
          {"workspace_bytes", r.workspace_bytes},
          {"records", r.records},
          {"trace_hash", r.trace_hash},
          {"profile", json_of(r.profile)}};
}

void show(const RunReport& r, const std::vector<LaunchTensor>& outputs) {
  const RunProfile& p = r.profile;
  fmt::print("{}; {} blocks; simulated time {:.2f} us + launch {:.2f} us\n", end_text(r.end), p.block_dim,
             p.total_ns / 1e3, p.launch_ns / 1e3);
  fmt::print("busy: vector {:.0f} %, scalar {:.0f} %, load {:.0f} %, store {:.0f} %; UB peak {} bytes\n",
             100 * p.vec_ratio, 100 * p.scalar_ratio, 100 * p.mte2_ratio, 100 * p.mte3_ratio,
             p.ub_peak_bytes);
  for (const auto& f : r.findings) show_finding(f);
  if (r.end == RunEnd::kComplete)
    for (std::size_t j = 0; j < outputs.size() && j < r.outputs.size(); ++j)
      show_output(outputs[j], r.outputs[j]);
  if (!p.lines.empty()) fmt::print("most expensive lines (all blocks, cycles):\n");
  for (std::size_t i = 0; i < p.lines.size() && i < kLinesShown; ++i) {
    const auto& l = p.lines[i];
    fmt::print("  {:<40} {:<5} busy {:>10.0f}  stalled {:>10.0f}\n",
               l.where.empty() ? "(start of blocks)" : l.where, l.pipe, l.busy, l.stalled);
  }
  if (!r.printed.empty()) fmt::print("printed by the kernel:\n{}\n", r.printed);
}

}  // namespace evk::twin
