// Numbers of the device: conversions of half and bfloat16, rounding modes, and transcendental functions whose
// bits do not depend on the machine's mathematical library.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "twin/abi/abi.h"

namespace evk::twin {

float float_of_half(std::uint16_t bits);
std::uint16_t half_of_float(float value);  // round to nearest even
float float_of_bfloat(std::uint16_t bits);
std::uint16_t bfloat_of_float(float value);  // round to nearest even

// e^x and ln x, correct to within one unit in the last place of a float (evaluated in double).
float exp_of(float x);
float ln_of(float x);

// `value` rounded to an integer by the mode; kNone rounds as kRint.
double rounded(double value, abi::RoundMode mode);
// `value` rounded to the target's precision by the mode (kFloat16, kBf16), as bits.
std::uint16_t narrowed(float value, abi::DType to, abi::RoundMode mode);

}  // namespace evk::twin
