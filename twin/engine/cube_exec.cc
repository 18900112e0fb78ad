#include "twin/engine/cube_exec.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "twin/engine/elements.h"

namespace evk::twin {
namespace {

std::uint64_t blocks(std::uint64_t n, std::uint64_t size) { return (n + size - 1) / size; }

// Operands as the kernel wants them: a in rows of `k_pitch`, b in panels of [k][16] for each 16 columns.
template <typename W>
struct Panels {
  std::vector<W> a, b;
  std::uint64_t k_pitch = 0;
};

// Four rows by sixteen columns of c, which is one fractal of 16 x 16 words. Written out: the sums stay in
// registers whether or not the compiler unrolls loops.
void rows_by_16(float* c, const float* a, std::uint64_t pitch, const float* b, std::uint64_t k) {
  const float *a1 = a + pitch, *a2 = a1 + pitch, *a3 = a2 + pitch;
  __m256 s0 = _mm256_loadu_ps(c), t0 = _mm256_loadu_ps(c + 8), s1 = _mm256_loadu_ps(c + 16),
         t1 = _mm256_loadu_ps(c + 24), s2 = _mm256_loadu_ps(c + 32), t2 = _mm256_loadu_ps(c + 40),
         s3 = _mm256_loadu_ps(c + 48), t3 = _mm256_loadu_ps(c + 56);
  for (std::uint64_t x = 0; x < k; ++x, b += 16) {
    const __m256 low = _mm256_loadu_ps(b), high = _mm256_loadu_ps(b + 8);
    __m256 value = _mm256_broadcast_ss(a + x);
    s0 = _mm256_fmadd_ps(value, low, s0);
    t0 = _mm256_fmadd_ps(value, high, t0);
    value = _mm256_broadcast_ss(a1 + x);
    s1 = _mm256_fmadd_ps(value, low, s1);
    t1 = _mm256_fmadd_ps(value, high, t1);
    value = _mm256_broadcast_ss(a2 + x);
    s2 = _mm256_fmadd_ps(value, low, s2);
    t2 = _mm256_fmadd_ps(value, high, t2);
    value = _mm256_broadcast_ss(a3 + x);
    s3 = _mm256_fmadd_ps(value, low, s3);
    t3 = _mm256_fmadd_ps(value, high, t3);
  }
  _mm256_storeu_ps(c, s0);
  _mm256_storeu_ps(c + 8, t0);
  _mm256_storeu_ps(c + 16, s1);
  _mm256_storeu_ps(c + 24, t1);
  _mm256_storeu_ps(c + 32, s2);
  _mm256_storeu_ps(c + 40, t2);
  _mm256_storeu_ps(c + 48, s3);
  _mm256_storeu_ps(c + 56, t3);
}

// Sums wrap around, as the accumulator does.
void rows_by_16(std::int32_t* c, const std::int32_t* a, std::uint64_t pitch, const std::int32_t* b,
                std::uint64_t k) {
  for (int i = 0; i < 4; ++i) {
    const std::int32_t* row = a + static_cast<std::uint64_t>(i) * pitch;
    __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(c + i * 16));
    __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(c + i * 16 + 8));
    for (std::uint64_t x = 0; x < k; ++x) {
      const __m256i value = _mm256_set1_epi32(row[x]);
      const auto* columns = reinterpret_cast<const __m256i*>(b + x * 16);
      low = _mm256_add_epi32(low, _mm256_mullo_epi32(value, _mm256_loadu_si256(columns)));
      high = _mm256_add_epi32(high, _mm256_mullo_epi32(value, _mm256_loadu_si256(columns + 1)));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + i * 16), low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + i * 16 + 8), high);
  }
}

void words_of(abi::DType dtype, const std::byte* src, float* dst, std::size_t n) {
  if (dtype == abi::DType::kF32)
    std::memcpy(dst, src, n * 4);
  else
    widen(dtype, src, dst, n);
}
void words_of(abi::DType, const std::byte* src, std::int32_t* dst, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) dst[i] = as<std::int8_t>(src)[i];
}

// Eight rows of eight words, `pitch` apart, to eight columns 16 apart.
void transpose_8x8(const float* from, std::uint64_t pitch, float* to) {
  __m256 r[8], t[8];
  for (std::uint64_t i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(from + i * pitch);
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + i * 16, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(to + (i + 4) * 16, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}
void transpose_8x8(const std::int32_t* from, std::uint64_t pitch, std::int32_t* to) {
  for (std::uint64_t i = 0; i < 8; ++i)
    for (std::uint64_t j = 0; j < 8; ++j) to[j * 16 + i] = from[i * pitch + j];
}

template <typename W>
void unpack(Panels<W>& p, abi::DType dtype, const std::byte* a, const std::byte* b, const MmadShape& s) {
  const std::uint64_t width = kFractalRowBytes / abi::bytes_of(dtype), k1 = blocks(s.k, width),
                      m1 = blocks(s.m, kFractalRows), n1 = blocks(s.n, kFractalRows);
  p.k_pitch = k1 * width;
  p.a.resize(m1 * 16 * p.k_pitch);
  p.b.resize(n1 * 16 * p.k_pitch);
  W fractal[16 * 32];
  for (std::uint64_t i = 0; i < m1; ++i)
    for (std::uint64_t j = 0; j < k1; ++j) {
      words_of(dtype, a + (i * s.k_blocks + j) * kFractalBytes, fractal, 16 * width);
      for (std::uint64_t row = 0; row < 16; ++row)
        std::memcpy(&p.a[(i * 16 + row) * p.k_pitch + j * width], fractal + row * width, width * sizeof(W));
    }
  for (std::uint64_t i = 0; i < k1; ++i)
    for (std::uint64_t j = 0; j < n1; ++j) {
      words_of(dtype, b + (i * n1 + j) * kFractalBytes, fractal, 16 * width);
      W* to = &p.b[j * 16 * p.k_pitch + i * width * 16];
      for (std::uint64_t x = 0; x < width; x += 8)
        for (std::uint64_t row = 0; row < 16; row += 8)
          transpose_8x8(fractal + row * width + x, width, to + x * 16 + row);
    }
}

template <typename W>
void multiply(abi::DType dtype, W* c, const std::byte* a, const std::byte* b, const W* bias, bool accumulate,
              const MmadShape& s) {
  thread_local Panels<W> panels;
  unpack(panels, dtype, a, b, s);
  const std::uint64_t m1 = blocks(s.m, kFractalRows), n1 = blocks(s.n, kFractalRows);
  for (std::uint64_t j = 0; j < n1; ++j)
    for (std::uint64_t i = 0; i < m1; ++i) {
      W* tile = c + (j * m1 + i) * 256;
      for (std::uint64_t row = 0; row < 16 && !accumulate; ++row)
        for (std::uint64_t x = 0; x < 16; ++x)
          tile[row * 16 + x] = bias && j * 16 + x < s.n ? bias[j * 16 + x] : W{0};
      const std::uint64_t rows = std::min<std::uint64_t>(16, s.m - i * 16);
      for (std::uint64_t row = 0; row < rows; row += 4)
        rows_by_16(tile + row * 16, &panels.a[(i * 16 + row) * panels.k_pitch], panels.k_pitch,
                   &panels.b[j * 16 * panels.k_pitch], s.k);
    }
}

}  // namespace

void mmad(abi::DType dtype, std::byte* c, const std::byte* a, const std::byte* b, const std::byte* bias,
          bool accumulate, const MmadShape& shape) {
  if (dtype == abi::DType::kI8)
    return multiply(dtype, as<std::int32_t>(c), a, b, bias ? as<std::int32_t>(bias) : nullptr, accumulate,
                    shape);
  multiply(dtype, as<float>(c), a, b, bias ? as<float>(bias) : nullptr, accumulate, shape);
}

void transpose_square(std::byte* const* dst, const std::byte* src, std::uint64_t size) {
  const std::uint64_t width = kFractalRowBytes / size, side = std::max(width, kFractalRows);
  std::byte made[2][kFractalBytes];
  // Element (row, column) of a square: fractals follow one another along the columns, or, where one is as
  // wide as the square, along the rows.
  const auto place = [&](std::uint64_t row, std::uint64_t column) {
    const std::uint64_t fractal = column / width + row / kFractalRows;
    return std::pair(fractal, (row % kFractalRows * width + column % width) * size);
  };
  for (std::uint64_t row = 0; row < side; ++row)
    for (std::uint64_t column = 0; column < side; ++column) {
      const auto [from, from_at] = place(row, column);
      const auto [to, to_at] = place(column, row);
      std::memcpy(made[to] + to_at, src + from * kFractalBytes + from_at, size);
    }
  for (std::uint64_t i = 0; i < side * side * size / kFractalBytes; ++i)
    std::memcpy(dst[i], made[i], kFractalBytes);
}

void row_out(const RowOut& how, std::byte* dst, const std::byte* src, std::uint64_t step, std::uint64_t n) {
  const std::uint64_t size = abi::bytes_of(how.to);
  for (std::uint64_t at = 0; at < n; at += 16, src += step, dst += 16 * size) {
    const std::uint64_t count = std::min<std::uint64_t>(16, n - at);
    if (how.from == abi::DType::kI32 && how.quant == abi::Quant::kNone) {
      for (std::uint64_t i = 0; i < count; ++i) {
        const auto value = read_as<std::int32_t>(src + i * 4);
        const std::int32_t kept = how.relu ? std::max(0, value) : value;
        std::memcpy(dst + i * 4, &kept, 4);
      }
      continue;
    }
    float value[16];
    for (std::uint64_t i = 0; i < count; ++i) {
      value[i] = how.from == abi::DType::kI32
                     ? static_cast<float>(read_as<std::int32_t>(src + i * 4)) * how.scale
                     : read_as<float>(src + i * 4);
      if (how.relu && !std::isnan(value[i])) value[i] = std::max(0.0f, value[i]);
    }
    if (how.to == abi::DType::kF32)
      std::memcpy(dst, value, count * 4);
    else
      narrow(how.to, value, dst, count);
  }
}

}  // namespace evk::twin
