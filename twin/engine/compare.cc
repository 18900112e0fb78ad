// Comparison, choice, and reductions of one repeat.
#include <immintrin.h>

#include <array>

#include "twin/engine/elements.h"
#include "twin/engine/vector_exec.h"

namespace evk::twin {
namespace {

using abi::CmpMode;
using abi::DType;

// Calls `f` with the comparison as a function object, so that its loop vectorises.
template <typename T, typename F>
void with_comparison(CmpMode mode, F f) {
  switch (mode) {
    case CmpMode::kLt:
      return f([](T a, T b) { return a < b; });
    case CmpMode::kGt:
      return f([](T a, T b) { return a > b; });
    case CmpMode::kEq:
      return f([](T a, T b) { return a == b; });
    case CmpMode::kLe:
      return f([](T a, T b) { return a <= b; });
    case CmpMode::kGe:
      return f([](T a, T b) { return a >= b; });
    case CmpMode::kNe:
      return f([](T a, T b) { return a != b; });
  }
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

// Bits to masks of all ones or none, an element each.
void unpack_bits(const std::byte* bits, std::size_t first, std::uint32_t* on, std::size_t n) {
  std::size_t i = 0;
  const auto one = [&](std::size_t at) {
    on[at] = 0u - (static_cast<std::uint32_t>(bits[(first + at) / 8]) >> ((first + at) % 8) & 1u);
  };
  for (; i < n && (first + i) % 8 != 0; ++i) one(i);
  const __m256i select = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  for (; i + 8 <= n; i += 8) {
    const __m256i byte = _mm256_set1_epi32(static_cast<int>(bits[(first + i) / 8]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(on + i),
                        _mm256_cmpeq_epi32(_mm256_and_si256(byte, select), select));
  }
  for (; i < n; ++i) one(i);
}

template <typename T>
void compare_to_bits(CmpMode mode, std::byte* dst, std::size_t first, const T* a, const T* b, bool scalar,
                     std::size_t n) {
  std::array<std::uint32_t, kChunk> on;
  std::array<std::uint8_t, kChunk> narrow_on;
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t m = std::min(kChunk, n - at);
    with_comparison<T>(mode, [&](auto holds) {
      const T s = *b;
      if (scalar)
        for (std::size_t i = 0; i < m; ++i) on[i] = holds(a[at + i], s) ? 1 : 0;
      else
        for (std::size_t i = 0; i < m; ++i) on[i] = holds(a[at + i], b[at + i]) ? 1 : 0;
    });
    for (std::size_t i = 0; i < m; ++i) narrow_on[i] = static_cast<std::uint8_t>(on[i]);
    pack_bits(narrow_on.data(), m, dst, first + at);
  }
}

template <typename T>
void choose(std::byte* dst, const std::uint32_t* on, const std::byte* a, const std::byte* b, bool scalar,
            std::size_t n) {
  T* d = as<T>(dst);
  const T *x = as<T>(a), *y = as<T>(b), s = *y;
  if (scalar) {
    EVK_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) d[i] = static_cast<T>((x[i] & on[i]) | (s & ~on[i]));
  } else {
    EVK_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) d[i] = static_cast<T>((x[i] & on[i]) | (y[i] & ~on[i]));
  }
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

// out[i] = x[2i] + x[2i+1]; n is a multiple of 8.
void add_neighbours(const float* x, float* out, std::size_t n) {
  for (std::size_t i = 0; i < n; i += 8) {
    const __m256 sums = _mm256_hadd_ps(_mm256_loadu_ps(x + 2 * i), _mm256_loadu_ps(x + 2 * i + 8));
    _mm256_storeu_ps(out + i, _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(sums), 0b11011000)));
  }
}

// Sums neighbours until one is left; half rounds after each step. `width` is 64 or 128.
float sum_tree(const float* x, std::size_t width, bool half) {
  alignas(32) float sums[64];
  const auto keep = [&](std::size_t n) {
    for (std::size_t i = 0; half && i < n; i += 8)
      _mm256_storeu_ps(
          sums + i, _mm256_cvtph_ps(_mm256_cvtps_ph(_mm256_loadu_ps(sums + i), _MM_FROUND_TO_NEAREST_INT)));
  };
  add_neighbours(x, sums, width / 2);
  keep(width / 2);
  for (std::size_t n = width / 4; n >= 8; n /= 2) {
    add_neighbours(sums, sums, n);
    keep(n);
  }
  for (std::size_t n = 4; n >= 1; n /= 2)
    for (std::size_t i = 0; i < n; ++i) {
      sums[i] = sums[2 * i] + sums[2 * i + 1];
      if (half) sums[i] = float_of_half(half_of_float(sums[i]));
    }
  return sums[0];
}

}  // namespace

void compare(CmpMode mode, DType t, std::byte* dst, std::size_t first, const std::byte* a, const std::byte* b,
             std::size_t n) {
  if (t == DType::kI32)
    return compare_to_bits(mode, dst, first, as<std::int32_t>(a), as<std::int32_t>(b), false, n);
  const std::size_t size = abi::bytes_of(t);
  Floats x, y;
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t m = std::min(kChunk, n - at);
    compare_to_bits(mode, dst, first + at, x.of(t, a + at * size, m), y.of(t, b + at * size, m), false, m);
  }
}

void compare_scalar(CmpMode mode, DType t, std::byte* dst, std::size_t first, const std::byte* a,
                    std::uint64_t bits, std::size_t n) {
  const auto s = static_cast<float>(load(t, reinterpret_cast<const std::byte*>(&bits)));
  const auto whole = static_cast<std::int32_t>(bits);
  if (t == DType::kI32) return compare_to_bits(mode, dst, first, as<std::int32_t>(a), &whole, true, n);
  const std::size_t size = abi::bytes_of(t);
  Floats x;
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t m = std::min(kChunk, n - at);
    compare_to_bits(mode, dst, first + at, x.of(t, a + at * size, m), &s, true, m);
  }
}

void select(DType t, std::byte* dst, const std::byte* mask, std::size_t first, const std::byte* a,
            const std::byte* b, std::uint64_t scalar_bits, std::size_t n) {
  const std::size_t size = abi::bytes_of(t);
  std::array<std::uint32_t, kChunk> on;
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t m = std::min(kChunk, n - at);
    unpack_bits(mask, first + at, on.data(), m);
    const std::byte* other = b ? b + at * size : reinterpret_cast<const std::byte*>(&scalar_bits);
    const auto run = size == 4 ? choose<std::uint32_t> : choose<std::uint16_t>;
    run(dst + at * size, on.data(), a + at * size, other, b == nullptr, m);
  }
}

float tree_sum(DType t, const std::byte* src, std::size_t n) {
  if (t == DType::kF32 && n == 64) return sum_tree(as<float>(src), 64, false);
  alignas(32) std::array<float, 128> x{};
  n = std::min(n, x.size());
  if (t == DType::kF32)
    std::memcpy(x.data(), src, n * 4);
  else
    widen(t, src, x.data(), n);
  return sum_tree(x.data(), t == DType::kF32 ? 64 : 128, t == DType::kF16);
}

Reduced extreme(bool largest, DType t, const std::byte* src, std::size_t n) {
  const std::size_t size = abi::bytes_of(t);
  float best = 0;
  std::size_t chunk_of_best = 0;
  Floats chunk;
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t m = std::min(kChunk, n - at);
    const auto [top, nan] = extreme_of(largest, chunk.of(t, src + at * size, m), m);
    if (at > 0 && !nan && !(largest ? top > best : top < best)) continue;
    best = nan ? std::bit_cast<float>(0x7fc00000u) : top;
    chunk_of_best = at;
    if (nan) break;
  }
  const std::size_t m = std::min(kChunk, n - chunk_of_best);
  const float* x = chunk.of(t, src + chunk_of_best * size, m);
  const auto* found = std::find_if(x, x + m, [&](float v) { return best != best ? v != v : v == best; });
  return {static_cast<double>(found == x + m ? best : *found),
          chunk_of_best + static_cast<std::size_t>(found - x)};
}

}  // namespace evk::twin
