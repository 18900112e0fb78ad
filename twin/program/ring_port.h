// The program's end of a ring.
#pragma once

#include "twin/program/ring.h"

namespace evk::twin {

// Writes records into a ring. When the engine wants no more, the process ends.
class RingPort final : public abi::Port {
 public:
  explicit RingPort(Ring& ring) : ring_(ring) {}
  void emit(const abi::Record& record, const void* bulk, std::uint32_t bulk_bytes) override;
  std::uint64_t ask(const abi::Record& record, const void* bulk, std::uint32_t bulk_bytes, void* out,
                    std::uint32_t out_bytes) override;

 private:
  void push(const abi::Record& record, const void* bulk, std::uint32_t bulk_bytes, bool wants_answer);
  void wait_for_room();
  void wait_for_answer();
  Ring& ring_;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;  // as last seen
};

}  // namespace evk::twin
