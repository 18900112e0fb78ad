// Helpers of the vector semantics: integer types by value, chunks of floats for 16-bit types.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "twin/abi/abi.h"
#include "twin/engine/numeric.h"

namespace evk::twin {

inline constexpr std::size_t kChunk = 256;  // half and bfloat16 are worked on as floats, a chunk at a time

inline bool is_float(abi::DType t) {
  return t == abi::DType::kF32 || t == abi::DType::kF16 || t == abi::DType::kBf16;
}

// Calls `f` with a value of the integer type; false if there is none.
template <typename F>
bool with_int(abi::DType dtype, F f) {
  using abi::DType;
  switch (dtype) {
    case DType::kI8:
      return f(std::int8_t{}), true;
    case DType::kU8:
    case DType::kBool:
      return f(std::uint8_t{}), true;
    case DType::kI16:
      return f(std::int16_t{}), true;
    case DType::kU16:
      return f(std::uint16_t{}), true;
    case DType::kI32:
      return f(std::int32_t{}), true;
    case DType::kU32:
      return f(std::uint32_t{}), true;
    case DType::kI64:
      return f(std::int64_t{}), true;
    case DType::kU64:
      return f(std::uint64_t{}), true;
    default:
      return false;
  }
}

template <typename T>
T read_as(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <typename T>
const T* as(const std::byte* p) {
  return reinterpret_cast<const T*>(p);
}
template <typename T>
T* as(std::byte* p) {
  return reinterpret_cast<T*>(p);
}

// Elements as floats: the memory itself for float, a converted chunk otherwise.
class Floats {
 public:
  const float* of(abi::DType t, const std::byte* src, std::size_t n) {
    if (t == abi::DType::kF32) return as<float>(src);
    widen(t, src, chunk_, n);
    return chunk_;
  }
  // Where a result of n elements is to be computed; finish() then puts it to `dst`.
  float* room(abi::DType t, std::byte* dst) { return t == abi::DType::kF32 ? as<float>(dst) : chunk_; }
  void finish(abi::DType t, std::byte* dst, std::size_t n) {
    if (t != abi::DType::kF32) narrow(t, chunk_, dst, n);
  }

 private:
  alignas(64) float chunk_[kChunk];
};

}  // namespace evk::twin
