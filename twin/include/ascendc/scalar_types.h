// half, bfloat16_t and their names in the interface. Scalar arithmetic goes through float with one rounding.
#pragma once

#include <cstdint>

#include "ascendc/port.h"

namespace evk_half {

constexpr std::uint32_t bits_of_float(float f) { return __builtin_bit_cast(std::uint32_t, f); }
constexpr float float_of_bits(std::uint32_t b) { return __builtin_bit_cast(float, b); }

// Round to nearest even.
constexpr std::uint16_t half_bits(float f) {
  const std::uint32_t b = bits_of_float(f), sign = b >> 16 & 0x8000, magnitude = b & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7e00);
  if (magnitude >= 0x477ff000) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000) {  // subnormal: align by adding a float whose last place is a half's
    const float shifted = float_of_bits(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (bits_of_float(shifted) - 0x3f000000));
  }
  const std::uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}
constexpr float float_of_half(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000) << 16, exponent = h >> 10 & 31,
                      mantissa = h & 1023;
  if (exponent == 31) return float_of_bits(sign | 0x7f800000 | mantissa << 13);
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * (1.0f / 16777216.0f);
    return sign ? -value : value;
  }
  return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}
constexpr std::uint16_t bfloat_bits(float f) {
  const std::uint32_t b = bits_of_float(f);
  if ((b & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>(b >> 16 | 0x40);
  return static_cast<std::uint16_t>((b + 0x7fff + (b >> 16 & 1)) >> 16);
}
constexpr float float_of_bfloat(std::uint16_t h) {
  return float_of_bits(static_cast<std::uint32_t>(h) << 16);
}

}  // namespace evk_half

// 16-bit floats: stored as such, computed as float, rounded once when stored.
#define EVK_SHORT_FLOAT(Name, to_bits, to_float)                                      \
  class Name {                                                                        \
   public:                                                                            \
    Name() = default;                                                                 \
    template <typename A, typename = std::enable_if_t<std::is_arithmetic_v<A>>>       \
    constexpr Name(A value) : bits_(evk_half::to_bits(static_cast<float>(value))) {}  \
    constexpr operator float() const { return evk_half::to_float(bits_); }            \
    Name& operator+=(float v) { return *this = Name(static_cast<float>(*this) + v); } \
    Name& operator-=(float v) { return *this = Name(static_cast<float>(*this) - v); } \
    Name& operator*=(float v) { return *this = Name(static_cast<float>(*this) * v); } \
    Name& operator/=(float v) { return *this = Name(static_cast<float>(*this) / v); } \
                                                                                      \
   private:                                                                           \
    std::uint16_t bits_;                                                              \
  };                                                                                  \
  static_assert(sizeof(Name) == 2)
EVK_SHORT_FLOAT(half, half_bits, float_of_half);
EVK_SHORT_FLOAT(bfloat16_t, bfloat_bits, float_of_bfloat);
#undef EVK_SHORT_FLOAT

struct int4b_t {};

namespace AscendC {
namespace evk_detail {

template <typename T>
struct TypeOf;  // an element type that the device does not have
#define EVK_TYPE(Type, Name)                              \
  template <>                                             \
  struct TypeOf<Type> {                                   \
    static constexpr abi::DType value = abi::DType::Name; \
  };
EVK_TYPE(float, kF32)
EVK_TYPE(half, kF16)
EVK_TYPE(bfloat16_t, kBf16)
EVK_TYPE(double, kF64)
EVK_TYPE(std::int8_t, kI8)
EVK_TYPE(std::uint8_t, kU8)
EVK_TYPE(std::int16_t, kI16)
EVK_TYPE(std::uint16_t, kU16)
EVK_TYPE(std::int32_t, kI32)
EVK_TYPE(std::uint32_t, kU32)
EVK_TYPE(std::int64_t, kI64)
EVK_TYPE(std::uint64_t, kU64)
EVK_TYPE(bool, kBool)
#undef EVK_TYPE

template <typename T, typename... Of>
inline constexpr bool is_one_of = (std::is_same_v<T, Of> || ...);

}  // namespace evk_detail

using ::int4b_t;

inline float ToFloat(const bfloat16_t& v) { return v; }
inline float ToFloat(const half& v) { return v; }
inline bfloat16_t ToBfloat16(const float& v) { return v; }

}  // namespace AscendC
