// What a program is told about the launch that it is to run: names, shapes and chip, no contents. Plain
// memory, so that it can lie in a ring.
#pragma once

#include <cstdint>

#include "twin/abi/abi.h"

namespace evk::twin {

inline constexpr std::uint32_t kTensorsMax =
    62;  // with workspace and tiling, the 64 arguments that a kernel may have
inline constexpr std::uint32_t kRankMax = 8;
inline constexpr std::uint32_t kOrderMax = 4096;

struct TensorDescription {
  char name[64];
  abi::DType dtype;
  std::uint32_t rank;
  std::int64_t size[kRankMax];
  std::uint64_t gm_addr;
};

struct LaunchDescription {
  char op[128];
  char soc[64];
  std::uint32_t inputs, outputs;
  TensorDescription tensor[kTensorsMax];  // inputs, then outputs
  std::uint32_t order_size;
  std::uint32_t order[kOrderMax];  // block order, applied modulo the block dim; empty = ascending
  std::uint32_t aiv_cores, aic_cores;
  std::uint64_t ub_bytes, l1_bytes, l0a_bytes, l0b_bytes, l0c_bytes;
  std::uint32_t tiling_only;
  std::uint32_t no_data;  // elements read as zero; the program need not wait for them
};

}  // namespace evk::twin
