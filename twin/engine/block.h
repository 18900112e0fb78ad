// One block (core) while it lives: its on-chip memories, buffers, queues, flags, clocks and counters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "twin/abi/abi.h"
#include "twin/engine/hazard.h"

namespace evk::twin {

// A flag that was set and not yet waited for: the setter's clock, and the cycle at which it fires.
struct Flag {
  Clock clock{};
  double at = 0;
};

struct Buffer {
  abi::Space space = abi::Space::kNone;
  std::uint64_t addr = 0, bytes = 0;
  std::uint16_t queue = 0;  // 0 = none (TBuf)
  enum class State { kFree, kAllocated, kEnqueued, kDequeued } state = State::kFree;
  Flag full, empty;  // set by EnQue, by FreeTensor
  bool was_freed = false;
};

struct QueueInfo {
  int source = 0, destination = 0;  // pipes
  std::vector<std::uint16_t> buffers;
};

// One atomic mode for copies to GM.
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
};

struct LineCost {
  double busy = 0, stalled = 0;
  int pipe = 0;
};

struct Block {
  std::uint32_t index = 0;
  std::array<std::vector<std::byte>, 9> arena;  // by Space; empty until used
  std::array<Shadow, 9> shadow;                 // by Space
  std::map<std::uint64_t, Shadow> gm_shadow;    // by tensor base: order within the block
  std::map<std::uint16_t, Buffer> buffers;
  std::map<std::uint64_t, QueueInfo> queues;
  std::map<std::tuple<int, int, std::uint64_t>, std::vector<Flag>> flags;
  std::array<Clock, abi::kPipes> clock{};   // happens-before
  std::array<double, abi::kPipes> ready{};  // cycle from which the pipe may start the next instruction
  std::array<double, abi::kPipes> done{};   // cycle at which its last instruction completes
  std::array<double, abi::kPipes> busy{};
  std::vector<GmRange> gm_ranges;
  std::map<std::uint32_t, LineCost> lines;
  AtomicMode atomic;
  std::uint64_t mask[2] = {~0ull, ~0ull};
  bool counter_mask = false;
  std::uint32_t phase = 0;  // SyncAll's passed
  std::uint64_t stream_hash = 0;
  std::uint32_t ub_peak = 0;
  std::uint64_t vector_instructions = 0, scalar_accesses = 0, inserted_syncs = 0, dma_count = 0,
                read_bytes = 0, write_bytes = 0;
  double bank_cycles = 0;
  bool ended = false;

  double now() const { return ready[0]; }  // the scalar unit's clock
  double end_cycle() const {
    double end = ready[0];
    for (const double d : done) end = end > d ? end : d;
    return end;
  }
};

}  // namespace evk::twin
