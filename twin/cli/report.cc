#include "twin/cli/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "twin/cli/tensors.h"

namespace evk::twin {
namespace {

constexpr std::size_t kLinesShown = 10;
constexpr double kDominant = 0.5, kIdle = 0.35, kManyConflicts = 0.1;

std::array<std::pair<const char*, double>, 4> pipes_of(const RunProfile& p) {
  return {{{"vec", p.vec_ratio}, {"scalar", p.scalar_ratio}, {"mte2", p.mte2_ratio}, {"mte3", p.mte3_ratio}}};
}
double bytes_of(const RunProfile& p) { return static_cast<double>(p.gm_read_bytes + p.gm_write_bytes); }
double bytes_per_ns(const RunProfile& p) { return p.total_ns > 0 ? bytes_of(p) / p.total_ns : 0; }
double mean_copy_bytes(const RunProfile& p) {
  return p.dma_count ? bytes_of(p) / static_cast<double>(p.dma_count) : 0;
}

nlohmann::json json_of(const RunProfile& p, const Device& device) {
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
          {"aiv_time_us", p.total_ns / 1e3},
          {"aiv_vec_time_us", p.vec_ratio * p.total_ns / 1e3},
          {"aiv_scalar_time_us", p.scalar_ratio * p.total_ns / 1e3},
          {"aiv_mte2_time_us", p.mte2_ratio * p.total_ns / 1e3},
          {"aiv_mte3_time_us", p.mte3_ratio * p.total_ns / 1e3},
          {"gm_bytes_per_ns", bytes_per_ns(p)},
          {"mean_copy_bytes", mean_copy_bytes(p)},
          {"bottlenecks", bottlenecks(p, device)},
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

void show_output(const LaunchTensor& t, const std::vector<std::byte>& bytes) {
  fmt::print("{} {} {}", t.name, type_name(t.dtype), sizes_text(t.shape));
  if (bytes.empty()) return fmt::print(": no contents\n");
  const TensorSummary s = summarise(t.dtype, bytes);
  fmt::print(": min {:.6g}, max {:.6g}, mean {:.6g}", s.min, s.max, s.mean);
  if (s.nans || s.infinities) fmt::print(", {} NaN, {} infinite", s.nans, s.infinities);
  fmt::print("; begins {:.6g}\n", fmt::join(s.first, " "));
}

}  // namespace

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

void show_finding(const Finding& f) {
  fmt::print("{}: ", f.note ? "note" : "FINDING");
  if (f.line) fmt::print("{}:{}: ", f.file, f.line);
  fmt::print("[{}] {}", f.code, f.message);
  if (f.other_line) fmt::print(" (other access: line {})", f.other_line);
  if (f.count > 1) fmt::print(" ({} times)", f.count);
  fmt::print("\n");
  if (!f.remedy.empty()) fmt::print("    remedy: {}\n", f.remedy);
}

std::vector<std::string> bottlenecks(const RunProfile& p, const Device& device) {
  if (p.total_ns <= 0) return {};
  std::vector<std::pair<double, std::string>> pipes = {
      {p.mac_ratio, "cube"},  {p.vec_ratio, "vector"}, {p.scalar_ratio, "scalar"},
      {p.mte2_ratio, "load"}, {p.mte3_ratio, "store"}, {p.fixpipe_ratio, "fixpipe"}};
  std::stable_sort(pipes.begin(), pipes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> labels;
  if (pipes[0].first >= kDominant)
    labels.push_back(pipes[0].second + "_bound");
  else if (pipes[0].first < kIdle)
    labels.emplace_back("stall_bound");
  else
    labels.push_back("mixed:" + pipes[0].second + "+" + pipes[1].second);
  if (2 * p.block_dim < static_cast<std::uint32_t>(device.aiv_cores)) labels.emplace_back("few_cores");
  if (p.bank_conflict_ratio > kManyConflicts) labels.emplace_back("bank_conflict");
  return labels;
}

void show_profile(const RunProfile& p, const Device& device) {
  fmt::print("profile (simulated):\n  {:<10} {:>12} {:>8}\n", "pipe", "busy us", "share");
  for (const auto& [name, ratio] : pipes_of(p))
    fmt::print("  {:<10} {:>12.2f} {:>7.1f}%\n", name, ratio * p.total_ns / 1e3, 100 * ratio);
  fmt::print("  GM: {} bytes read, {} written, {:.1f} bytes/ns; {} copies of {:.0f} bytes on average\n",
             p.gm_read_bytes, p.gm_write_bytes, bytes_per_ns(p), p.dma_count, mean_copy_bytes(p));
  fmt::print(
      "  {} vector instructions, {:.1f} % of their cycles lost to bank conflicts; {} scalar accesses\n",
      p.vector_instructions, 100 * p.bank_conflict_ratio, p.scalar_accesses);
  fmt::print("  {} synchronisations inserted; slowest block {:.1f} % above the mean\n", p.inserted_syncs,
             100 * p.block_imbalance);
  fmt::print("  bounds: {}\n", fmt::join(bottlenecks(p, device), ", "));
}

Status write_csv(const RunProfile& p, const Device& device, const std::string& path) {
  std::string names = "device,block_dim,aiv_time(us)",
              figures = fmt::format("{},{},{:.3f}", device.name, p.block_dim, p.total_ns / 1e3);
  for (const auto& [name, ratio] : pipes_of(p)) {
    names += fmt::format(",aiv_{0}_time(us),aiv_{0}_ratio", name);
    figures += fmt::format(",{:.3f},{:.4f}", ratio * p.total_ns / 1e3, ratio);
  }
  std::ofstream out(path, std::ios::binary);
  out << names << "\n" << figures << "\n";
  if (!out.flush()) return failure("cannot write " + path, Retry::kAfterFix);
  return {};
}

nlohmann::json to_json(const RunReport& r, const std::vector<LaunchTensor>& outputs, const Device& device) {
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
          {"profile", json_of(r.profile, device)}};
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
