#include "twin/engine/numeric.h"

#include <immintrin.h>

#include <bit>

namespace evk::twin {
namespace {

constexpr double kLn2 = 0.693147180559945309417232121458;

// 2^k for k in the range of double exponents.
double power_of_two(int k) { return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52); }

// Moves a narrowed value one step when rounding to nearest took the wrong side for the mode.
std::uint16_t stepped(std::uint16_t bits, bool up) {
  const bool negative = bits & 0x8000;
  if ((bits & 0x7fff) == 0) return up ? 0x0001 : 0x8001;
  return static_cast<std::uint16_t>(up == negative ? bits - 1 : bits + 1);
}

}  // namespace

float float_of_half(std::uint16_t bits) { return _cvtsh_ss(bits); }
std::uint16_t half_of_float(float value) { return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT); }
float float_of_bfloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t bfloat_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float exp_of(float x) {
  if (std::isnan(x)) return x;
  if (x > 89.0f) return HUGE_VALF;
  if (x < -104.0f) return 0.0f;
  const double k = std::nearbyint(static_cast<double>(x) / kLn2);
  const double r = static_cast<double>(x) - k * kLn2;
  // Taylor to degree 11 on |r| <= ln(2)/2: the remainder is below 1e-14.
  double sum = 1;
  for (int i = 11; i >= 1; --i) sum = 1 + sum * r / i;
  return static_cast<float>(sum * power_of_two(static_cast<int>(k)));
}

float ln_of(float x) {
  if (std::isnan(x)) return x;
  if (x < 0) return std::nanf("");
  if (x == 0) return -HUGE_VALF;
  if (std::isinf(x)) return x;
  int exponent = 0;
  double m = std::frexp(static_cast<double>(x), &exponent);  // [0.5, 1)
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  // ln m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172: terms to s^19 leave an error below 1e-16.
  const double s = (m - 1) / (m + 1), s2 = s * s;
  double sum = 0;
  for (int i = 19; i >= 1; i -= 2) sum = sum * s2 + 1.0 / i;
  return static_cast<float>(2 * s * sum + exponent * kLn2);
}

double rounded(double v, abi::RoundMode mode) {
  switch (mode) {
    case abi::RoundMode::kNone:
    case abi::RoundMode::kRint:
      return std::nearbyint(v);
    case abi::RoundMode::kFloor:
      return std::floor(v);
    case abi::RoundMode::kCeil:
      return std::ceil(v);
    case abi::RoundMode::kRound:
      return std::round(v);
    case abi::RoundMode::kTrunc:
      return std::trunc(v);
    case abi::RoundMode::kOdd: {
      const double t = std::trunc(v);
      return t == v || std::fmod(t, 2) != 0 ? t : t + (v > 0 ? 1 : -1);
    }
  }
  return std::nearbyint(v);
}

std::uint16_t narrowed(float value, abi::DType to, abi::RoundMode mode) {
  const bool half = to == abi::DType::kF16;
  const std::uint16_t near = half ? half_of_float(value) : bfloat_of_float(value);
  const float back = half ? float_of_half(near) : float_of_bfloat(near);
  if (std::isnan(value) || back == value || std::isinf(value)) return near;
  switch (mode) {
    case abi::RoundMode::kNone:
    case abi::RoundMode::kRint:
      return near;
    case abi::RoundMode::kFloor:
      return back > value ? stepped(near, false) : near;
    case abi::RoundMode::kCeil:
      return back < value ? stepped(near, true) : near;
    case abi::RoundMode::kTrunc:
      return std::fabs(back) > std::fabs(value) ? stepped(near, value < 0) : near;
    case abi::RoundMode::kOdd: {
      const std::uint16_t low = std::fabs(back) > std::fabs(value) ? stepped(near, value < 0) : near;
      return static_cast<std::uint16_t>(low | 1);
    }
    case abi::RoundMode::kRound: {
      const std::uint16_t low = std::fabs(back) > std::fabs(value) ? stepped(near, value < 0) : near;
      const auto high = static_cast<std::uint16_t>(low + 1);
      const auto float_of = [&](std::uint16_t b) { return half ? float_of_half(b) : float_of_bfloat(b); };
      const double middle = (static_cast<double>(float_of(low)) + static_cast<double>(float_of(high))) / 2;
      return std::fabs(static_cast<double>(value)) >= std::fabs(middle) ? high : low;
    }
  }
  return near;
}

}  // namespace evk::twin
