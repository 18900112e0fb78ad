// The arithmetic of the cube unit on fractals. Pure: no clocks, no checks. Every element is a chain of fused
// multiply-adds (or 32-bit integer additions) in ascending k, so that results depend on nothing but operands.
//
// A fractal is 16 rows of 32 bytes. L0A holds fractals row by row of the matrix, L0B row by row with each
// fractal transposed, L0C column by column as 16 x 16 words.
#pragma once

#include <cstddef>
#include <cstdint>

#include "twin/abi/abi.h"

namespace evk::twin {

inline constexpr std::uint64_t kFractalBytes = 512, kFractalRows = 16, kFractalRowBytes = 32;

struct MmadShape {
  std::uint64_t m = 0, n = 0, k = 0;
  std::uint64_t k_blocks = 0;  // columns of fractals of L0A: at least k rounded up to whole fractals
};

// c (+)= a * b for half, bfloat16 and float (c float) or int8 (c int32). `bias`, if any, holds n words that
// the rows begin with; else they begin with zero, or with c if `accumulate`.
void mmad(abi::DType dtype, std::byte* c, const std::byte* a, const std::byte* b, const std::byte* bias,
          bool accumulate, const MmadShape& shape);

// Transposes a square of `size`-byte elements that lies in fractals of 16 rows: 16 x 16 of 2 bytes (one
// fractal), 16 x 16 of 4 bytes (two), 32 x 32 of 1 byte (two). `dst` are the fractals of the result.
void transpose_square(std::byte* const* dst, const std::byte* src, std::uint64_t size);

// One row of n elements out of L0C, every 16 of them `step` bytes apart, to `dst`.
struct RowOut {
  abi::DType from = abi::DType::kF32, to = abi::DType::kF32;
  abi::Quant quant = abi::Quant::kNone;
  bool relu = false;
  float scale = 1;
};
void row_out(const RowOut& how, std::byte* dst, const std::byte* src, std::uint64_t step, std::uint64_t n);

}  // namespace evk::twin
