// Numbers of the device: conversions of half and bfloat16, rounding modes, and transcendental functions whose
// bits depend neither on the machine's mathematical library nor on how many elements are worked on at once.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "twin/abi/abi.h"

// Before a loop over elements: no iteration depends on an earlier one.
#ifdef __clang__
#define EVK_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define EVK_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace evk::twin {

float float_of_half(std::uint16_t bits);
std::uint16_t half_of_float(float value);  // round to nearest even
float float_of_bfloat(std::uint16_t bits);
std::uint16_t bfloat_of_float(float value);  // round to nearest even

// The same for n elements of either type (kF16, kBf16).
void widen(abi::DType from, const std::byte* src, float* dst, std::size_t n);
void narrow(abi::DType to, const float* src, std::byte* dst, std::size_t n);

// e^x and ln x to within one unit in the last place of a float.
float exp_of(float x);
float ln_of(float x);
void exp_of(const float* src, float* dst, std::size_t n);
void ln_of(const float* src, float* dst, std::size_t n);

// `value` rounded to an integer by the mode; kNone rounds as kRint.
double rounded(double value, abi::RoundMode mode);
// `value` rounded to the target's precision by the mode (kF16, kBf16), as bits.
std::uint16_t narrowed(float value, abi::DType to, abi::RoundMode mode);

// The device's estimates keep so many bits of the significand: a relative error up to 1.2e-4 (float), 1e-3
// (half).
inline float estimate(float exact, bool half) {
  const std::uint32_t drop = half ? 14 : 11;
  const auto bits = std::bit_cast<std::uint32_t>(exact);
  const std::uint32_t nearest = (bits + (1u << (drop - 1))) >> drop << drop;
  return (bits & 0x7f800000u) == 0x7f800000u ? exact : std::bit_cast<float>(nearest);
}

}  // namespace evk::twin
