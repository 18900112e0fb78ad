#include "twin/engine/vector_exec.h"

#include <limits>

#include "twin/engine/elements.h"

namespace evk::twin {
namespace {

using abi::DType;
using abi::Op;

// NaN-aware as the device: a NaN operand gives NaN.
inline float max_of(float a, float b) { return a != a ? a : b != b ? b : a > b ? a : b; }
inline float min_of(float a, float b) { return a != a ? a : b != b ? b : a < b ? a : b; }

// Sources coincide with the destination or lie apart from it, so that elements are independent of one
// another.
template <typename T, typename F>
void loop1(T* d, const T* a, std::size_t n, F f) {
  EVK_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) d[i] = f(a[i]);
}
template <typename T, typename F>
void loop2(T* d, const T* a, const T* b, std::size_t n, F f) {
  EVK_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) d[i] = f(a[i], b[i]);
}

void float_binary(Op op, float* d, const float* a, const float* b, std::size_t n) {
  switch (op) {
    case Op::kAdd:
      return loop2(d, a, b, n, [](float x, float y) { return x + y; });
    case Op::kSub:
      return loop2(d, a, b, n, [](float x, float y) { return x - y; });
    case Op::kMul:
      return loop2(d, a, b, n, [](float x, float y) { return x * y; });
    case Op::kDiv:
      return loop2(d, a, b, n, [](float x, float y) { return x / y; });
    case Op::kMax:
      return loop2(d, a, b, n, [](float x, float y) { return max_of(x, y); });
    case Op::kMin:
      return loop2(d, a, b, n, [](float x, float y) { return min_of(x, y); });
    case Op::kAddRelu:
      return loop2(d, a, b, n, [](float x, float y) { return max_of(x + y, 0.0f); });
    case Op::kSubRelu:
      return loop2(d, a, b, n, [](float x, float y) { return max_of(x - y, 0.0f); });
    default:
      EVK_CHECK(false, "no float operation {}", static_cast<int>(op));
  }
}

// d = a * b + c, rounded once.
void float_fused(bool relu, float* d, const float* a, const float* b, const float* c, std::size_t n) {
  EVK_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    const float v = std::fma(a[i], b[i], c[i]);
    d[i] = relu ? max_of(v, 0.0f) : v;
  }
}

void float_unary(Op op, bool half, float* d, const float* a, std::size_t n) {
  switch (op) {
    case Op::kExp:
      return exp_of(a, d, n);
    case Op::kLn:
      return ln_of(a, d, n);
    case Op::kAbs:
      return loop1(d, a, n, [](float x) { return std::fabs(x); });
    case Op::kReciprocal:
      return loop1(d, a, n, [half](float x) { return estimate(1.0f / x, half); });
    case Op::kSqrt:
      return loop1(d, a, n, [](float x) { return std::sqrt(x); });
    case Op::kRsqrt:
      return loop1(d, a, n, [half](float x) { return estimate(1.0f / std::sqrt(x), half); });
    case Op::kRelu:
      return loop1(d, a, n, [](float x) { return max_of(x, 0.0f); });
    default:
      EVK_CHECK(false, "no float operation {}", static_cast<int>(op));
  }
}

void float_scalar(Op op, float* d, const float* a, float s, std::size_t n) {
  switch (op) {
    case Op::kAdds:
      return loop1(d, a, n, [s](float x) { return x + s; });
    case Op::kMuls:
      return loop1(d, a, n, [s](float x) { return x * s; });
    case Op::kMaxs:
      return loop1(d, a, n, [s](float x) { return max_of(x, s); });
    case Op::kMins:
      return loop1(d, a, n, [s](float x) { return min_of(x, s); });
    case Op::kLeakyRelu:
      return loop1(d, a, n, [s](float x) { return x >= 0 ? x : x * s; });
    default:
      EVK_CHECK(false, "no float operation {}", static_cast<int>(op));
  }
}

// Integer arithmetic wraps as the device's does.
template <typename T>
void int_binary(Op op, T* d, const T* a, const T* b, std::size_t n) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case Op::kAdd:
      return loop2(d, a, b, n,
                   [](T x, T y) { return static_cast<T>(static_cast<U>(x) + static_cast<U>(y)); });
    case Op::kSub:
      return loop2(d, a, b, n,
                   [](T x, T y) { return static_cast<T>(static_cast<U>(x) - static_cast<U>(y)); });
    case Op::kMul:
      return loop2(d, a, b, n, [](T x, T y) {
        return static_cast<T>(std::uint64_t{static_cast<U>(x)} * static_cast<U>(y));
      });
    case Op::kMax:
      return loop2(d, a, b, n, [](T x, T y) { return x > y ? x : y; });
    case Op::kMin:
      return loop2(d, a, b, n, [](T x, T y) { return x < y ? x : y; });
    case Op::kAnd:
      return loop2(d, a, b, n, [](T x, T y) { return static_cast<T>(x & y); });
    case Op::kOr:
      return loop2(d, a, b, n, [](T x, T y) { return static_cast<T>(x | y); });
    case Op::kXor:
      return loop2(d, a, b, n, [](T x, T y) { return static_cast<T>(x ^ y); });
    default:  // AddRelu and SubRelu of int16
      return loop2(d, a, b, n, [op](T x, T y) {
        const U v = op == Op::kAddRelu ? static_cast<U>(static_cast<U>(x) + static_cast<U>(y))
                                       : static_cast<U>(static_cast<U>(x) - static_cast<U>(y));
        const T s = static_cast<T>(v);
        return s > T{0} ? s : T{0};
      });
  }
}

template <typename T>
void int_scalar(Op op, T* d, const T* a, std::uint64_t bits, bool round, std::size_t n) {
  using U = std::make_unsigned_t<T>;
  const T s = read_as<T>(&bits);
  constexpr unsigned kBits = 8 * sizeof(T);
  // The scalar of a shift is its distance; beyond the width nothing but the sign is left.
  const unsigned shift = static_cast<unsigned>(std::min<std::uint64_t>(static_cast<U>(s), kBits));
  switch (op) {
    case Op::kShiftLeft:
      return loop1(d, a, n, [shift](T x) {
        return shift >= kBits ? T{0} : static_cast<T>(std::uint64_t{static_cast<U>(x)} << shift);
      });
    case Op::kShiftRight:
      return loop1(d, a, n, [shift, round](T x) {
        const unsigned by = std::min(shift, kBits - 1);
        const bool all_out = shift >= kBits && !std::is_signed_v<T>;
        const T carry = round && by > 0 ? static_cast<T>((x >> (by - 1)) & 1) : T{0};
        return all_out ? T{0} : static_cast<T>((x >> by) + carry);
      });
    case Op::kAdds:
      return loop1(d, a, n, [s](T x) { return static_cast<T>(static_cast<U>(x) + static_cast<U>(s)); });
    case Op::kMuls:
      return loop1(d, a, n,
                   [s](T x) { return static_cast<T>(std::uint64_t{static_cast<U>(x)} * static_cast<U>(s)); });
    case Op::kMaxs:
      return loop1(d, a, n, [s](T x) { return x > s ? x : s; });
    default:
      return loop1(d, a, n, [s](T x) { return x < s ? x : s; });
  }
}

template <typename T>
void fill(std::byte* dst, std::uint64_t bits, std::size_t n) {
  std::fill_n(as<T>(dst), n, static_cast<T>(bits));
}

}  // namespace

bool is_supported(Op op, DType t) {
  const bool floats = t == DType::kF32 || t == DType::kF16;
  const bool ints = t == DType::kI16 || t == DType::kI32;
  switch (op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kMax:
    case Op::kMin:
    case Op::kAdds:
    case Op::kMuls:
    case Op::kMaxs:
    case Op::kMins:
    case Op::kCreateVecIndex:
      return floats || ints;
    case Op::kAddRelu:
    case Op::kSubRelu:
      return floats || t == DType::kI16;
    case Op::kAnd:
    case Op::kOr:
    case Op::kNot:
    case Op::kXor:
      return t == DType::kI16 || t == DType::kU16;
    case Op::kShiftLeft:
    case Op::kShiftRight:
      return ints || t == DType::kU16 || t == DType::kU32;
    case Op::kRelu:
      return floats || t == DType::kI32;
    case Op::kDuplicate:
      return floats || ints || t == DType::kBf16 || t == DType::kU16 || t == DType::kU32;
    case Op::kCopy:
      return abi::bytes_of(t) == 2 || abi::bytes_of(t) == 4;
    default:
      return floats;
  }
}

void binary(Op op, DType t, std::byte* dst, const std::byte* a, const std::byte* b, std::size_t n) {
  if (op == Op::kMulAddDst) return multiply_add(t, dst, t, a, b, 0, n);
  const bool is_int = with_int(t, [&](auto zero) {
    using T = decltype(zero);
    int_binary<T>(op, as<T>(dst), as<T>(a), as<T>(b), n);
  });
  if (is_int || !is_float(t)) return;
  const std::size_t size = abi::bytes_of(t), step = t == DType::kF32 ? n : kChunk;
  const bool fused = op == Op::kFusedMulAdd || op == Op::kFusedMulAddRelu;
  Floats x, y, z, d;
  for (std::size_t at = 0; at < n; at += step) {
    const std::size_t m = std::min(step, n - at);
    std::byte* to = dst + at * size;
    const float *first = x.of(t, a + at * size, m), *second = y.of(t, b + at * size, m);
    if (fused)
      float_fused(op == Op::kFusedMulAddRelu, d.room(t, to), first, z.of(t, to, m), second, m);
    else
      float_binary(op, d.room(t, to), first, second, m);
    d.finish(t, to, m);
  }
}

void multiply_add(DType to, std::byte* dst, DType from, const std::byte* a, const std::byte* b,
                  std::uint64_t scalar_bits, std::size_t n) {
  const std::size_t from_size = abi::bytes_of(from), to_size = abi::bytes_of(to);
  float scalars[kChunk];
  if (!b)
    std::fill_n(scalars, kChunk, static_cast<float>(load(from, reinterpret_cast<std::byte*>(&scalar_bits))));
  Floats x, y, z, d;
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t m = std::min(kChunk, n - at);
    std::byte* out = dst + at * to_size;
    const float* second = b ? y.of(from, b + at * from_size, m) : scalars;
    float_fused(false, d.room(to, out), x.of(from, a + at * from_size, m), second, z.of(to, out, m), m);
    d.finish(to, out, m);
  }
}

void unary(Op op, DType t, std::byte* dst, const std::byte* src, std::size_t n) {
  const bool is_int = with_int(t, [&](auto zero) {
    using T = decltype(zero);
    if (op == Op::kNot) return loop1(as<T>(dst), as<T>(src), n, [](T x) { return static_cast<T>(~x); });
    loop1(as<T>(dst), as<T>(src), n, [](T x) { return x > T{0} ? x : T{0}; });
  });
  if (is_int || !is_float(t)) return;
  const std::size_t size = abi::bytes_of(t), step = t == DType::kF32 ? n : kChunk;
  Floats x, d;
  for (std::size_t at = 0; at < n; at += step) {
    const std::size_t m = std::min(step, n - at);
    std::byte* to = dst + at * size;
    float_unary(op, t == DType::kF16, d.room(t, to), x.of(t, src + at * size, m), m);
    d.finish(t, to, m);
  }
}

void with_scalar(Op op, DType t, std::byte* dst, const std::byte* src, std::uint64_t bits, std::size_t n,
                 bool round) {
  const std::size_t size = abi::bytes_of(t), step = t == DType::kF32 ? n : kChunk;
  if (op == Op::kDuplicate)
    return size == 4 ? fill<std::uint32_t>(dst, bits, n) : fill<std::uint16_t>(dst, bits, n);
  const bool is_int = with_int(t, [&](auto zero) {
    using T = decltype(zero);
    int_scalar<T>(op, as<T>(dst), as<T>(src), bits, round, n);
  });
  if (is_int || !is_float(t)) return;
  const auto scalar = static_cast<float>(load(t, reinterpret_cast<const std::byte*>(&bits)));
  Floats x, d;
  for (std::size_t at = 0; at < n; at += step) {
    const std::size_t m = std::min(step, n - at);
    std::byte* to = dst + at * size;
    float_scalar(op, d.room(t, to), x.of(t, src + at * size, m), scalar, m);
    d.finish(t, to, m);
  }
}

double load(DType t, const std::byte* at) {
  switch (t) {
    case DType::kF32:
      return static_cast<double>(read_as<float>(at));
    case DType::kF64:
      return read_as<double>(at);
    case DType::kF16:
      return static_cast<double>(float_of_half(read_as<std::uint16_t>(at)));
    case DType::kBf16:
      return static_cast<double>(float_of_bfloat(read_as<std::uint16_t>(at)));
    default: {
      double value = 0;
      with_int(t, [&](auto zero) { value = static_cast<double>(read_as<decltype(zero)>(at)); });
      return value;
    }
  }
}

void store(DType t, std::byte* at, double value) {
  switch (t) {
    case DType::kF32: {
      const auto v = static_cast<float>(value);
      std::memcpy(at, &v, 4);
      return;
    }
    case DType::kF64:
      std::memcpy(at, &value, 8);
      return;
    case DType::kF16:
    case DType::kBf16: {
      const std::uint16_t bits = t == DType::kF16 ? half_of_float(static_cast<float>(value))
                                                  : bfloat_of_float(static_cast<float>(value));
      std::memcpy(at, &bits, 2);
      return;
    }
    default:
      with_int(t, [&](auto zero) {
        using T = decltype(zero);
        constexpr T kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
        const T v = std::isnan(value)                     ? T{0}
                    : value <= static_cast<double>(kLow)  ? kLow
                    : value >= static_cast<double>(kHigh) ? kHigh
                                                          : static_cast<T>(value);
        std::memcpy(at, &v, sizeof(T));
      });
  }
}

}  // namespace evk::twin
