#include "twin/engine/vector_exec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/check.h"
#include "twin/engine/numeric.h"

namespace evk::twin {
namespace {

using abi::DType;
using abi::Op;

constexpr std::size_t kChunk = 256;  // half and bfloat16 work on floats, a chunk at a time

void to_floats(DType dtype, const std::byte* src, float* out, std::size_t n) {
  if (dtype == DType::kF32) {
    std::memcpy(out, src, n * 4);
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, src + 2 * i, 2);
    out[i] = dtype == DType::kF16 ? float_of_half(bits) : float_of_bfloat(bits);
  }
}

void from_floats(DType dtype, const float* in, std::byte* dst, std::size_t n) {
  if (dtype == DType::kF32) {
    std::memcpy(dst, in, n * 4);
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint16_t bits = dtype == DType::kF16 ? half_of_float(in[i]) : bfloat_of_float(in[i]);
    std::memcpy(dst + 2 * i, &bits, 2);
  }
}

bool is_float(DType t) { return t == DType::kF32 || t == DType::kF16 || t == DType::kBf16; }

// NaN-aware as the device: a NaN operand gives NaN.
float max_of(float a, float b) { return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b); }
float min_of(float a, float b) { return std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b); }

template <typename F>
void loop2(float* d, const float* a, const float* b, std::size_t n, F f) {
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
      return loop2(d, a, b, n, max_of);
    case Op::kMin:
      return loop2(d, a, b, n, min_of);
    case Op::kAddRelu:
      return loop2(d, a, b, n, [](float x, float y) { return max_of(x + y, 0.0f); });
    case Op::kSubRelu:
      return loop2(d, a, b, n, [](float x, float y) { return max_of(x - y, 0.0f); });
    case Op::kMulAddDst:
      return loop2(d, a, b, n, [](float x, float y) { return x * y; });
    default:
      EVK_CHECK(false, "no float operation {}", static_cast<int>(op));
  }
}

void float_unary(Op op, float* d, const float* a, std::size_t n) {
  const auto loop = [&](auto f) {
    for (std::size_t i = 0; i < n; ++i) d[i] = f(a[i]);
  };
  switch (op) {
    case Op::kExp:
      return loop([](float x) { return exp_of(x); });
    case Op::kLn:
      return loop([](float x) { return ln_of(x); });
    case Op::kAbs:
      return loop([](float x) { return std::fabs(x); });
    case Op::kReciprocal:
      return loop([](float x) { return 1.0f / x; });
    case Op::kSqrt:
      return loop([](float x) { return std::sqrt(x); });
    case Op::kRsqrt:
      return loop([](float x) { return 1.0f / std::sqrt(x); });
    case Op::kRelu:
      return loop([](float x) { return max_of(x, 0.0f); });
    default:
      EVK_CHECK(false, "no float operation {}", static_cast<int>(op));
  }
}

void float_scalar(Op op, float* d, const float* a, float s, std::size_t n) {
  const auto loop = [&](auto f) {
    for (std::size_t i = 0; i < n; ++i) d[i] = f(a[i]);
  };
  switch (op) {
    case Op::kAdds:
      return loop([s](float x) { return x + s; });
    case Op::kMuls:
      return loop([s](float x) { return x * s; });
    case Op::kMaxs:
      return loop([s](float x) { return max_of(x, s); });
    case Op::kMins:
      return loop([s](float x) { return min_of(x, s); });
    case Op::kLeakyRelu:
      return loop([s](float x) { return x >= 0 ? x : x * s; });
    case Op::kAxpy:
      for (std::size_t i = 0; i < n; ++i) d[i] += a[i] * s;
      return;
    default:
      EVK_CHECK(false, "no float operation {}", static_cast<int>(op));
  }
}

// Integer arithmetic wraps as the device's does.
template <typename T, typename U = std::make_unsigned_t<T>>
T int_binary(Op op, T a, T b) {
  switch (op) {
    case Op::kAdd:
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    case Op::kSub:
      return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
    case Op::kMul:
      return static_cast<T>(static_cast<std::uint64_t>(static_cast<U>(a)) * static_cast<U>(b));
    case Op::kMax:
      return std::max(a, b);
    case Op::kMin:
      return std::min(a, b);
    case Op::kAnd:
      return static_cast<T>(a & b);
    case Op::kOr:
      return static_cast<T>(a | b);
    default:
      EVK_CHECK(false, "no integer operation {}", static_cast<int>(op));
  }
}

Op binary_of_scalar(Op op) {
  switch (op) {
    case Op::kAdds:
      return Op::kAdd;
    case Op::kMuls:
      return Op::kMul;
    case Op::kMaxs:
      return Op::kMax;
    default:
      return Op::kMin;
  }
}

// Calls `f` with a value of the integer type.
template <typename F>
void with_int(DType dtype, F f) {
  switch (dtype) {
    case DType::kI8:
      return f(std::int8_t{});
    case DType::kU8:
    case DType::kBool:
      return f(std::uint8_t{});
    case DType::kI16:
      return f(std::int16_t{});
    case DType::kU16:
      return f(std::uint16_t{});
    case DType::kI32:
      return f(std::int32_t{});
    case DType::kU32:
      return f(std::uint32_t{});
    case DType::kI64:
      return f(std::int64_t{});
    case DType::kU64:
      return f(std::uint64_t{});
    default:
      EVK_CHECK(false, "no integer type {}", static_cast<int>(dtype));
  }
}

template <typename T>
T read_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

bool holds(abi::CmpMode mode, double a, double b) {
  switch (mode) {
    case abi::CmpMode::kLt:
      return a < b;
    case abi::CmpMode::kGt:
      return a > b;
    case abi::CmpMode::kEq:
      return a == b;
    case abi::CmpMode::kLe:
      return a <= b;
    case abi::CmpMode::kGe:
      return a >= b;
    case abi::CmpMode::kNe:
      return a != b;
  }
  return false;
}

void set_bit(std::byte* bits, std::size_t i, bool on) {
  const auto mask = static_cast<std::byte>(1u << (i % 8));
  bits[i / 8] = on ? bits[i / 8] | mask : bits[i / 8] & ~mask;
}

}  // namespace

bool is_supported(Op op, DType t) {
  const bool f32_f16 = t == DType::kF32 || t == DType::kF16;
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
      return f32_f16 || ints;
    case Op::kAnd:
    case Op::kOr:
    case Op::kNot:
      return t == DType::kI16 || t == DType::kU16;
    case Op::kShiftLeft:
    case Op::kShiftRight:
      return ints || t == DType::kU16 || t == DType::kU32;
    case Op::kRelu:
      return f32_f16 || t == DType::kI32;
    case Op::kDuplicate:
      return f32_f16 || ints || t == DType::kBf16 || t == DType::kU16 || t == DType::kU32;
    case Op::kSelect:
    case Op::kCompare:
    case Op::kCompareScalar:
      return f32_f16;
    default:
      return f32_f16;
  }
}

void binary(Op op, DType t, std::byte* dst, const std::byte* a, const std::byte* b, std::size_t n) {
  if (!is_float(t)) {
    with_int(t, [&](auto zero) {
      using T = decltype(zero);
      for (std::size_t i = 0; i < n; ++i) {
        const T r = int_binary<T>(op, read_as<T>(a + i * sizeof(T)), read_as<T>(b + i * sizeof(T)));
        std::memcpy(dst + i * sizeof(T), &r, sizeof(T));
      }
    });
    return;
  }
  const std::size_t size = abi::bytes_of(t);
  std::array<float, kChunk> x, y, d;
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t m = std::min(kChunk, n - at);
    to_floats(t, a + at * size, x.data(), m);
    to_floats(t, b + at * size, y.data(), m);
    float_binary(op, d.data(), x.data(), y.data(), m);
    if (op == Op::kMulAddDst) {
      to_floats(t, dst + at * size, x.data(), m);
      for (std::size_t i = 0; i < m; ++i) d[i] += x[i];
    }
    from_floats(t, d.data(), dst + at * size, m);
  }
}

void unary(Op op, DType t, std::byte* dst, const std::byte* src, std::size_t n) {
  if (!is_float(t)) {
    with_int(t, [&](auto zero) {
      using T = decltype(zero);
      for (std::size_t i = 0; i < n; ++i) {
        const T x = read_as<T>(src + i * sizeof(T));
        const T r = op == Op::kNot ? static_cast<T>(~x) : std::max(x, T{0});
        std::memcpy(dst + i * sizeof(T), &r, sizeof(T));
      }
    });
    return;
  }
  const std::size_t size = abi::bytes_of(t);
  std::array<float, kChunk> x, d;
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t m = std::min(kChunk, n - at);
    to_floats(t, src + at * size, x.data(), m);
    float_unary(op, d.data(), x.data(), m);
    from_floats(t, d.data(), dst + at * size, m);
  }
}

void with_scalar(Op op, DType t, std::byte* dst, const std::byte* src, std::uint64_t bits, std::size_t n) {
  const std::size_t size = abi::bytes_of(t);
  if (op == Op::kDuplicate) {
    for (std::size_t i = 0; i < n; ++i) std::memcpy(dst + i * size, &bits, size);
    return;
  }
  if (!is_float(t)) {
    with_int(t, [&](auto zero) {
      using T = decltype(zero);
      T s;
      std::memcpy(&s, &bits, sizeof(T));
      const auto shift = static_cast<unsigned>(bits) % (8 * sizeof(T));
      for (std::size_t i = 0; i < n; ++i) {
        const T x = read_as<T>(src + i * sizeof(T));
        T r;
        if (op == Op::kShiftLeft)
          r = static_cast<T>(static_cast<std::uint64_t>(x) << shift);
        else if (op == Op::kShiftRight)
          r = static_cast<T>(x >> shift);
        else
          r = int_binary<T>(binary_of_scalar(op), x, s);
        std::memcpy(dst + i * sizeof(T), &r, sizeof(T));
      }
    });
    return;
  }
  const auto scalar = static_cast<float>(load(t, reinterpret_cast<const std::byte*>(&bits)));
  std::array<float, kChunk> x, d;
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t m = std::min(kChunk, n - at);
    to_floats(t, src + at * size, x.data(), m);
    if (op == Op::kAxpy) to_floats(t, dst + at * size, d.data(), m);
    float_scalar(op, d.data(), x.data(), scalar, m);
    from_floats(t, d.data(), dst + at * size, m);
  }
}

bool is_castable(DType to, DType from) {
  const auto known = [](DType t) {
    return is_float(t) || t == DType::kI32 || t == DType::kI16 || t == DType::kI8 || t == DType::kU8 ||
           t == DType::kI64;
  };
  return known(to) && known(from) && to != from;
}

void cast(DType to, std::byte* dst, DType from, const std::byte* src, abi::RoundMode mode, std::size_t n) {
  const std::size_t from_size = abi::bytes_of(from), to_size = abi::bytes_of(to);
  for (std::size_t i = 0; i < n; ++i) {
    const double value = load(from, src + i * from_size);
    if (to == DType::kF16 || to == DType::kBf16) {
      const std::uint16_t bits = narrowed(static_cast<float>(value), to, mode);
      std::memcpy(dst + i * to_size, &bits, 2);
    } else {
      store(to, dst + i * to_size, is_float(to) || !is_float(from) ? value : rounded(value, mode));
    }
  }
}

void compare(abi::CmpMode mode, DType t, std::byte* dst, const std::byte* a, const std::byte* b,
             std::size_t n) {
  const std::size_t size = abi::bytes_of(t);
  for (std::size_t i = 0; i < n; ++i)
    set_bit(dst, i, holds(mode, load(t, a + i * size), load(t, b + i * size)));
}

void compare_scalar(abi::CmpMode mode, DType t, std::byte* dst, const std::byte* a, std::uint64_t bits,
                    std::size_t n) {
  const std::size_t size = abi::bytes_of(t);
  const double s = load(t, reinterpret_cast<const std::byte*>(&bits));
  for (std::size_t i = 0; i < n; ++i) set_bit(dst, i, holds(mode, load(t, a + i * size), s));
}

void select(DType t, std::byte* dst, const std::byte* mask, const std::byte* a, const std::byte* b,
            std::size_t n) {
  const std::size_t size = abi::bytes_of(t);
  for (std::size_t i = 0; i < n; ++i) {
    const bool on = (static_cast<unsigned>(mask[i / 8]) >> (i % 8)) & 1;
    std::memmove(dst + i * size, (on ? a : b) + i * size, size);
  }
}

double tree_sum(DType t, const std::byte* src, std::size_t n) {
  const std::size_t size = abi::bytes_of(t);
  if (n == 0) return 0;
  if (t == DType::kF32 || t == DType::kF16) {
    std::array<float, kChunk> x{};
    EVK_CHECK(n <= kChunk);
    to_floats(t, src, x.data(), n);
    for (std::size_t width = std::bit_ceil(n); width > 1; width /= 2)
      for (std::size_t i = 0; i < width / 2; ++i) {
        x[i] = x[2 * i] + x[2 * i + 1];
        if (t == DType::kF16) x[i] = float_of_half(half_of_float(x[i]));
        if (i > 0) continue;
      }
    return static_cast<double>(x[0]);
  }
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += load(t, src + i * size);
  return sum;
}

Reduced extreme(bool largest, DType t, const std::byte* src, std::size_t n) {
  const std::size_t size = abi::bytes_of(t);
  Reduced best{load(t, src), 0};
  for (std::size_t i = 1; i < n; ++i) {
    const double x = load(t, src + i * size);
    if (std::isnan(best.value)) break;
    if (std::isnan(x) || (largest ? x > best.value : x < best.value)) best = {x, i};
  }
  return best;
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
        const double low = static_cast<double>(std::numeric_limits<T>::min()),
                     high = static_cast<double>(std::numeric_limits<T>::max());
        const T v = std::isnan(value) ? T{0}
                    : value <= low    ? std::numeric_limits<T>::min()
                    : value >= high   ? std::numeric_limits<T>::max()
                                      : static_cast<T>(value);
        std::memcpy(at, &v, sizeof(T));
      });
  }
}

}  // namespace evk::twin
