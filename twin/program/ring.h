// The ring between a program and the engine: shared memory with a launch description, slots for records, one
// area for the bytes that come beside a record, and one answer. Single producer (the program), single
// consumer (the engine).
//
// The engine's side treats the memory as hostile: it copies what it reads, once, and trusts no index in it.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "twin/program/launch.h"

namespace evk::twin {

inline constexpr std::uint32_t kSlots = 8192;

struct RingSlot {
  abi::Record record;
  std::uint32_t wants_answer;
  std::uint32_t bulk_bytes;
  std::uint64_t unused;
};

struct Ring {
  LaunchDescription launch;
  alignas(64) std::atomic<std::uint32_t> head;      // records written
  alignas(64) std::atomic<std::uint32_t> tail;      // records taken
  alignas(64) std::atomic<std::uint32_t> answered;  // head value whose record is answered
  alignas(64) std::atomic<std::uint32_t> consumer_waits;
  alignas(64) std::atomic<std::uint32_t> producer_waits, answer_waits;
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

// A short wait for `ready()`: some microseconds on this core, then a few turns for whoever else wants it,
// since the other side may be waiting for this very core. True if it came.
template <typename Ready>
bool spin_until(Ready ready) {
  constexpr int kPauses = 20, kYields = 100;
  for (int i = 0; i < kPauses; ++i) {
    if (ready()) return true;
    __builtin_ia32_pause();
  }
  for (int i = 0; i < kYields; ++i) {
    if (ready()) return true;
    ::sched_yield();
  }
  return ready();
}

}  // namespace evk::twin
