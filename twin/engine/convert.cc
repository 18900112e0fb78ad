// Cast: which conversions exist, and what they give.
#include <immintrin.h>

#include <limits>

#include "twin/engine/elements.h"
#include "twin/engine/vector_exec.h"

namespace evk::twin {
namespace {

using abi::DType;
using abi::RoundMode;

// Sets of modes, as bits.
constexpr unsigned bit(RoundMode m) { return 1u << static_cast<unsigned>(m); }
constexpr unsigned kNone = bit(RoundMode::kNone), kOdd = bit(RoundMode::kOdd),
                   kFive = bit(RoundMode::kRint) | bit(RoundMode::kFloor) | bit(RoundMode::kCeil) |
                           bit(RoundMode::kRound) | bit(RoundMode::kTrunc);

struct Conversion {
  DType from, to;
  unsigned modes;
};
// Where nothing can be lost, the modes are all alike: the device's table lists one, kernels write any.
constexpr Conversion kConversions[] = {
    {DType::kI8, DType::kF16, kNone | kFive},
    {DType::kU8, DType::kF16, kNone | kFive},
    {DType::kI16, DType::kF16, kNone | kFive},
    {DType::kI16, DType::kF32, kNone | kFive},
    {DType::kF16, DType::kI8, kNone | kFive},
    {DType::kF16, DType::kU8, kNone | kFive},
    {DType::kF16, DType::kI16, kFive},
    {DType::kF16, DType::kI32, kFive},
    {DType::kF16, DType::kF32, kNone | kFive},
    {DType::kBf16, DType::kF32, kNone | kFive},
    {DType::kBf16, DType::kI32, kFive},
    {DType::kI32, DType::kI16, kNone | kFive},
    {DType::kI32, DType::kF16, kNone | kFive},
    {DType::kI32, DType::kF32, kNone | kFive},
    {DType::kI32, DType::kI64, kNone | kFive},
    {DType::kF32, DType::kI16, kFive},
    {DType::kF32, DType::kI32, kFive},
    {DType::kF32, DType::kI64, kFive},
    {DType::kF32, DType::kF32, kFive},
    {DType::kF32, DType::kBf16, kFive},
    {DType::kF32, DType::kF16, kNone | kFive | kOdd},
    {DType::kI64, DType::kI32, kNone | kFive},
    {DType::kI64, DType::kF32, kNone | kFive},
};

unsigned modes_of(DType to, DType from) {
  for (const auto& c : kConversions)
    if (c.from == from && c.to == to) return c.modes;
  return 0;
}

template <RoundMode mode>
inline float to_integer(float v) {
  if constexpr (mode == RoundMode::kFloor) return std::floor(v);
  if constexpr (mode == RoundMode::kCeil) return std::ceil(v);
  if constexpr (mode == RoundMode::kTrunc) return std::trunc(v);
  if constexpr (mode == RoundMode::kRound) {  // halves away from zero
    const float whole = std::trunc(v);
    return std::fabs(v - whole) >= 0.5f ? whole + std::copysign(1.0f, v) : whole;
  }
  return std::nearbyint(v);
}

template <RoundMode mode, typename T>
void floats_to_ints(const float* src, T* dst, std::size_t n) {
  constexpr T kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  constexpr auto kLowest = static_cast<float>(kLow), kBeyond = static_cast<float>(kHigh);
  EVK_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    const float v = to_integer<mode>(src[i]);
    const bool in_range = v > kLowest && v < kBeyond;
    const T whole = static_cast<T>(in_range ? v : 0.0f);
    dst[i] = in_range ? whole : v >= kBeyond ? kHigh : v <= kLowest ? kLow : T{0};
  }
}

// Calls `f` with the mode as a constant; kNone rounds as kRint.
template <typename F>
void with_mode(RoundMode mode, F f) {
  switch (mode) {
    case RoundMode::kFloor:
      return f(std::integral_constant<RoundMode, RoundMode::kFloor>());
    case RoundMode::kCeil:
      return f(std::integral_constant<RoundMode, RoundMode::kCeil>());
    case RoundMode::kRound:
      return f(std::integral_constant<RoundMode, RoundMode::kRound>());
    case RoundMode::kTrunc:
      return f(std::integral_constant<RoundMode, RoundMode::kTrunc>());
    default:
      return f(std::integral_constant<RoundMode, RoundMode::kRint>());
  }
}

void from_floats(DType to, std::byte* dst, const float* src, RoundMode mode, std::size_t n) {
  with_mode(mode, [&](auto m) {
    constexpr RoundMode kMode = decltype(m)::value;
    if (to == DType::kF32) {
      auto* out = as<float>(dst);
      EVK_INDEPENDENT
      for (std::size_t i = 0; i < n; ++i) out[i] = to_integer<kMode>(src[i]);
    } else {
      with_int(to, [&](auto zero) { floats_to_ints<kMode>(src, as<decltype(zero)>(dst), n); });
    }
  });
}

template <int immediate>
void floats_to_halves(const float* src, std::uint16_t* dst, std::size_t n) {
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(src + i), immediate));
  for (; i < n; ++i) dst[i] = static_cast<std::uint16_t>(_cvtss_sh(src[i], immediate));
}

void narrow_by_mode(DType to, std::byte* dst, const float* src, RoundMode mode, std::size_t n) {
  auto* out = as<std::uint16_t>(dst);
  if (mode == RoundMode::kNone || mode == RoundMode::kRint) return narrow(to, src, dst, n);
  if (to == DType::kF16 && mode == RoundMode::kFloor)
    return floats_to_halves<_MM_FROUND_TO_NEG_INF>(src, out, n);
  if (to == DType::kF16 && mode == RoundMode::kCeil)
    return floats_to_halves<_MM_FROUND_TO_POS_INF>(src, out, n);
  if (to == DType::kF16 && mode == RoundMode::kTrunc)
    return floats_to_halves<_MM_FROUND_TO_ZERO>(src, out, n);
  for (std::size_t i = 0; i < n; ++i) out[i] = narrowed(src[i], to, mode);
}

// Integers to floats. The result has 24 bits: only what is wider than that is rounded, by the mode.
float float_of_int(std::int64_t v, RoundMode mode) {
  const auto near = static_cast<float>(v);
  const auto back = static_cast<long double>(near), exact = static_cast<long double>(v);
  if (back == exact || mode == RoundMode::kNone || mode == RoundMode::kRint) return near;
  const float below = back > exact ? std::nextafter(near, -HUGE_VALF) : near;
  const float above = back < exact ? std::nextafter(near, HUGE_VALF) : near;
  switch (mode) {
    case RoundMode::kFloor:
      return below;
    case RoundMode::kCeil:
      return above;
    case RoundMode::kTrunc:
      return v > 0 ? below : above;
    default: {
      const long double middle = (static_cast<long double>(below) + static_cast<long double>(above)) / 2;
      return exact == middle ? (v > 0 ? above : below) : near;
    }
  }
}

void ints_to_floats(DType from, const std::byte* src, float* dst, RoundMode mode, std::size_t n) {
  with_int(from, [&](auto zero) {
    using T = decltype(zero);
    const T* in = as<T>(src);
    if (sizeof(T) < 4 || mode == RoundMode::kNone || mode == RoundMode::kRint) {
      for (std::size_t i = 0; i < n; ++i) dst[i] = static_cast<float>(in[i]);
      return;
    }
    for (std::size_t i = 0; i < n; ++i) dst[i] = float_of_int(static_cast<std::int64_t>(in[i]), mode);
  });
}

void ints_to_ints(DType to, std::byte* dst, DType from, const std::byte* src, std::size_t n) {
  with_int(from, [&](auto from_zero) {
    with_int(to, [&](auto to_zero) {
      using From = decltype(from_zero);
      using To = decltype(to_zero);
      constexpr auto kLow = static_cast<std::int64_t>(std::numeric_limits<To>::min());
      constexpr auto kHigh = static_cast<std::int64_t>(
          std::min<std::uint64_t>(std::numeric_limits<To>::max(), std::numeric_limits<std::int64_t>::max()));
      for (std::size_t i = 0; i < n; ++i)
        as<To>(dst)[i] =
            static_cast<To>(std::clamp(static_cast<std::int64_t>(as<From>(src)[i]), kLow, kHigh));
    });
  });
}

}  // namespace

bool is_castable(DType to, DType from) { return modes_of(to, from) != 0; }
bool is_castable(DType to, DType from, RoundMode mode) {
  return mode <= RoundMode::kOdd && (modes_of(to, from) & bit(mode)) != 0;
}

void cast(DType to, std::byte* dst, DType from, const std::byte* src, RoundMode mode, std::size_t n) {
  if (!is_float(from) && !is_float(to)) return ints_to_ints(to, dst, from, src, n);
  const std::size_t from_size = abi::bytes_of(from), to_size = abi::bytes_of(to);
  Floats chunk;
  float staged[kChunk];
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t m = std::min(kChunk, n - at);
    const std::byte* in = src + at * from_size;
    std::byte* out = dst + at * to_size;
    const float* values = staged;
    if (is_float(from))
      values = chunk.of(from, in, m);
    else
      ints_to_floats(from, in, staged, mode, m);
    if (to == DType::kF16 || to == DType::kBf16)
      narrow_by_mode(to, out, values, mode, m);
    else if (to == DType::kF32 && from != DType::kF32)
      std::memmove(out, values, m * sizeof(float));
    else
      from_floats(to, out, values, mode, m);
  }
}

}  // namespace evk::twin
