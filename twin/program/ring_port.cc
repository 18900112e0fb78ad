#include "twin/program/ring_port.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace evk::twin {
namespace {

constexpr int kWaitMs = 50;

}  // namespace

void RingPort::wait_for_room() {
  while (head_ - (tail_ = ring_.tail.load(std::memory_order_acquire)) >= kSlots) {
    if (ring_.stop.load()) ::_exit(0);
    ring_.producer_waits.store(1);
    const std::uint32_t tail = ring_.tail.load();
    if (head_ - tail >= kSlots) futex_wait(ring_.tail, tail, kWaitMs);
    ring_.producer_waits.store(0);
  }
}

void RingPort::push(const abi::Record& record, const void* bulk, std::uint32_t bulk_bytes,
                    bool wants_answer) {
  if (head_ - tail_ >= kSlots) wait_for_room();
  RingSlot& slot = ring_.slot[head_ % kSlots];
  slot.record = record;
  slot.wants_answer = wants_answer;
  slot.bulk_bytes = std::min(bulk_bytes, abi::kBulkBytes);
  if (bulk) std::memcpy(ring_.bulk, bulk, slot.bulk_bytes);
  ring_.head.store(++head_, std::memory_order_seq_cst);
  if (ring_.consumer_waits.load()) futex_wake(ring_.head);
}

void RingPort::wait_for_answer() {
  const auto answered = [&] { return ring_.answered.load(std::memory_order_acquire) == head_; };
  while (!spin_until(answered)) {
    if (ring_.stop.load()) ::_exit(0);
    ring_.answer_waits.store(1);
    const std::uint32_t seen = ring_.answered.load();
    if (seen != head_) futex_wait(ring_.answered, seen, kWaitMs);
    ring_.answer_waits.store(0);
  }
}

// The bulk area is one: a record with bytes beside it waits until they are taken.
void RingPort::emit(const abi::Record& record, const void* bulk, std::uint32_t bulk_bytes) {
  push(record, bulk, bulk_bytes, bulk_bytes > 0);
  if (bulk_bytes > 0) wait_for_answer();
}

std::uint64_t RingPort::ask(const abi::Record& record, const void* bulk, std::uint32_t bulk_bytes, void* out,
                            std::uint32_t out_bytes) {
  push(record, bulk, bulk_bytes, true);
  wait_for_answer();
  if (out) std::memcpy(out, ring_.answer_bulk, std::min({out_bytes, ring_.answer_bytes, abi::kBulkBytes}));
  return ring_.answer;
}

}  // namespace evk::twin
