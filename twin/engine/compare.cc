// Comparison, choice, and reductions of one repeat.
#include <immintrin.h>

#include <array>

#include "twin/engine/elements.h"
#include "twin/engine/vector_exec.h"

namespace evk::twin {
namespace {

using abi::CmpMode;
using abi::DType;

template <typename T>
inline bool holds(CmpMode mode, T a, T b) {
  switch (mode) {
    case CmpMode::kLt:
      return a < b;
    case CmpMode::kGt:
      return a > b;
    case CmpMode::kEq:
      return a == b;
    case CmpMode::kLe:
      return a <= b;
    case CmpMode::kGe:
      return a >= b;
    case CmpMode::kNe:
      return a != b;
  }
  return false;
}

void set_bit(std::byte* bits, std::size_t i, bool on) {
  const auto mask = static_cast<std::byte>(1u << (i % 8));
  bits[i / 8] = on ? bits[i / 8] | mask : bits[i / 8] & ~mask;
}

// Bytes of 0 and 1 to bits, from bit `first` on.
void pack_bits(const std::uint8_t* on, std::size_t n, std::byte* bits, std::size_t first) {
  std::size_t i = 0;
  for (; i < n && (first + i) % 8 != 0; ++i) set_bit(bits, first + i, on[i] != 0);
  for (; i + 8 <= n; i += 8)  // the product moves byte k to bit 56 + k
    bits[(first + i) / 8] =
        static_cast<std::byte>(read_as<std::uint64_t>(on + i) * 0x0102040810204080ULL >> 56);
  for (; i < n; ++i) set_bit(bits, first + i, on[i] != 0);
}

void unpack_bits(const std::byte* bits, std::size_t first, std::uint8_t* on, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    on[i] = static_cast<std::uint8_t>(static_cast<unsigned>(bits[(first + i) / 8]) >> ((first + i) % 8) & 1);
}

template <typename T>
void compare_to_bits(CmpMode mode, std::byte* dst, std::size_t first, const T* a, const T* b,
                     std::size_t b_step, std::size_t n) {
  std::array<std::uint8_t, kChunk> on;
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t m = std::min(kChunk, n - at);
    for (std::size_t i = 0; i < m; ++i) on[i] = holds(mode, a[at + i], b[(at + i) * b_step]);
    pack_bits(on.data(), m, dst, first + at);
  }
}

template <typename T>
void choose(std::byte* dst, const std::uint8_t* on, const std::byte* a, const std::byte* b,
            std::size_t b_step, std::size_t n) {
  T* d = as<T>(dst);
  const T *x = as<T>(a), *y = as<T>(b);
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) d[i] = on[i] ? x[i] : y[i * b_step];
}

// The largest (smallest) of n floats, and whether any is a NaN.
std::pair<float, bool> extreme_of(bool largest, const float* x, std::size_t n) {
  __m256 top = _mm256_set1_ps(x[0]), unordered = _mm256_setzero_ps();
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 v = _mm256_loadu_ps(x + i);
    top = largest ? _mm256_max_ps(v, top) : _mm256_min_ps(v, top);
    unordered = _mm256_or_ps(unordered, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  }
  alignas(32) float lanes[8];
  _mm256_store_ps(lanes, top);
  float best = x[0];
  bool nan = _mm256_movemask_ps(unordered) != 0;
  const auto take = [&](float v) {
    best = largest ? (v > best ? v : best) : (v < best ? v : best);
    nan = nan || v != v;
  };
  for (const float v : lanes) take(v);
  for (; i < n; ++i) take(x[i]);
  return {best, nan};
}

// Sums neighbours until one is left, in `x`; half rounds after each step. `width` is a power of two.
float sum_tree(float* x, std::size_t width, bool half) {
  for (width /= 2; width >= 1; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) x[i] = x[2 * i] + x[2 * i + 1];
    if (half)
      for (std::size_t i = 0; i < width; ++i) x[i] = float_of_half(half_of_float(x[i]));
  }
  return x[0];
}

}  // namespace

void compare(CmpMode mode, DType t, std::byte* dst, std::size_t first, const std::byte* a, const std::byte* b,
             std::size_t n) {
  if (t == DType::kI32)
    return compare_to_bits(mode, dst, first, as<std::int32_t>(a), as<std::int32_t>(b), 1, n);
  const std::size_t size = abi::bytes_of(t);
  Floats x, y;
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t m = std::min(kChunk, n - at);
    compare_to_bits(mode, dst, first + at, x.of(t, a + at * size, m), y.of(t, b + at * size, m), 1, m);
  }
}

void compare_scalar(CmpMode mode, DType t, std::byte* dst, std::size_t first, const std::byte* a,
                    std::uint64_t bits, std::size_t n) {
  const auto s = static_cast<float>(load(t, reinterpret_cast<const std::byte*>(&bits)));
  const auto whole = static_cast<std::int32_t>(bits);
  if (t == DType::kI32) return compare_to_bits(mode, dst, first, as<std::int32_t>(a), &whole, 0, n);
  const std::size_t size = abi::bytes_of(t);
  Floats x;
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t m = std::min(kChunk, n - at);
    compare_to_bits(mode, dst, first + at, x.of(t, a + at * size, m), &s, 0, m);
  }
}

void select(DType t, std::byte* dst, const std::byte* mask, std::size_t first, const std::byte* a,
            const std::byte* b, std::uint64_t scalar_bits, std::size_t n) {
  const std::size_t size = abi::bytes_of(t);
  std::array<std::uint8_t, kChunk> on;
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t m = std::min(kChunk, n - at);
    unpack_bits(mask, first + at, on.data(), m);
    const std::byte* other = b ? b + at * size : reinterpret_cast<const std::byte*>(&scalar_bits);
    const auto run = size == 4 ? choose<std::uint32_t> : choose<std::uint16_t>;
    run(dst + at * size, on.data(), a + at * size, other, b ? 1 : 0, m);
  }
}

float tree_sum(DType t, const std::byte* src, std::size_t n) {
  std::array<float, 2 * kChunk> x{};
  n = std::min(n, kChunk);
  if (t == DType::kF32)
    std::memcpy(x.data(), src, n * 4);
  else
    widen(t, src, x.data(), n);
  return sum_tree(x.data(), n <= 64 ? 64 : 128, t == DType::kF16);
}

Reduced extreme(bool largest, DType t, const std::byte* src, std::size_t n) {
  const std::size_t size = abi::bytes_of(t);
  Reduced best{load(t, src), 0};
  Floats chunk;
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t m = std::min(kChunk, n - at);
    const float* x = chunk.of(t, src + at * size, m);
    const auto [top, nan] = extreme_of(largest, x, m);
    const auto value = static_cast<double>(top);
    if (!nan && at > 0 && !(largest ? value > best.value : value < best.value)) continue;
    const float wanted = top;
    const bool want_nan = nan;
    const auto* found = std::find_if(x, x + m, [=](float v) { return want_nan ? v != v : v == wanted; });
    best = {static_cast<double>(*found), at + static_cast<std::size_t>(found - x)};
    if (want_nan) return best;
  }
  return best;
}

}  // namespace evk::twin
