// The ring between a program and the engine: shared memory with a launch description, slots for records, one
// area for the bytes that come beside a record, and one answer. Single producer (the program), single
// consumer (the engine).
//
// The engine's side treats the memory as hostile: it copies what it reads, and trusts no index in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "twin/abi/abi.h"

namespace evk::twin {

inline constexpr std::uint32_t kSlots = 8192;
inline constexpr std::uint32_t kTensorsMax = 32;
inline constexpr std::uint32_t kRankMax = 8;
inline constexpr std::uint32_t kOrderMax = 4096;

// A tensor of the launch as the program sees it: no contents.
struct RingTensor {
  char name[64];
  abi::DType dtype;
  std::uint32_t rank;
  std::int64_t size[kRankMax];
  std::uint64_t gm_addr;
};

// All that a program is told.
struct RingLaunch {
  char op[128];
  char soc[64];
  std::uint32_t inputs, outputs;
  RingTensor tensor[kTensorsMax];  // inputs, then outputs
  std::uint32_t order_size;
  std::uint32_t order[kOrderMax];  // block order, applied modulo the block dim; empty = ascending
  std::uint32_t aiv_cores, aic_cores;
  std::uint64_t ub_bytes, l1_bytes, l0a_bytes, l0b_bytes, l0c_bytes;
  std::uint32_t tiling_only;
};

struct RingSlot {
  abi::Record record;
  std::uint32_t wants_answer;
  std::uint32_t bulk_bytes;
  std::uint64_t unused;
};

struct Ring {
  RingLaunch launch;
  alignas(64) std::atomic<std::uint32_t> head;      // records written
  alignas(64) std::atomic<std::uint32_t> tail;      // records taken
  alignas(64) std::atomic<std::uint32_t> answered;  // head value whose record is answered
  std::atomic<std::uint32_t> consumer_waits, producer_waits, answer_waits;
  std::atomic<std::uint32_t> stop;  // the engine wants no more
  std::uint64_t answer;
  std::uint32_t answer_bytes;
  alignas(64) std::byte bulk[abi::kBulkBytes];         // program -> engine
  alignas(64) std::byte answer_bulk[abi::kBulkBytes];  // engine -> program
  alignas(64) RingSlot slot[kSlots];
};

// Waits until `word` differs from `seen`, at most `ms`; wakes all who wait. Between processes.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, int ms);
void futex_wake(std::atomic<std::uint32_t>& word);

}  // namespace evk::twin
