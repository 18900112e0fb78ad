#include "twin/engine/numeric.h"

#include <immintrin.h>

#include <bit>
#include <cstring>

namespace evk::twin {
namespace {

constexpr float kLog2E = 1.44269504088896341f;
// ln 2 in two parts; the first has few bits, so that its product with a small integer is exact.
constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;

inline float power_of_two(std::int32_t k) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(k + 127) << 23);
}

// e^x = 2^k e^r with |r| <= ln(2)/2; e^r = 1 + r + r^2 p(r), p fitted for the least largest relative error
// (5e-11).
[[gnu::always_inline]] inline float exp_element(float x) {
  const float clamped = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;  // beyond, float has inf and 0 only
  const float shifted = std::fma(clamped, kLog2E, 12582912.0f);         // 1.5 * 2^23: rounds to an integer
  const float k = shifted - 12582912.0f;
  const float r = std::fma(k, -kLn2Low, std::fma(k, -kLn2High, clamped));
  float p = 0.000197901405f;
  p = std::fma(p, r, 0.00139448687f);
  p = std::fma(p, r, 0.00833349861f);
  p = std::fma(p, r, 0.0416662917f);
  p = std::fma(p, r, 0.166666657f);
  p = std::fma(p, r, 0.5f);
  const float e = std::fma(p, r * r, r) + 1.0f;
  // Two factors, since 2^k itself may not be a float where the result is one.
  const auto n = static_cast<std::int32_t>(k), half = n >> 1;
  return x != x ? x : e * power_of_two(half) * power_of_two(n - half);
}

// ln x = k ln 2 + ln(1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); ln(1 + f) = f - f^2/2 + f^3 q(f).
[[gnu::always_inline]] inline float ln_element(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const float scaled = x * (tiny ? 8388608.0f : 1.0f);  // 2^23: no subnormals
  const auto bits = std::bit_cast<std::int32_t>(scaled);
  const std::int32_t k = (bits - 0x3f3504f3) >> 23;
  const float f = std::bit_cast<float>(bits - (k << 23)) - 1.0f;
  const float kf = static_cast<float>(k) - (tiny ? 23.0f : 0.0f);
  float q = 0.0674660131f;
  q = std::fma(q, f, -0.116756409f);
  q = std::fma(q, f, 0.118881747f);
  q = std::fma(q, f, -0.124055915f);
  q = std::fma(q, f, 0.142195508f);
  q = std::fma(q, f, -0.166679963f);
  q = std::fma(q, f, 0.200021192f);
  q = std::fma(q, f, -0.250000089f);
  q = std::fma(q, f, 0.333333135f);
  const float square = f * f;
  const float tail = std::fma(kf, kLn2Low, std::fma(-0.5f, square, q * (square * f)));
  const float value = std::fma(kf, kLn2High, f + tail);
  const float infinity = HUGE_VALF, nan = std::bit_cast<float>(0x7fc00000u);
  const float below = x == 0.0f ? -infinity : nan;
  const float positive = x < infinity ? value : infinity;
  return x > 0.0f ? positive : below;
}

// Moves a narrowed value one step when rounding to nearest took the wrong side for the mode.
std::uint16_t stepped(std::uint16_t bits, bool up) {
  const bool negative = bits & 0x8000;
  if ((bits & 0x7fff) == 0) return up ? 0x0001 : 0x8001;
  return static_cast<std::uint16_t>(up == negative ? bits - 1 : bits + 1);
}

inline std::uint16_t bfloat_element(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, nan = bits >> 16 | 0x40;
  return static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? nan : nearest);
}

}  // namespace

float float_of_half(std::uint16_t bits) { return _cvtsh_ss(bits); }
std::uint16_t half_of_float(float value) { return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT); }
float float_of_bfloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}
std::uint16_t bfloat_of_float(float value) { return bfloat_element(value); }

void widen(abi::DType from, const std::byte* src, float* dst, std::size_t n) {
  const auto* in = reinterpret_cast<const std::uint16_t*>(src);
  std::size_t i = 0;
  if (from == abi::DType::kF16)
    for (; i + 8 <= n; i += 8)
      _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  else
    for (; i < n; ++i) dst[i] = std::bit_cast<float>(static_cast<std::uint32_t>(in[i]) << 16);
  for (; i < n; ++i) dst[i] = float_of_half(in[i]);
}

void narrow(abi::DType to, const float* src, std::byte* dst, std::size_t n) {
  auto* out = reinterpret_cast<std::uint16_t*>(dst);
  std::size_t i = 0;
  if (to == abi::DType::kF16)
    for (; i + 8 <= n; i += 8)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                       _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT));
  else
    for (; i < n; ++i) out[i] = bfloat_element(src[i]);
  for (; i < n; ++i) out[i] = half_of_float(src[i]);
}

float exp_of(float x) { return exp_element(x); }
float ln_of(float x) { return ln_element(x); }
void exp_of(const float* src, float* dst, std::size_t n) {
  EVK_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) dst[i] = exp_element(src[i]);
}
void ln_of(const float* src, float* dst, std::size_t n) {
  EVK_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) dst[i] = ln_element(src[i]);
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
  const auto toward_zero = [&] {
    return std::fabs(back) > std::fabs(value) ? stepped(near, value < 0) : near;
  };
  switch (mode) {
    case abi::RoundMode::kNone:
    case abi::RoundMode::kRint:
      return near;
    case abi::RoundMode::kFloor:
      return back > value ? stepped(near, false) : near;
    case abi::RoundMode::kCeil:
      return back < value ? stepped(near, true) : near;
    case abi::RoundMode::kTrunc:
      return toward_zero();
    case abi::RoundMode::kOdd:
      return static_cast<std::uint16_t>(toward_zero() | 1);
    case abi::RoundMode::kRound: {
      const std::uint16_t low = toward_zero();
      const auto high = static_cast<std::uint16_t>(low + 1);
      const auto float_of = [&](std::uint16_t b) { return half ? float_of_half(b) : float_of_bfloat(b); };
      if (std::isinf(float_of(high))) return near;  // half the way to infinity: as to nearest
      const double middle = (static_cast<double>(float_of(low)) + static_cast<double>(float_of(high))) / 2;
      return std::fabs(static_cast<double>(value)) >= std::fabs(middle) ? high : low;
    }
  }
  return near;
}

}  // namespace evk::twin
