// What the vector instructions compute, on contiguous elements. No clocks, no checks: operands are known to
// lie in their memories.
#pragma once

#include <cstddef>
#include <cstdint>

#include "twin/abi/abi.h"

namespace evk::twin {

// True if the device has this instruction for this element type (Atlas A2).
bool is_supported(abi::Op op, abi::DType dtype);

// dst[i] = a[i] op b[i]. REQUIRES: is_supported.
void binary(abi::Op op, abi::DType dtype, std::byte* dst, const std::byte* a, const std::byte* b,
            std::size_t n);
// dst[i] = op(src[i]).
void unary(abi::Op op, abi::DType dtype, std::byte* dst, const std::byte* src, std::size_t n);
// dst[i] = src[i] op scalar; kAxpy: dst[i] += scalar * src[i]; kDuplicate: dst[i] = scalar. `bits` hold the
// scalar in the element type.
void with_scalar(abi::Op op, abi::DType dtype, std::byte* dst, const std::byte* src, std::uint64_t bits,
                 std::size_t n);
// Converts; integers saturate.
void cast(abi::DType to, std::byte* dst, abi::DType from, const std::byte* src, abi::RoundMode mode,
          std::size_t n);
bool is_castable(abi::DType to, abi::DType from);
// dst bit i = a[i] cmp b[i], from bit 0 of dst.
void compare(abi::CmpMode mode, abi::DType dtype, std::byte* dst, const std::byte* a, const std::byte* b,
             std::size_t n);
void compare_scalar(abi::CmpMode mode, abi::DType dtype, std::byte* dst, const std::byte* a,
                    std::uint64_t bits, std::size_t n);
// dst[i] = bit i of mask ? a[i] : b[i].
void select(abi::DType dtype, std::byte* dst, const std::byte* mask, const std::byte* a, const std::byte* b,
            std::size_t n);

struct Reduced {
  double value = 0;
  std::size_t index = 0;
};
// Sum of up to one repeat in the order of the hardware's adder tree, rounded to the element type at each
// step.
double tree_sum(abi::DType dtype, const std::byte* src, std::size_t n);
// First largest (smallest) element; n > 0.
Reduced extreme(bool largest, abi::DType dtype, const std::byte* src, std::size_t n);

double load(abi::DType dtype, const std::byte* at);
void store(abi::DType dtype, std::byte* at, double value);

}  // namespace evk::twin
