// The end of a launch: conflicts between blocks, the profile, the report.
#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "twin/engine/core.h"

namespace evk::twin {
namespace {

const char* const kPipeName[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
constexpr std::size_t kLinesMax = 20;

struct Touch {
  const GmRange* range = nullptr;
  std::uint32_t block = 0;
  const BlockTotals* totals = nullptr;
};

bool conflict(const Touch& a, const Touch& b) {
  if (a.block == b.block || a.range->phase != b.range->phase) return false;
  if (!a.range->write && !b.range->write) return false;
  if (a.range->atomic && b.range->atomic) return false;
  return a.range->lo < b.range->hi && b.range->lo < a.range->hi;
}

bool comes_before(const Touch& a, const Touch& b) {
  return std::tuple(a.range->phase, a.range->lo, a.range->hi, a.block) <
         std::tuple(b.range->phase, b.range->lo, b.range->hi, b.block);
}

}  // namespace

bool RunReport::faulted() const {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return !f.note; });
}

// Two blocks that touch the same bytes of GM, one of them writing, between the same two SyncAll's: the order
// is left to chance.
void Core::conflicts_between_blocks() {
  if (cross_knowledge_ > kKnowledgeMax) return;
  const auto name_of = [](std::uint32_t core) {
    return core >> 16 ? fmt::format("vector core {} of block {}", (core >> 16) - 1, core & 0xffff)
                      : fmt::format("block {}", core);
  };
  std::vector<Touch> all;
  for (const auto& [index, totals] : ended_)
    for (const auto& r : totals.gm_ranges) all.push_back({&r, index, &totals});
  for (const auto& [index, block] : live_)
    for (const auto& r : block->totals.gm_ranges) all.push_back({&r, index, &block->totals});
  std::sort(all.begin(), all.end(), comes_before);
  const std::size_t kOpenMax = cross_knowledge_ ? 1024 : 64;  // ranges that may still overlap the next one
  std::vector<Touch> open;
  for (const Touch& now : all) {
    std::erase_if(open, [&](const Touch& t) {
      return t.range->phase != now.range->phase || t.range->hi <= now.range->lo;
    });
    for (const Touch& before : open) {
      if (!conflict(before, now) || knows(*before.range, before.block, *now.range, *now.totals) ||
          knows(*now.range, now.block, *before.range, *before.totals) ||
          findings_.again("block_conflict", now.range->loc, before.range->loc))
        continue;
      const GmTensor* tensor = gm_.find(now.range->lo, 1);
      const std::uint64_t base = tensor ? tensor->base : 0;
      findings_.add(
          "block_conflict",
          fmt::format("{} and {} both touch bytes {} to {} of {}, and one of them writes",
                      name_of(before.block), name_of(now.block), now.range->lo - base,
                      std::min(before.range->hi, now.range->hi) - base, tensor ? tensor->name : "GM"),
          "give each block a part of its own, or order them by SyncAll or CrossCoreSetFlag and "
          "CrossCoreWaitFlag",
          now.range->loc, static_cast<int>(now.block & 0xffff), before.range->loc);
    }
    if (open.size() < kOpenMax) open.push_back(now);
  }
}

std::string Core::stream_hash() const {
  std::uint64_t h = mix(block_dim_, tiling_key_);
  for (const auto& [index, totals] : ended_) h = mix(h, mix(index, totals.stream_hash));
  for (const auto& [index, block] : live_) h = mix(h, mix(index, block->totals.stream_hash));
  return fmt::format("{:016x}", h);
}

// Cycles that the shared memory needs for all that the blocks moved. L2 keeps what is written as long as
// there is room; beyond, it goes to HBM.
double Core::copies_of_all_blocks(RunProfile& p) const {
  double hbm_reads = 0, cached_reads = 0, writes = 0;
  for (const auto& [index, t] : ended_) {
    hbm_reads += t.hbm_read_bytes;
    cached_reads += t.cached_read_bytes;
    writes += t.bus_write_bytes;
    p.gm_read_bytes += t.read_bytes;
    p.gm_write_bytes += t.write_bytes;
  }
  const double beyond_l2 = hbm_reads + writes - device_.at("memory.l2_bytes");
  const double hbm = hbm_reads + std::clamp(beyond_l2, 0.0, writes);
  return std::max(hbm / device_.at("gm.hbm_bytes_per_cycle"),
                  (hbm_reads + cached_reads + writes) / device_.at("gm.total_bytes_per_cycle"));
}

void Core::describe_lines(RunProfile& p) const {
  for (std::size_t loc = 1; loc < lines_.size(); ++loc) {
    const LineCost& cost = lines_[loc];
    if (cost.busy + cost.stalled > 0)
      p.lines.push_back({findings_.text_of(static_cast<std::uint32_t>(loc)), kPipeName[cost.pipe], cost.busy,
                         cost.stalled});
  }
  std::stable_sort(p.lines.begin(), p.lines.end(),
                   [](const auto& a, const auto& b) { return a.busy + a.stalled > b.busy + b.stalled; });
  if (p.lines.size() > kLinesMax) p.lines.resize(kLinesMax);
}

RunProfile Core::profile() const {
  RunProfile p;
  p.block_dim = block_dim_;
  if (ended_.empty() || !cost_) return p;
  // The cores of a block end together; a block of a cube core and its vector cores takes a cube core's place.
  std::map<std::uint32_t, double> group_end;
  for (const auto& [index, t] : ended_) {
    double& end = group_end[index & 0xffff];
    end = std::max(end, t.end_cycle);
  }
  const int places = abi::has_aic(kind_) ? device_.aic_cores : device_.aiv_cores;
  const std::size_t cores = std::min<std::size_t>(static_cast<std::size_t>(places), group_end.size());
  std::vector<double> core(cores, 0.0);
  for (const auto& [index, end] : group_end)  // the core that is free first takes the next block
    *std::min_element(core.begin(), core.end()) += end;
  double sum = 0, cube_sum = 0, vector_sum = 0, slowest = 0, beside_copies = 0, bank = 0;
  std::array<double, abi::kPipes> busy{};
  for (const auto& [index, t] : ended_) {
    sum += t.end_cycle;
    (t.is_cube ? cube_sum : vector_sum) += t.end_cycle;
    slowest = std::max(slowest, t.end_cycle);
    beside_copies += std::max(0.0, t.end_cycle - t.copy_cycles);
    for (std::size_t i = 0; i < busy.size(); ++i) busy[i] += t.busy[i];
    bank += t.bank_cycles;
    p.dma_count += t.dma_count;
    p.vector_instructions += t.vector_instructions;
    p.scalar_accesses += t.scalar_accesses;
    p.inserted_syncs += t.inserted_syncs;
    p.ub_peak_bytes = std::max(p.ub_peak_bytes, t.ub_peak);
  }
  // Equal blocks move in step: while they compute, the shared memory idles, unless copies overlap the
  // computing.
  const double by_memory = copies_of_all_blocks(p) + beside_copies / static_cast<double>(cores);
  const double by_cores = *std::max_element(core.begin(), core.end()), total = std::max(by_cores, by_memory);
  p.total_cycles = static_cast<std::uint64_t>(std::min(total, 0x1p62));
  p.total_ns = total / device_.clock_ghz;
  p.launch_ns = device_.at("launch.base_ns") + device_.at("launch.per_block_ns") * static_cast<double>(cores);
  // Where memory is the limit, blocks take longer than their own clocks say: their copies do.
  const double stretch = by_cores > 0 ? total / by_cores : 0, stretched = sum * stretch,
               copies = busy[kMte2] + busy[kMte3] + busy[kFix];
  if (copies > 0)
    for (const int pipe : {kMte2, kMte3, kFix})
      busy[static_cast<std::size_t>(pipe)] *= 1 + (stretched - sum) / copies;
  const auto ratio = [&](int pipe) {  // of the time of the cores that have the pipe
    const double of = stretch * (pipe == kM || pipe == kMte1 || pipe == kFix ? cube_sum
                                 : pipe == kV                                ? vector_sum
                                                                             : sum);
    return of > 0 ? std::min(1.0, busy[static_cast<std::size_t>(pipe)] / of) : 0;
  };
  p.scalar_ratio = ratio(0), p.vec_ratio = ratio(1), p.mac_ratio = ratio(2), p.mte1_ratio = ratio(3),
  p.mte2_ratio = ratio(4), p.mte3_ratio = ratio(5), p.fixpipe_ratio = ratio(6);
  p.bank_conflict_ratio = busy[1] > 0 ? bank / busy[1] : 0;
  p.block_imbalance = sum > 0 ? slowest / (sum / static_cast<double>(ended_.size())) - 1 : 0;
  describe_lines(p);
  return p;
}

RunReport Core::finish(RunEnd end) {
  RunReport report;
  report.last_location = findings_.text_of(last_loc_);
  if (end == RunEnd::kComplete && !exited_ && !launch_.tiling_only) end = RunEnd::kAborted;
  if (tiling_failed_) end = RunEnd::kTilingFailed;
  if (runaway_) end = RunEnd::kRunaway;
  if (end == RunEnd::kComplete && !launch_.tiling_only && ended_.size() != cores_launched()) {
    end = RunEnd::kAborted;
    findings_.add("block_ended_early",
                  fmt::format("{} of {} blocks ran to their end", ended_.size(), cores_launched()),
                  "let every block return from the kernel", last_loc_, -1);
  }
  if (const auto left = cross_.left_set(); left && end == RunEnd::kComplete)
    findings_.add(
        "flag_left_set",
        fmt::format(
            "flag {} between cores is still set in block {}, in its {} core, and was never waited for",
            left->second, left->first.block, left->first.cube ? "cube" : "vector"),
        "wait for every flag that is set", 0, static_cast<int>(left->first.block), 0, true);
  conflicts_between_blocks();
  report.end = end;
  report.profile = profile();
  report.findings = findings_.take();
  for (auto& tensor : gm_.tensors()) {
    if (tensor.kind != GmTensor::Kind::kOutput) continue;
    report.unwritten_bytes.push_back(tensor.written.unwritten());
    if (!tensor.data.empty()) tensor.data.resize(tensor.content_bytes);
    report.outputs.push_back(std::move(tensor.data));
  }
  report.tiling_key = tiling_key_;
  report.workspace_bytes = workspace_bytes_;
  report.printed = std::move(printed_);
  report.records = records_;
  report.trace_hash = stream_hash();
  return report;
}

}  // namespace evk::twin
