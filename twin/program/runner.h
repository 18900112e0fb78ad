// The program's side: what the compiled candidate calls (declared in twin/include/ascendc/port.h and
// evk_host/op_def.h), and the life of one launch: load, tiling, blocks.
#pragma once

#include <string>

#include "twin/abi/abi.h"
#include "twin/program/ring.h"

namespace evk::twin {

// Writes records into a ring.
class RingPort final : public abi::Port {
 public:
  explicit RingPort(Ring& ring) : ring_(ring) {}
  void emit(const abi::Record& record, const void* bulk, std::uint32_t bulk_bytes) override;
  std::uint64_t ask(const abi::Record& record, const void* bulk, std::uint32_t bulk_bytes, void* out,
                    std::uint32_t out_bytes) override;

 private:
  void push(const abi::Record& record, const void* bulk, std::uint32_t bulk_bytes, bool wants_answer);
  void wait_for_answer();
  Ring& ring_;
  std::uint32_t head_ = 0;
};

// Runs the launch that the ring describes with the candidate in `shared_object`. Does not return.
[[noreturn]] void run_program(Ring& ring, const std::string& shared_object);

}  // namespace evk::twin
