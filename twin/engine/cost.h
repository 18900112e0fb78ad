// Cycles of instructions, from a device file (docs/twin.md explains the model). Pure.
#pragma once

#include <cstdint>

#include "twin/abi/abi.h"
#include "twin/engine/device.h"

namespace evk::twin {

class CostModel {
 public:
  // `blocks` run at once: they share GM's bandwidth.
  CostModel(const Device& device, std::uint32_t blocks);

  // Head + repeats * cycles per repeat (a repeat is 256 bytes).
  double vector_cycles(abi::Op op, std::uint64_t repeats) const;
  // Extra cycles of `repeats` because of UB bank conflicts between operands at these offsets (16 bank groups
  // of 32 bytes).
  double bank_cycles(std::uint64_t dst, std::uint64_t src0, std::uint64_t src1, bool two_sources,
                     std::uint64_t repeats) const;
  // A copy from or to GM of `blocks` pieces of `bytes` each: small pieces use the bus badly.
  double load_cycles(std::uint64_t pieces, std::uint64_t bytes) const;
  double store_cycles(std::uint64_t pieces, std::uint64_t bytes) const;
  double issue() const { return issue_; }
  double at(const char* name) const { return device_.at(name); }

 private:
  double dma(double head, double rate, std::uint64_t pieces, std::uint64_t bytes) const;
  const Device& device_;
  double head_, simple_, divide_, transcendental_, whole_reduce_, gather_, issue_;
  double load_rate_, store_rate_, burst_min_;
};

}  // namespace evk::twin
