// The end of a launch: conflicts between blocks, leaks, the profile.
#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "base/sha256.h"
#include "twin/engine/core.h"

namespace evk::twin {
namespace {

const char* const kPipeName[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};

struct Touch {
  GmRange range;
  std::uint32_t block = 0;
};

bool conflict(const Touch& a, const Touch& b) {
  if (a.block == b.block || a.range.phase != b.range.phase) return false;
  if (!a.range.write && !b.range.write) return false;
  if (a.range.atomic && b.range.atomic) return false;
  return a.range.lo < b.range.hi && b.range.lo < a.range.hi;
}

}  // namespace

bool RunReport::faulted() const {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return !f.note; });
}

// Two blocks that touch the same bytes of GM, one of them writing, between the same two SyncAll's: the order
// is left to chance.
void Core::conflicts_between_blocks() {
  std::vector<Touch> all;
  for (const auto& [index, block] : blocks_)
    for (const auto& r : block->gm_ranges) all.push_back({r, index});
  std::sort(all.begin(), all.end(), [](const Touch& a, const Touch& b) {
    return std::tuple(a.range.phase, a.range.lo, a.range.hi, a.block) <
           std::tuple(b.range.phase, b.range.lo, b.range.hi, b.block);
  });
  std::vector<const Touch*> open;  // ranges that may still overlap the next one
  for (const Touch& now : all) {
    std::erase_if(open, [&](const Touch* t) {
      return t->range.phase != now.range.phase || t->range.hi <= now.range.lo;
    });
    for (const Touch* before : open)
      if (conflict(*before, now)) {
        const GmTensor* tensor = gm_.find(now.range.lo, 1);
        loc_ = now.range.loc;
        block_ = nullptr;
        findings_.add("block_conflict",
                      fmt::format("blocks {} and {} both touch bytes {} to {} of {}, and one of them writes",
                                  before->block, now.block, now.range.lo - (tensor ? tensor->base : 0),
                                  std::min(before->range.hi, now.range.hi) - (tensor ? tensor->base : 0),
                                  tensor ? tensor->name : "GM"),
                      "give each block a part of its own, or separate the accesses by SyncAll", now.range.loc,
                      static_cast<int>(now.block), before->range.loc);
        if (findings_.full()) return;
      }
    if (open.size() < 64) open.push_back(&now);
  }
}

void Core::leaks() {
  for (const auto& [id, b] : block_->buffers) {
    (void)id;
    if (b.queue && b.state != Buffer::State::kFree) {
      note("queue_leak", "a tensor of a queue is not freed when the block ends",
           "FreeTensor what AllocTensor or DeQue gave");
      return;
    }
  }
}

std::string Core::stream_hash() const {
  std::uint64_t h = mix(block_dim_, tiling_key_);
  for (const auto& [index, b] : blocks_) h = mix(h, mix(index, b->stream_hash));
  return fmt::format("{:016x}", h);
}

RunProfile Core::profile() const {
  RunProfile p;
  p.block_dim = block_dim_;
  if (blocks_.empty() || !cost_) return p;
  const auto cores = static_cast<std::size_t>(device_.aiv_cores);
  std::vector<double> core(cores, 0.0);
  double sum = 0, slowest = 0;
  std::array<double, abi::kPipes> busy{};
  double vector = 0, bank = 0;
  std::map<std::uint32_t, LineCost> lines;
  for (const auto& [index, b] : blocks_) {
    const double cycles = b->end_cycle();
    core[index % cores] += cycles;
    sum += cycles;
    slowest = std::max(slowest, cycles);
    for (std::size_t i = 0; i < busy.size(); ++i) busy[i] += b->busy[i];
    vector += b->busy[1];
    bank += b->bank_cycles;
    p.gm_read_bytes += b->read_bytes;
    p.gm_write_bytes += b->write_bytes;
    p.dma_count += b->dma_count;
    p.vector_instructions += b->vector_instructions;
    p.scalar_accesses += b->scalar_accesses;
    p.inserted_syncs += b->inserted_syncs;
    p.ub_peak_bytes = std::max(p.ub_peak_bytes, b->ub_peak);
    for (const auto& [loc, cost] : b->lines) {
      lines[loc].busy += cost.busy;
      lines[loc].stalled += cost.stalled;
      lines[loc].pipe = cost.pipe;
    }
  }
  const double by_cores = *std::max_element(core.begin(), core.end());
  const double by_memory =
      static_cast<double>(p.gm_read_bytes + p.gm_write_bytes) / device_.at("gm.total_bytes_per_cycle");
  p.total_cycles = static_cast<std::uint64_t>(std::max(by_cores, by_memory));
  p.total_ns = std::max(by_cores, by_memory) / device_.clock_ghz;
  p.launch_ns =
      device_.at("launch.base_ns") +
      device_.at("launch.per_block_ns") * static_cast<double>(std::min<std::uint64_t>(block_dim_, cores));
  const auto ratio = [&](int pipe) { return sum > 0 ? busy[static_cast<std::size_t>(pipe)] / sum : 0; };
  p.scalar_ratio = ratio(0), p.vec_ratio = ratio(1), p.mac_ratio = ratio(2), p.mte1_ratio = ratio(3),
  p.mte2_ratio = ratio(4), p.mte3_ratio = ratio(5), p.fixpipe_ratio = ratio(6);
  p.bank_conflict_ratio = vector > 0 ? bank / vector : 0;
  p.block_imbalance = sum > 0 ? slowest / (sum / static_cast<double>(blocks_.size())) - 1 : 0;
  for (const auto& [loc, cost] : lines)
    p.lines.push_back({findings_.text_of(loc), kPipeName[cost.pipe], cost.busy, cost.stalled});
  std::stable_sort(p.lines.begin(), p.lines.end(),
                   [](const auto& a, const auto& b) { return a.busy + a.stalled > b.busy + b.stalled; });
  if (p.lines.size() > 20) p.lines.resize(20);
  return p;
}

// The part of an output that the union of all written ranges leaves out.
std::uint64_t Core::unwritten_bytes(const GmTensor& output) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> written;
  for (const auto& [index, block] : blocks_)
    for (const auto& r : block->gm_ranges)
      if (r.write && r.lo >= output.base && r.lo < output.base + output.bytes) written.emplace_back(r.lo, r.hi);
  std::sort(written.begin(), written.end());
  std::uint64_t covered = 0, at = output.base;
  for (const auto& [lo, hi] : written) {
    if (hi <= at) continue;
    covered += hi - std::max(lo, at);
    at = hi;
  }
  return output.bytes - std::min(covered, output.bytes);
}

RunReport Core::finish(RunEnd end) {
  RunReport report;
  report.last_location = findings_.text_of(last_loc_);
  if (end == RunEnd::kComplete && !exited_ && !launch_.tiling_only) end = RunEnd::kAborted;
  if (tiling_failed_) end = RunEnd::kTilingFailed;
  if (runaway_) end = RunEnd::kRunaway;
  const auto ended =
      std::count_if(blocks_.begin(), blocks_.end(), [](const auto& e) { return e.second->ended; });
  if (end == RunEnd::kComplete && !launch_.tiling_only && static_cast<std::uint64_t>(ended) != block_dim_) {
    end = RunEnd::kAborted;
    findings_.add("block_ended_early", fmt::format("{} of {} blocks ran to their end", ended, block_dim_),
                  "let every block return from the kernel", last_loc_, -1);
  }
  conflicts_between_blocks();
  report.end = end;
  report.profile = profile();
  report.findings = findings_.take();
  for (auto& tensor : gm_.tensors()) {
    if (tensor.kind != GmTensor::Kind::kOutput) continue;
    report.unwritten_bytes.push_back(unwritten_bytes(tensor));
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
