// One block (core) while it lives: its on-chip memories, buffers, queues, flags, clocks and counters.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "twin/abi/abi.h"
#include "twin/engine/cost.h"
#include "twin/engine/hazard.h"

namespace evk::twin {

inline constexpr int kEventIds = 8;

// What a setter knew, and the cycle at which the flag fires.
struct Flag {
  Clock clock{};
  double at = 0;
};

// A flag register of a pair of pipes. More than one pending set is a fault, and only counted.
struct FlagRegister {
  Flag flag;
  std::uint32_t pending = 0;
  std::uint32_t loc = 0;
};

struct Buffer {
  abi::Space space = abi::Space::kNone;
  std::uint64_t addr = 0, bytes = 0;
  std::uint16_t queue = 0;  // 0 = none (TBuf)
  std::uint8_t position = 0;
  enum class State { kFree, kAllocated, kEnqueued, kDequeued } state = State::kFree;
  Flag full, empty;  // set by EnQue, by FreeTensor
  bool was_freed = false;
  std::uint32_t loc = 0;  // of the last change of state
};

struct QueueInfo {
  int source = 0, destination = 0;  // pipes
};

// The atomic mode of copies to GM.
struct AtomicMode {
  int kind = 0;  // 0 none, 1 add, 2 max, 3 min
  abi::DType dtype = abi::DType::kNone;
};

// A range of GM that the block touched, for the check between blocks.
struct GmRange {
  std::uint64_t lo = 0, hi = 0;
  std::uint32_t loc = 0;
  std::uint32_t phase = 0;
  bool write = false, atomic = false;
  // For the order between cores: by which pipe, in which of its epochs, between which flags of the core.
  std::uint8_t pipe = 0;
  std::uint32_t epoch = 0, segment = 0;
};

// What a core knows of the pipes of others, by core number, in its order.
using CrossKnowledge = std::vector<std::pair<std::uint32_t, Clock>>;

// What a core hands to others, and when.
struct CrossRelease {
  CrossKnowledge known;
  double at = 0;
  void join(const CrossRelease& other);
};

// The scalar unit's data cache: direct-mapped lines of 64 bytes. A strided walk misses every time.
class DataCache {
 public:
  // True if the line was there; it is afterwards.
  bool touch(std::uint64_t addr) {
    const std::uint64_t line = addr / 64 + 1;
    std::uint64_t& tag = tags_[line % tags_.size()];
    const bool hit = tag == line;
    tag = line;
    return hit;
  }
  void clear() { tags_.fill(0); }

 private:
  std::array<std::uint64_t, 512> tags_{};
};

// The block's share of L2: lines of 512 bytes, four ways, the oldest replaced. What a block moved before and
// still has there is not moved from HBM again.
class SharedCache {
 public:
  static constexpr std::uint64_t kLineBytes = 512;
  // `bytes` is the share of one block.
  void resize(std::uint64_t bytes) { sets_ = std::max<std::uint64_t>(1, bytes / kLineBytes / kWays); }
  // Bytes of [lo, hi) that are present; all of them are afterwards.
  std::uint64_t touch(std::uint64_t lo, std::uint64_t hi);

 private:
  static constexpr std::size_t kWays = 4;
  std::uint64_t sets_ = 1;
  std::vector<std::array<std::uint64_t, kWays>> lines_;  // newest first; 0 = empty
};

// How long at least one copy pipe was moving bytes, for the model of the shared memory.
class BusyUnion {
 public:
  // A transfer on `pipe` (0 load, 1 store) over [start, end); starts of one pipe never decrease.
  void add(int pipe, double start, double end);
  double cycles() const { return total_; }

 private:
  struct Span {
    double start = 0, end = 0;
  };
  std::array<std::array<Span, 16>, 2> recent_{};
  std::array<std::size_t, 2> next_{};
  double total_ = 0;
};

// Cycles that were spent at one line of the program, over all blocks.
struct LineCost {
  double busy = 0, stalled = 0;
  int pipe = 0;
};

// What is left of a block when it has ended.
struct BlockTotals {
  std::uint32_t index = 0;  // of the core: Core::core_key
  bool is_cube = false;
  double end_cycle = 0, copy_cycles = 0, bank_cycles = 0;
  std::array<double, abi::kPipes> busy{};
  std::uint64_t stream_hash = 0;
  std::uint32_t ub_peak = 0;
  std::uint64_t vector_instructions = 0, scalar_accesses = 0, inserted_syncs = 0, dma_count = 0;
  std::uint64_t read_bytes = 0, write_bytes = 0;                          // as the program asked
  double hbm_read_bytes = 0, cached_read_bytes = 0, bus_write_bytes = 0;  // as the bus moves
  std::uint32_t phase = 0;                                                // SyncAll's passed
  std::array<std::uint32_t, 2> syncs{};  // SyncAll's reached: of all cores, of vector cores only
  // What it knew of the other cores in each segment; empty if no flag came or went.
  std::vector<std::shared_ptr<const CrossKnowledge>> known;
  std::vector<GmRange> gm_ranges;
};

// What the last reductions, gathers and merges left in registers.
struct ReducedRegisters {
  std::uint64_t sum = 0, value = 0, index = 0;  // bits in the element type
  std::uint64_t kept = 0, merged = 0;           // elements kept; merged from each list, 16 bits each
};

struct Block {
  BlockTotals totals;
  ReducedRegisters reduced;
  std::array<std::vector<std::byte>, 9> arena;  // by Space; empty until used
  std::array<Shadow, 9> shadow;                 // by Space
  std::vector<Shadow> gm_shadow;                // by tensor: order within the block
  std::map<std::uint16_t, Buffer> buffers;
  std::size_t buffers_of_pipe = 0;  // declared since the TPipe began
  std::map<std::uint64_t, QueueInfo> queues;
  std::array<FlagRegister, abi::kPipes * abi::kPipes * kEventIds> flags{};
  std::array<Clock, abi::kPipes> clock{};          // happens-before: what is known to be complete
  std::array<std::uint32_t, abi::kPipes> epoch{};  // of each pipe, from 1
  std::array<double, abi::kPipes> ready{};         // cycle from which the pipe may start the next instruction
  std::array<double, abi::kPipes> done{};          // cycle at which all its instructions are complete
  BusyUnion copies;
  DataCache cache;
  SharedCache l2;
  AtomicMode atomic;

  Block() { epoch.fill(1); }
  std::uint32_t index() const { return totals.index; }
  double end_cycle() const {
    double end = ready[0];
    for (const double d : done) end = end > d ? end : d;
    return end;
  }
  FlagRegister& flag(int source, int destination, std::uint64_t id) {
    return flags[static_cast<std::size_t>((source * abi::kPipes + destination) * kEventIds) + id];
  }
};

}  // namespace evk::twin
