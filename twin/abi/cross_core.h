// Flags between cores: which sets let which waits pass. Both sides of a run go by these rules: the runner to
// know which core may go on, the engine to know what has happened before what, and to refuse a wait that
// nothing allows.
//
//   mode 0  all cores of one type: when each has set the flag, it is set in each of them
//   mode 1  likewise among the vector cores of one block
//   mode 2  the cube core sets it in each vector core of its block; the vector cores, when each has set it,
//   in
//           their cube core
//
// A channel is a flag of the twin's own headers, which any core may set and one core waits for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "twin/abi/abi.h"

namespace evk::twin::abi {

inline constexpr std::uint64_t kCrossFlags = 16, kCrossPendingMax = 15, kCrossKeptMax = 16384;
inline constexpr std::uint64_t kCrossModes = 3;

struct CoreId {
  std::uint32_t block = 0, sub = 0;
  bool cube = false;
};

// `Payload` is what a set hands to the wait; it has `join(const Payload&)`.
template <typename Payload>
class CrossFlags {
 public:
  using Queue = std::vector<Payload>;  // short: at most kCrossPendingMax
  CrossFlags() = default;
  CrossFlags(KernelKind kind, std::uint32_t blocks) : vectors_(aivs_of(kind)), blocks_(blocks) {}

  // False, and the set is lost, if one before it waits too long already. REQUIRES: mode < kCrossModes,
  // flag < kCrossFlags.
  bool set(const CoreId& by, std::uint64_t mode, std::uint64_t flag, const Payload& payload) {
    if (mode == 2 && by.cube) {
      bool kept = true;
      for (std::uint32_t sub = 0; sub < vectors_; ++sub)
        kept &= deliver({by.block, sub, false}, flag, payload);
      return kept;
    }
    // Scope: all blocks, or one; of cubes or vectors; and where it goes when all have set it.
    const bool everywhere = mode == 0;
    const std::uint32_t first = everywhere ? 0 : by.block, end = everywhere ? blocks_ : by.block + 1;
    const std::size_t cores = std::size_t{end - first} * (by.cube ? 1 : vectors_);
    Gathering& all = gathering_[{mode, by.cube, first, flag}];
    if (all.waiting.size() < cores) all.waiting.resize(cores);
    const std::size_t mine = std::size_t{by.block - first} * (by.cube ? 1 : vectors_) + by.sub;
    if (all.waiting[mine].size() >= kCrossPendingMax || kept_ >= kCrossKeptMax) return false;
    all.waiting[mine].push_back(payload);
    ++kept_;
    if (all.waiting[mine].size() == 1) ++all.present;
    if (all.present < cores) return true;
    bool kept = true;
    const Payload joined = take_one_of_each(all);
    for (std::uint32_t block = first; block < end; ++block) {
      if (mode == 2) {
        kept &= deliver({block, 0, true}, flag, joined);
        continue;
      }
      for (std::uint32_t sub = 0; sub < (by.cube ? 1 : vectors_); ++sub)
        kept &= deliver({block, sub, by.cube}, flag, joined);
    }
    return kept;
  }
  // False, and nothing is posted, if too much waits already.
  bool post(std::uint64_t channel, const Payload& payload) {
    if (kept_ >= kCrossKeptMax) return false;
    channels_[channel].push_back(payload);
    ++kept_;
    return true;
  }

  bool is_set(const CoreId& core, std::uint64_t flag) const {
    const auto found = flags_.find(key(core, flag));
    return found != flags_.end() && !found->second.empty();
  }
  bool is_posted(std::uint64_t channel) const {
    const auto found = channels_.find(channel);
    return found != channels_.end() && !found->second.empty();
  }
  // A core whose flag is set, and the flag; nothing if none is.
  std::optional<std::pair<CoreId, std::uint64_t>> left_set() const {
    for (const auto& [at, queue] : flags_)
      if (!queue.empty())
        return std::pair(CoreId{std::get<0>(at), std::get<1>(at), std::get<2>(at)}, std::get<3>(at));
    return std::nullopt;
  }
  // What the oldest set handed over; nothing if there is none.
  std::optional<Payload> take(const CoreId& core, std::uint64_t flag) { return pop(flags_, key(core, flag)); }
  std::optional<Payload> take_posted(std::uint64_t channel) { return pop(channels_, channel); }

 private:
  struct Gathering {
    std::vector<Queue> waiting;  // by core
    std::size_t present = 0;     // cores that wait
  };
  using Key = std::tuple<std::uint32_t, std::uint32_t, bool, std::uint64_t>;
  static Key key(const CoreId& core, std::uint64_t flag) { return {core.block, core.sub, core.cube, flag}; }
  bool deliver(const CoreId& to, std::uint64_t flag, const Payload& payload) {
    auto& queue = flags_[key(to, flag)];
    if (queue.size() >= kCrossPendingMax || kept_ >= kCrossKeptMax) return false;
    queue.push_back(payload);
    ++kept_;
    return true;
  }
  Payload take_one_of_each(Gathering& all) {
    Payload joined = all.waiting.front().front();
    for (auto& queue : all.waiting) {
      joined.join(queue.front());
      queue.erase(queue.begin());
      --kept_;
      if (queue.empty()) --all.present;
    }
    return joined;
  }
  template <typename Map, typename K>
  std::optional<Payload> pop(Map& map, const K& at) {
    const auto found = map.find(at);
    if (found == map.end() || found->second.empty()) return std::nullopt;
    std::optional<Payload> payload(std::move(found->second.front()));
    found->second.erase(found->second.begin());
    --kept_;
    if (found->second.empty()) map.erase(found);
    return payload;
  }
  std::uint32_t vectors_ = 0, blocks_ = 0;
  std::map<std::tuple<std::uint64_t, bool, std::uint32_t, std::uint64_t>, Gathering> gathering_;
  std::map<Key, Queue> flags_;
  std::map<std::uint64_t, Queue> channels_;
  std::size_t kept_ = 0;  // of all flags and channels together
};

}  // namespace evk::twin::abi
