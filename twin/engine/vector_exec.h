// What the vector instructions compute, on contiguous elements. No clocks, no checks: operands are known to
// lie in their memories, and sources coincide with the destination or do not overlap it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "twin/abi/abi.h"

namespace evk::twin {

// True if the device has this instruction for this element type (Atlas A2).
bool is_supported(abi::Op op, abi::DType dtype);

// dst[i] = a[i] op b[i]; kMulAddDst: a*b + dst; kFusedMulAdd: a*dst + b, rounded once.
// REQUIRES: is_supported, or an arithmetic dtype for kAdd, kMax, kMin (atomic copies).
void binary(abi::Op op, abi::DType dtype, std::byte* dst, const std::byte* a, const std::byte* b,
            std::size_t n);
// dst[i] = op(src[i]).
void unary(abi::Op op, abi::DType dtype, std::byte* dst, const std::byte* src, std::size_t n);
// dst[i] = src[i] op scalar; kDuplicate: dst[i] = scalar. `bits` hold the scalar in the element type; `round`
// asks kShiftRight to round to nearest.
void with_scalar(abi::Op op, abi::DType dtype, std::byte* dst, const std::byte* src, std::uint64_t bits,
                 std::size_t n, bool round = false);
// float or half dst[i] += a[i] * b[i], or a[i] * scalar if b is null, with half sources for a float
// destination.
void multiply_add(abi::DType to, std::byte* dst, abi::DType from, const std::byte* a, const std::byte* b,
                  std::uint64_t scalar_bits, std::size_t n);

// --- convert.cc
// Converts; integers saturate, halves overflow to infinity.
void cast(abi::DType to, std::byte* dst, abi::DType from, const std::byte* src, abi::RoundMode mode,
          std::size_t n);
// Which conversions the device has, and with which modes.
bool is_castable(abi::DType to, abi::DType from);
bool is_castable(abi::DType to, abi::DType from, abi::RoundMode mode);

// --- compare.cc
// dst bit first + i = a[i] cmp b[i].
void compare(abi::CmpMode mode, abi::DType dtype, std::byte* dst, std::size_t first, const std::byte* a,
             const std::byte* b, std::size_t n);
void compare_scalar(abi::CmpMode mode, abi::DType dtype, std::byte* dst, std::size_t first,
                    const std::byte* a, std::uint64_t bits, std::size_t n);
// dst[i] = bit first + i of mask ? a[i] : b[i]; `scalar_bits` stand for b where it is null.
void select(abi::DType dtype, std::byte* dst, const std::byte* mask, std::size_t first, const std::byte* a,
            const std::byte* b, std::uint64_t scalar_bits, std::size_t n);

struct Reduced {
  double value = 0;
  std::size_t index = 0;
};
// Sum of up to one repeat in the order of the hardware's adder tree, rounded to the element type at each
// step. float and half.
float tree_sum(abi::DType dtype, const std::byte* src, std::size_t n);
// First largest (smallest) element; a NaN beats all. n > 0; float and half.
Reduced extreme(bool largest, abi::DType dtype, const std::byte* src, std::size_t n);

double load(abi::DType dtype, const std::byte* at);
void store(abi::DType dtype, std::byte* at, double value);

}  // namespace evk::twin
