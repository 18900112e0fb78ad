// Cycles of instructions, from a device file. Pure. The model:
//
//   vector  head + repeats * cycles per repeat + bank conflicts; a repeat is 256 bytes
//   copies  a pipe is busy for issue + rows * row cost + bytes / rate; the result is there `latency`
//   later, while the
//           next copy of the pipe may already run. The rate is the port's, or the core's share of HBM or L2.
//
// Numbers and their sources stand in twin/devices/*.toml.
#pragma once

#include <cstdint>

#include "twin/abi/abi.h"
#include "twin/engine/device.h"

namespace evk::twin {

struct VectorCost {
  double head = 0, per_repeat = 0;
};

// How one operand of a vector instruction walks through UB: eight blocks of 32 bytes a repeat. Strides are in
// blocks.
struct Walk {
  std::uint64_t addr = 0;
  std::uint32_t block_stride = 1, repeat_stride = 8;
  bool operator==(const Walk&) const = default;
};

class CostModel {
 public:
  // `blocks` run at once: they share GM's bandwidth.
  CostModel(const Device& device, std::uint32_t blocks, abi::KernelKind kind = abi::KernelKind::kAiv);

  VectorCost vector(abi::Op op, abi::DType dtype) const;
  // Extra cycles because of UB bank conflicts: 16 groups of one 32-byte block, three chunks of 64 KiB. Two
  // reads of one group collide, a read and a write of one group and chunk that do not start alike collide,
  // and the blocks of one operand collide with each other if its stride puts them into one group. `sources`
  // is 0, 1 or 2.
  double bank_cycles(const Walk& dst, const Walk* source, int sources, std::uint64_t repeats) const;

  // Bytes that the bus moves for one row of `bytes` at a GM address: whole sectors within a line, whole lines
  // if the row starts off a line's boundary and crosses one.
  std::uint64_t bus_bytes(std::uint64_t addr, std::uint64_t bytes) const;
  double load_cycles(std::uint64_t rows, double hbm_bytes, double cached_bytes) const;
  double store_cycles(std::uint64_t rows, double bytes) const;

  // The cube unit multiplies 16 x 16 by 16 x (32 bytes) in a cycle, float in four for 16 x 16 x 16.
  double mmad_cycles(abi::DType dtype, std::uint64_t m, std::uint64_t n, std::uint64_t k) const;
  // L1 to L0A, L0B or the bias table.
  double cube_load_cycles(abi::Space to, std::uint64_t bytes) const;
  // L0C to GM, whose bus moves `bus_bytes`, or to L1 (0 bytes).
  double fixpipe_cycles(std::uint64_t elements, double bus_bytes) const;

  // Share of L2 of one running block.
  std::uint64_t l2_share_bytes() const { return l2_share_bytes_; }

  // Constants of the scalar unit and of control, in cycles.
  double issue = 0, block = 0, queue = 0, ub_load = 0, ub_store = 0, gm_hit = 0, gm_miss = 0, flag = 0,
         mask = 0, vector_tail = 0, load_latency = 0, store_latency = 0, block_start = 0, sync_all = 0,
         cross_flag = 0;

 private:
  double bank_cycles_of_repeat(const Walk& dst, const Walk* source, int sources, std::uint64_t repeat) const;

  VectorCost simple_, divide_, divide_half_, exp_, ln_, sqrt_, rsqrt_, compare_, select_, whole_, group_,
      gather_, gather_mask_, three_;
  double half_factor_ = 1;
  double read_read_, read_write_, broadcast_;
  double load_issue_, load_rate_, load_cached_rate_, row_, store_issue_, store_rate_;
  double mmad_head_, load_head_, l0a_rate_, l0b_rate_, bt_rate_, fix_head_, fix_elements_, fix_rate_;
  std::uint64_t sector_, line_, l2_share_bytes_;
};

}  // namespace evk::twin
