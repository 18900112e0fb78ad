// Functions of the high-level interface that work on rows: sums, means, broadcasts, softmax, layer and RMS
// normalisation. Each runs as instructions on one row after the other, in float; halves are widened.
#pragma once

#include "ascendc/math.h"
#include "tiling/vector_tilings.h"

namespace AscendC {

struct SumParams {
  std::uint32_t outter = 0, inner = 0, n = 0;  // rows; elements from row to row; elements that count
};
struct MeanParams {
  std::uint32_t outter = 0, inner = 0, n = 0;
};
struct SoftMaxShapeInfo {
  std::uint32_t srcM = 0, srcK = 0, oriSrcM = 0, oriSrcK = 0;
};
struct SoftmaxConfig {
  bool isCheckTiling = true;
  std::uint32_t oriSrcM = 0, oriSrcK = 0;
};
inline constexpr SoftmaxConfig SOFTMAX_DEFAULT_CFG{};

namespace evk_detail {

// One row of n elements of T at a time, in float, with temporaries of a row's size.
template <typename T>
struct RowMemory {
  static constexpr bool is_float = std::is_same_v<T, float>;
  // `temps` rows of temporaries besides those that widen; 64 floats at the end for results.
  RowMemory(const LocalTensor<std::uint8_t>& memory, std::uint32_t n, std::uint32_t temps, Loc loc_)
      : loc(loc_), size((n + 63) / 64 * 64) {
    static_assert(is_one_of<T, half, float>,
                  "this function is not supported for this data type on Atlas A2; supported: half, float");
    if (memory.GetSize() < (temps * size + 128) * 4)
      evk_twin_assert_failed("the temporary buffer is too small for a row of this call", loc.id());
    for (std::uint32_t i = 0; i < temps; ++i) row[i] = memory.template ReinterpretCast<float>()[i * size];
    one = memory.template ReinterpretCast<float>()[temps * size];
    block = one[64];
  }
  // The row in float: itself, or widened into `into`.
  LocalTensor<float> widen(const LocalTensor<T>& src, const LocalTensor<float>& into, std::uint32_t n) const {
    if constexpr (is_float)
      return src;
    else {
      Cast(into, src, RoundMode::CAST_NONE, n, loc.file, loc.line);
      return into;
    }
  }
  void store(const LocalTensor<T>& dst, const LocalTensor<float>& src, std::uint32_t n) const {
    if constexpr (is_float)
      Adds(dst, src, 0.0f, static_cast<std::int32_t>(n), loc.file, loc.line);
    else
      Cast(dst, src, RoundMode::CAST_NONE, n, loc.file, loc.line);
  }
  // block = the first element of `one`, in eight blocks.
  void spread() const { Brcb(block, one, 1, {1, 8}, loc.file, loc.line); }
  // dst = src op the element of `b`, one block for all of the row.
  template <typename Binary>
  void with_block(const LocalTensor<float>& dst, const LocalTensor<float>& src, const LocalTensor<float>& b,
                  std::uint32_t n, Binary binary) const {
    for (std::uint32_t at = 0; at < n; at += 64 * 255) {
      const std::uint32_t left = n - at < 64 * 255 ? n - at : 64 * 255, whole = left / 64, tail = left % 64;
      if (whole > 0)
        binary(dst[at], src[at], b, std::uint64_t{64}, static_cast<std::uint8_t>(whole),
               BinaryRepeatParams{1, 1, 0, 8, 8, 0});
      if (tail > 0)
        binary(dst[at + whole * 64], src[at + whole * 64], b, std::uint64_t{tail}, std::uint8_t{1},
               BinaryRepeatParams{1, 1, 0, 8, 8, 0});
    }
  }
  // A block of 32 bytes filled with the first element of `one`.
  template <typename S>
  void store_block(const LocalTensor<S>& dst) const {
    spread();
    if constexpr (std::is_same_v<S, float>)
      Adds(dst, block, 0.0f, 8, loc.file, loc.line);
    else
      Cast(dst, block, RoundMode::CAST_NONE, 16, loc.file, loc.line);
  }
  Loc loc;
  std::uint32_t size;
  LocalTensor<float> row[4], one, block;
};

#define EVK_ROW_OP(Name) [&](const auto&... a) { Name(a..., loc.file, loc.line); }

template <typename T>
void row_sums(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<std::uint8_t>& memory,
              std::uint32_t rows, std::uint32_t pitch, std::uint32_t n, float factor, Loc loc) {
  const RowMemory<T> m(memory, n, 2, loc);
  for (std::uint32_t i = 0; i < rows; ++i) {
    const auto x = m.widen(src[i * pitch], m.row[0], n);
    ReduceSum(m.one, x, m.row[1], static_cast<std::int32_t>(n), loc.file, loc.line);
    if (factor != 1.0f) Muls(m.one, m.one, factor, 1, loc.file, loc.line);
    const T value = static_cast<T>(m.one.GetValue(0, loc.file, loc.line));
    dst.SetValue(i, value, loc.file, loc.line);
  }
}

enum class SoftmaxKind { kDivided, kExponentials, kLogarithm };

// Of each row: its largest element, the sum of the exponentials, and the result, as `kind` says. The blocks
// of sum and max may be absent.
template <typename T, typename S>
void softmax_rows(const LocalTensor<T>& dst, const LocalTensor<S>* sum, const LocalTensor<S>* max,
                  const LocalTensor<T>& src, const LocalTensor<std::uint8_t>& memory, std::uint32_t rows,
                  std::uint32_t pitch, std::uint32_t n, SoftmaxKind kind, Loc loc) {
  constexpr std::uint32_t kBlock = 32 / sizeof(S);
  const RowMemory<T> m(memory, n, 3, loc);
  const auto count = static_cast<std::int32_t>(n);
  for (std::uint32_t i = 0; i < rows; ++i) {
    const auto x = m.widen(src[i * pitch], m.row[0], n);
    ReduceMax(m.one, x, m.row[1], count, false, loc.file, loc.line);
    if (max)
      m.store_block((*max)[i * kBlock]);
    else
      m.spread();
    m.with_block(m.row[1], x, m.block, n, EVK_ROW_OP(Sub));
    Exp(m.row[2], m.row[1], count, loc.file, loc.line);
    ReduceSum(m.one, m.row[2], m.row[0], count, loc.file, loc.line);
    if (sum)
      m.store_block((*sum)[i * kBlock]);
    else
      m.spread();
    if (kind == SoftmaxKind::kDivided) {
      m.with_block(m.row[1], m.row[2], m.block, n, EVK_ROW_OP(Div));
    } else if (kind == SoftmaxKind::kLogarithm) {
      Ln(m.block, m.block, 8, loc.file, loc.line);
      m.with_block(m.row[1], m.row[1], m.block, n, EVK_ROW_OP(Sub));
    }
    m.store(dst[i * pitch], kind == SoftmaxKind::kExponentials ? m.row[2] : m.row[1], n);
  }
}

struct RowShape {
  std::uint32_t rows, pitch, n;
};
template <typename Tiling>
RowShape softmax_shape(const Tiling& tiling, const SoftMaxShapeInfo& s) {
  const std::uint32_t rows = s.srcM ? s.srcM : tiling.srcM, pitch = s.srcK ? s.srcK : tiling.srcK;
  return {rows, pitch, s.oriSrcK ? s.oriSrcK : pitch};
}

inline LocalTensor<std::uint8_t> all_free_memory(Loc loc) {
  return free_memory(static_cast<std::uint32_t>(kUbBytes), loc);
}

}  // namespace evk_detail

// Rows of n elements, `inner` apart, to one value each.
template <typename T, std::int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<std::uint8_t>& memory,
         const SumParams& p, EVK_LOC) {
  evk_detail::row_sums(dst, src, memory, p.outter, p.inner, p.n, 1.0f, EVK_HERE);
}
template <typename T, std::int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const SumParams& p, EVK_LOC) {
  Sum(dst, src, evk_detail::all_free_memory(EVK_HERE), p, evk_file, evk_line);
}
template <typename T, typename accType = T, bool isReuseSource = false, bool isBasicBlock = false,
          std::int32_t reduceDim = -1>
void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<std::uint8_t>& memory,
          const MeanParams& p, EVK_LOC) {
  evk_detail::row_sums(dst, src, memory, p.outter, p.inner, p.n, p.n ? 1.0f / static_cast<float>(p.n) : 0.0f,
                       EVK_HERE);
}
template <typename T, typename accType = T, bool isReuseSource = false, bool isBasicBlock = false,
          std::int32_t reduceDim = -1>
void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src, const MeanParams& p, EVK_LOC) {
  Mean(dst, src, evk_detail::all_free_memory(EVK_HERE), p, evk_file, evk_line);
}

// [1, n] or [m, 1] to [m, n]; one dimension of 1 is spread to any length. Rows are whole blocks of 32 bytes.
template <typename T, std::int32_t dim, std::int32_t axis, bool isReuseSource = false>
void BroadCast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const std::uint32_t dstShape[dim],
               const std::uint32_t srcShape[dim], const LocalTensor<std::uint8_t>& memory, EVK_LOC) {
  static_assert(dim == 1 || dim == 2, "BroadCast: tensors have one or two dimensions");
  static_assert(axis == 0 || (axis == 1 && dim == 2), "BroadCast: the axis is 0, or 1 of two");
  static_assert(sizeof(T) == 2 || sizeof(T) == 4,
                "BroadCast: supported on Atlas A2: data types of 2 and 4 bytes");
  const std::uint32_t rows = dim == 1 ? 1 : dstShape[0], n = dstShape[dim - 1];
  for (std::uint32_t i = 0; i < rows; ++i) {
    if constexpr (axis == 0 && dim == 2) {
      DataCopy(dst[i * n], src, n, evk_file, evk_line);
    } else {
      const T value = src.GetValue(srcShape[0] == 1 ? 0 : i, evk_file, evk_line);
      Duplicate(dst[i * n], value, static_cast<std::int32_t>(n), evk_file, evk_line);
    }
  }
}
template <typename T, std::int32_t dim, std::int32_t axis, bool isReuseSource = false>
void BroadCast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const std::uint32_t dstShape[dim],
               const std::uint32_t srcShape[dim], EVK_LOC) {
  BroadCast<T, dim, axis>(dst, src, dstShape, srcShape, LocalTensor<std::uint8_t>(), evk_file, evk_line);
}
template <typename T, std::int32_t dim, std::int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const std::uint32_t dstShape[dim],
               const std::uint32_t srcShape[dim], EVK_LOC) {
  BroadCast<T, dim, axis>(dst, src, dstShape, srcShape, LocalTensor<std::uint8_t>(), evk_file, evk_line);
}

// e^(x - max) / sum; sum and max take a block of 32 bytes a row.
#define EVK_SOFTMAX(Name, Tiling, kind)                                                                     \
  template <typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false, \
            const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename S>                                  \
  void Name(const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max,                \
            const LocalTensor<T>& src, const LocalTensor<std::uint8_t>& memory, const Tiling& tiling,       \
            const SoftMaxShapeInfo& shape = {}, EVK_LOC) {                                                  \
    const auto s = evk_detail::softmax_shape(tiling, shape);                                                \
    evk_detail::softmax_rows(dst, &sum, &max, src, memory, s.rows, s.pitch, s.n, kind, EVK_HERE);           \
  }                                                                                                         \
  template <typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false, \
            const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename S>                                  \
  void Name(const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max,                \
            const LocalTensor<T>& src, const Tiling& tiling, const SoftMaxShapeInfo& shape = {}, EVK_LOC) { \
    Name(dst, sum, max, src, evk_detail::all_free_memory(EVK_HERE), tiling, shape, evk_file, evk_line);     \
  }
EVK_SOFTMAX(SoftMax, SoftMaxTiling, evk_detail::SoftmaxKind::kDivided)
EVK_SOFTMAX(LogSoftMax, LogSoftMaxTiling, evk_detail::SoftmaxKind::kLogarithm)
#undef EVK_SOFTMAX
template <typename T, bool isReuseSource = false, bool isBasicBlock = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<std::uint8_t>& memory,
             const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {}, EVK_LOC) {
  const auto s = evk_detail::softmax_shape(tiling, shape);
  const LocalTensor<float>* none = nullptr;
  evk_detail::softmax_rows(dst, none, none, src, memory, s.rows, s.pitch, s.n,
                           evk_detail::SoftmaxKind::kDivided, EVK_HERE);
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const SoftMaxTiling& tiling,
             const SoftMaxShapeInfo& shape = {}, EVK_LOC) {
  SoftMax(dst, src, evk_detail::all_free_memory(EVK_HERE), tiling, shape, evk_file, evk_line);
}

// Rows of H elements: (x - mean) / sqrt(variance + epsilon) * gamma + beta; mean and variance get one element
// a row.
template <typename T, bool isReuseSource = false>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean,
               const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,
               const LocalTensor<T>& gamma, const LocalTensor<T>& beta,
               const LocalTensor<std::uint8_t>& memory, const T epsilon, const LayerNormTiling& tiling,
               EVK_LOC) {
  const evk_detail::Loc loc = EVK_HERE;
  const std::uint32_t rows = tiling.bLength * tiling.sLength, pitch = tiling.hLength,
                      n = tiling.originalHLength;
  const evk_detail::RowMemory<T> m(memory, n, 3, loc);
  const evk_detail::Steps<float> f{loc, static_cast<std::int32_t>(n)};
  const auto mean_of = [&](const LocalTensor<float>& x, const LocalTensor<T>& out, std::uint32_t i) {
    ReduceSum(m.one, x, m.row[2], f.n, loc.file, loc.line);
    Muls(m.one, m.one, 1.0f / static_cast<float>(n), 8, loc.file, loc.line);
    out.SetValue(i, static_cast<T>(m.one.GetValue(0, loc.file, loc.line)), loc.file, loc.line);
  };
  for (std::uint32_t i = 0; i < rows; ++i) {
    Duplicate(m.one, 0.0f, 8, loc.file, loc.line);
    const auto x = m.widen(inputX[i * pitch], m.row[0], n);
    mean_of(x, outputMean, i);
    m.spread();
    m.with_block(m.row[1], x, m.block, n, EVK_ROW_OP(Sub));
    f.mul(m.row[0], m.row[1], m.row[1]);
    mean_of(m.row[0], outputVariance, i);
    Adds(m.one, m.one, static_cast<float>(epsilon), 8, loc.file, loc.line);
    Sqrt(m.one, m.one, 8, loc.file, loc.line);
    m.spread();
    m.with_block(m.row[1], m.row[1], m.block, n, EVK_ROW_OP(Div));
    f.mul(m.row[1], m.row[1], m.widen(gamma, m.row[0], n));
    f.add(m.row[1], m.row[1], m.widen(beta, m.row[0], n));
    m.store(output[i * pitch], m.row[1], n);
  }
}
template <typename T, bool isReuseSource = false>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean,
               const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,
               const LocalTensor<T>& gamma, const LocalTensor<T>& beta, const T epsilon,
               const LayerNormTiling& tiling, EVK_LOC) {
  LayerNorm(output, outputMean, outputVariance, inputX, gamma, beta, evk_detail::all_free_memory(EVK_HERE),
            epsilon, tiling, evk_file, evk_line);
}

// x / sqrt(mean(x^2) + epsilon) * gamma
template <typename T, bool isBasicBlock = false>
void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& gamma,
             const LocalTensor<std::uint8_t>& memory, const T epsilon, const RmsNormTiling& tiling, EVK_LOC) {
  const evk_detail::Loc loc = EVK_HERE;
  const std::uint32_t rows = tiling.bLength * tiling.sLength, pitch = tiling.hLength,
                      n = tiling.originalHLength;
  const evk_detail::RowMemory<T> m(memory, n, 3, loc);
  const evk_detail::Steps<float> f{loc, static_cast<std::int32_t>(n)};
  for (std::uint32_t i = 0; i < rows; ++i) {
    Duplicate(m.one, 0.0f, 8, loc.file, loc.line);
    const auto x = m.widen(src[i * pitch], m.row[0], n);
    f.mul(m.row[1], x, x);
    ReduceSum(m.one, m.row[1], m.row[2], f.n, loc.file, loc.line);
    Muls(m.one, m.one, 1.0f / static_cast<float>(n), 8, loc.file, loc.line);
    Adds(m.one, m.one, static_cast<float>(epsilon), 8, loc.file, loc.line);
    Sqrt(m.one, m.one, 8, loc.file, loc.line);
    m.spread();
    m.with_block(m.row[1], x, m.block, n, EVK_ROW_OP(Div));
    f.mul(m.row[1], m.row[1], m.widen(gamma, m.row[2], n));
    m.store(dst[i * pitch], m.row[1], n);
  }
}
template <typename T, bool isBasicBlock = false>
void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& gamma,
             const T epsilon, const RmsNormTiling& tiling, EVK_LOC) {
  RmsNorm(dst, src, gamma, evk_detail::all_free_memory(EVK_HERE), epsilon, tiling, evk_file, evk_line);
}
#undef EVK_ROW_OP

}  // namespace AscendC
