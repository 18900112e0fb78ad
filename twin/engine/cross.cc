// Flags between cores, and what one core knows of the others through them.
#include <fmt/format.h>

#include <algorithm>

#include "twin/engine/core.h"

namespace evk::twin {

void CrossRelease::join(const CrossRelease& other) {
  at = std::max(at, other.at);
  CrossKnowledge joined;
  joined.reserve(known.size() + other.known.size());
  auto mine = known.begin();
  for (const auto& entry : other.known) {
    while (mine != known.end() && mine->first < entry.first) joined.push_back(*mine++);
    joined.push_back(entry);
    if (mine != known.end() && mine->first == entry.first)
      evk::twin::join(joined.back().second, (mine++)->second);
  }
  joined.insert(joined.end(), mine, known.end());
  known = std::move(joined);
}

// Cube cores first, then the vector cores block by block.
std::uint32_t Core::core_number(std::uint32_t key) const {
  const std::uint32_t block = key & 0xffff, lane = key >> 16;
  return lane == 0 ? block : block_dim_ + block * abi::aivs_of(kind_) + lane - 1;
}

abi::CoreId Core::core_id() const {
  const std::uint32_t key = block_->index(), lane = key >> 16;
  return {key & 0xffff, lane ? lane - 1 : 0, block_->totals.is_cube};
}

// What `pipe` has finished, and all that this core knows.
CrossRelease Core::release_to_others(int pipe) {
  join(block_->clock[static_cast<std::size_t>(pipe)], block_->clock[kS]);
  const Flag flag = release(pipe);
  CrossRelease release{{{core_number(block_->index()), flag.clock}}, flag.at};
  if (!block_->totals.known.empty()) release.join({*block_->totals.known.back(), 0});
  begin_segment(nullptr);
  return release;
}

// Ranges of GM that are touched from here on are told apart from those before: another core may know of the
// ones and not of the others. `known` is what this core knows now; null if as before.
void Core::begin_segment(std::shared_ptr<const CrossKnowledge> known) {
  static const auto nothing = std::make_shared<const CrossKnowledge>();
  auto& segments = block_->totals.known;
  if (segments.empty()) segments.push_back(nothing);
  if (known && known->size() > kKnownMax) cross_knowledge_ = kKnowledgeMax;
  cross_knowledge_ += known ? known->size() : 0;
  if (cross_knowledge_ > kKnowledgeMax) return;
  segments.push_back(known ? std::move(known) : segments.back());
}

void Core::learn(const CrossRelease& release) {
  CrossRelease mine;
  if (!block_->totals.known.empty()) mine.known = *block_->totals.known.back();
  mine.join(release);
  begin_segment(std::make_shared<const CrossKnowledge>(std::move(mine.known)));
}

void Core::acquire_from_others(const CrossRelease& release) {
  learn(release);
  block_->ready[kS] = std::max(block_->ready[kS], release.at + cost_->cross_flag);
  block_->done[kS] = std::max(block_->done[kS], block_->ready[kS]);
}

void Core::cross_set(const abi::Record& r) {
  const bool channel = r.a[0] == abi::kChannelMode;
  const bool all_pipes = channel && r.a[1] == static_cast<std::uint64_t>(abi::Pipe::kAll);
  if (r.a[0] > abi::kChannelMode || (r.a[1] >= abi::kPipes && !all_pipes) ||
      (!channel && r.a[2] >= abi::kCrossFlags))
    return fault("flag_invalid",
                 fmt::format("flag {} between cores, mode {}, does not exist",
                             static_cast<std::int64_t>(r.a[2]), static_cast<std::int64_t>(r.a[0])),
                 "modes are 0, 1 and 2, flags 0 to 15");
  scalar(cost_->flag);
  CrossRelease release = release_to_others(all_pipes ? kS : static_cast<int>(r.a[1]));
  for (int pipe = kV; all_pipes && pipe < abi::kPipes; ++pipe) release.join(release_to_others(pipe));
  const bool kept = channel ? cross_.post(r.a[2], release) : cross_.set(core_id(), r.a[0], r.a[2], release);
  if (!kept && !findings_.again("cross_flag_overflow", loc_))
    fault("cross_flag_overflow",
          fmt::format("flag {} between cores is set more than {} times before it is waited for", r.a[2],
                      abi::kCrossPendingMax),
          "wait for it in between");
}

void Core::cross_wait(const abi::Record& r) {
  scalar(cost_->flag);
  const bool channel = r.a[0] == abi::kChannelMode;
  const auto release = channel                     ? cross_.take_posted(r.a[2])
                       : r.a[2] < abi::kCrossFlags ? cross_.take(core_id(), r.a[2])
                                                   : std::nullopt;
  if (release) return acquire_from_others(*release);
  fault("wait_without_set",
        fmt::format("waits for flag {} between cores that nothing set: the device would hang here",
                    static_cast<std::int64_t>(r.a[2])),
        "set it by CrossCoreSetFlag on the other core");
}

// Cores that meet in SyncAll: all, or the vector cores of a launch that has cube cores too. The last to
// arrive takes all on: they leave together. Among some cores, what each knows is passed on; among all, the
// phase tells apart what was before and after.
void Core::sync_cores(bool vectors_only) {
  barrier_all();
  if (vectors_only)
    sync_release_.join(release_to_others(kS));
  else
    ++block_->totals.phase;
  const auto takes_part = [&](const Block& b) { return !vectors_only || !b.totals.is_cube; };
  const std::uint32_t round = ++block_->totals.syncs[vectors_only];
  const std::size_t cores = vectors_only ? std::size_t{block_dim_} * abi::aivs_of(kind_) : cores_launched();
  std::size_t arrived = 0;
  for (const auto& [key, b] : live_) arrived += takes_part(*b) && b->totals.syncs[vectors_only] >= round;
  if (arrived < cores) return;
  CrossRelease all = vectors_only ? std::exchange(sync_release_, {}) : CrossRelease{};
  for (const auto& [key, b] : live_)
    if (takes_part(*b)) all.at = std::max(all.at, b->end_cycle());
  all.at += cost_->sync_all;
  Block* const last = block_;
  for (const auto& [key, b] : live_) {
    if (!takes_part(*b)) continue;
    block_ = b.get();
    if (vectors_only) learn(all);
    b->ready.fill(all.at);
    b->done.fill(all.at);
  }
  block_ = last;
}

bool Core::knows(const GmRange& earlier, std::uint32_t earlier_core, const GmRange& later,
                 const BlockTotals& core) const {
  if (core.known.empty()) return false;
  const auto& known = *core.known[std::min<std::size_t>(later.segment, core.known.size() - 1)];
  const std::uint32_t number = core_number(earlier_core);
  const auto found = std::lower_bound(known.begin(), known.end(), number,
                                      [](const auto& entry, std::uint32_t n) { return entry.first < n; });
  return found != known.end() && found->first == number && found->second[earlier.pipe] >= earlier.epoch;
}

}  // namespace evk::twin
