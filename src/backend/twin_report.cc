#include "backend/twin_report.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <utility>

namespace evk {
namespace {

std::string own_path(std::string path) {
  constexpr std::string_view kSeen = "/in/";
  if (const std::size_t at = path.find(kSeen); at != std::string::npos) path.erase(0, at + kSeen.size());
  return path;
}

Finding run_finding(const char* code, std::string message, const char* remedy, const std::string& location) {
  Finding out;
  out.code = code;
  out.message = std::move(message);
  out.remedy = remedy;
  const std::string place = own_path(location);
  const std::size_t colon = place.rfind(':');
  if (colon != std::string::npos) {
    out.file = place.substr(0, colon);
    const std::string digits = place.substr(colon + 1);
    if (!digits.empty() && digits.size() < 9 &&
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }))
      out.line = std::stoi(digits);
  }
  return out;
}

const char* signal_words(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "it accessed memory that is not its own (a GM pointer cannot be dereferenced)";
    case SIGBUS:
      return "it accessed memory that is not there";
    case SIGFPE:
      return "it divided an integer by zero";
    case SIGILL:
    case SIGTRAP:
      return "it ran into a trap (an index outside of an array, or unreachable code)";
    case SIGABRT:
      return "it aborted";
    default:
      return "it was ended by a signal";
  }
}

Finding abort_finding(const ChildEnd& child, const std::string& location) {
  if (child.signal == SIGSYS) {
    return run_finding("run.forbidden_call",
                       "the program asked the operating system for something a kernel has no use for",
                       "compute with the Ascend C interface only", location);
  }
  if (child.signal != 0)
    return run_finding("run.crash", fmt::format("the program crashed: {}", signal_words(child.signal)),
                       "check indices and pointers; move data with DataCopy", location);
  return run_finding("run.early_exit", "the program ended before its blocks did",
                     "return from the kernel function at its end only", location);
}

std::string limit_name(LimitHit limit) {
  return limit == LimitHit::kWall || limit == LimitHit::kCpu ? "time" : std::string(name_of(limit));
}

Finding stop_finding(const std::string& limit, const std::string& location) {
  return run_finding(
      "run.limit", fmt::format("the run was stopped at its limit of {}", limit),
      limit == "time" || limit == "instructions" ? "check that every loop ends" : "use less of it", location);
}

}  // namespace

Finding finding_of(const twin::Finding& finding) {
  Finding out;
  out.code = "twin." + finding.code;
  out.message = finding.message;
  out.remedy = finding.remedy;
  out.file = own_path(finding.file);
  out.line = finding.line;
  out.other_file = own_path(finding.other_file);
  out.other_line = finding.other_line;
  out.count = finding.count;
  out.note = finding.note;
  return out;
}

std::string bottleneck_of(const twin::RunProfile& p, int cores) {
  struct Pipe {
    const char* name;
    double ratio;
  };
  std::array<Pipe, 7> pipes = {Pipe{"cube", p.mac_ratio},      Pipe{"vector", p.vec_ratio},
                               Pipe{"scalar", p.scalar_ratio}, Pipe{"load", p.mte2_ratio},
                               Pipe{"store", p.mte3_ratio},    Pipe{"fixpipe", p.fixpipe_ratio},
                               Pipe{"mte1", p.mte1_ratio}};
  std::stable_sort(pipes.begin(), pipes.end(),
                   [](const Pipe& a, const Pipe& b) { return a.ratio > b.ratio; });
  std::string label;
  if (pipes[0].ratio >= 0.5) {
    label = fmt::format("{}_bound", pipes[0].name);
  } else if (pipes[0].ratio < 0.35) {
    label = "stall_bound";
  } else {
    label = fmt::format("mixed:{}+{}", pipes[0].name, pipes[1].name);
  }
  if (static_cast<int>(p.block_dim) * 2 < cores) label += " few_cores";
  if (p.bank_conflict_ratio > 0.1) label += " bank_conflict";
  return label;
}

Profile profile_of(const twin::RunProfile& p, const twin::Device& device) {
  Profile out;
  out.metric = {{"total_ns", p.total_ns},
                {"launch_ns", p.launch_ns},
                {"total_cycles", static_cast<double>(p.total_cycles)},
                {"block_dim", p.block_dim},
                {"vec_ratio", p.vec_ratio},
                {"scalar_ratio", p.scalar_ratio},
                {"mte1_ratio", p.mte1_ratio},
                {"mte2_ratio", p.mte2_ratio},
                {"mte3_ratio", p.mte3_ratio},
                {"mac_ratio", p.mac_ratio},
                {"fixpipe_ratio", p.fixpipe_ratio},
                {"gm_read_bytes", static_cast<double>(p.gm_read_bytes)},
                {"gm_write_bytes", static_cast<double>(p.gm_write_bytes)},
                {"dma_count", static_cast<double>(p.dma_count)},
                {"vector_instructions", static_cast<double>(p.vector_instructions)},
                {"scalar_accesses", static_cast<double>(p.scalar_accesses)},
                {"inserted_syncs", static_cast<double>(p.inserted_syncs)},
                {"ub_peak_bytes", p.ub_peak_bytes},
                {"bank_conflict_ratio", p.bank_conflict_ratio},
                {"block_imbalance", p.block_imbalance}};
  out.bottleneck = bottleneck_of(p, p.mac_ratio > 0 ? device.aic_cores : device.aiv_cores);
  for (std::size_t i = 0; i < p.lines.size() && i < 5; ++i) {
    out.hot_lines.push_back(fmt::format("{} {} {:.0f} {:.0f}", own_path(p.lines[i].where), p.lines[i].pipe,
                                        p.lines[i].busy, p.lines[i].stalled));
  }
  return out;
}

RunResult result_of(twin::RunReport report, const ChildEnd& child, const twin::Device& device) {
  RunResult out;
  for (const twin::Finding& finding : report.findings)
    (finding.note ? out.notes : out.findings).push_back(finding_of(finding));
  out.outputs = std::move(report.outputs);
  out.unwritten_bytes = std::move(report.unwritten_bytes);
  out.profile = profile_of(report.profile, device);
  out.latency_ns = report.profile.total_ns + report.profile.launch_ns;
  out.cycles = report.profile.total_cycles;
  out.trace_hash = report.trace_hash;
  out.printed = std::move(report.printed);
  switch (report.end) {
    case twin::RunEnd::kComplete:
      out.kind = out.findings.empty() ? RunResultKind::kComplete : RunResultKind::kFaulted;
      return out;
    case twin::RunEnd::kTimedOut:
      out.limit = "time";
      break;
    case twin::RunEnd::kRunaway:
      out.limit = "instructions";
      break;
    case twin::RunEnd::kAborted:
    case twin::RunEnd::kTilingFailed:
      if (child.limit != LimitHit::kNone) out.limit = limit_name(child.limit);
      break;
  }
  if (!out.limit.empty()) {
    out.kind = RunResultKind::kStopped;
    // Where a loop happens to be when its time is up differs from run to run, so it is told only where it is
    // counted.
    out.findings.push_back(stop_finding(out.limit, out.limit == "instructions" ? report.last_location : ""));
    return out;
  }
  out.kind = RunResultKind::kFaulted;
  if (!out.findings.empty()) return out;  // the program or the engine said why
  if (report.end == twin::RunEnd::kAborted) {
    out.findings.push_back(abort_finding(child, report.last_location));
  } else {
    out.findings.push_back(run_finding("run.tiling_failed", "the tiling function failed",
                                       "return ge::GRAPH_SUCCESS, and check what it computes",
                                       report.last_location));
  }
  return out;
}

}  // namespace evk
