// half, bfloat16_t and their names in the interface. Scalar arithmetic goes through float with one rounding.
#pragma once

#include <cstdint>

#include "ascendc/port.h"

namespace evk_half {

inline std::uint32_t bits_of_float(float f) {
  std::uint32_t b;
  __builtin_memcpy(&b, &f, 4);
  return b;
}
inline float float_of_bits(std::uint32_t b) {
  float f;
  __builtin_memcpy(&f, &b, 4);
  return f;
}

inline std::uint16_t half_bits(float f) {
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
inline float float_of_half(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000) << 16, exponent = h >> 10 & 31,
                      mantissa = h & 1023;
  if (exponent == 31) return float_of_bits(sign | 0x7f800000 | mantissa << 13);
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * (1.0f / 16777216.0f);
    return sign ? -value : value;
  }
  return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}
inline std::uint16_t bfloat_bits(float f) {
  const std::uint32_t b = bits_of_float(f);
  if ((b & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>(b >> 16 | 0x40);
  return static_cast<std::uint16_t>((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

}  // namespace evk_half

class half {
 public:
  half() = default;
  half(float f) : bits_(evk_half::half_bits(f)) {}
  half(double f) : half(static_cast<float>(f)) {}
  half(int i) : half(static_cast<float>(i)) {}
  operator float() const { return evk_half::float_of_half(bits_); }

 private:
  std::uint16_t bits_;
};

class bfloat16_t {
 public:
  bfloat16_t() = default;
  bfloat16_t(float f) : bits_(evk_half::bfloat_bits(f)) {}
  operator float() const { return evk_half::float_of_bits(static_cast<std::uint32_t>(bits_) << 16); }

 private:
  std::uint16_t bits_;
};

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
}  // namespace AscendC
