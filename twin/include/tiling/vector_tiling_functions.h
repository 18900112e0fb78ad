// Host side of softmax, normalisations and mathematical functions: sizes of temporary memory, and tilings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "evk_host/types.h"
#include "tiling/vector_tilings.h"

namespace ge {
// A shape apart from any tensor.
class Shape {
 public:
  Shape() = default;
  explicit Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}
  std::size_t GetDimNum() const { return dims_.size(); }
  std::int64_t GetDim(std::size_t i) const { return i < dims_.size() ? dims_[i] : 0; }
  std::vector<std::int64_t> GetDims() const { return dims_; }
  std::int64_t GetShapeSize() const {
    std::int64_t n = 1;
    for (const std::int64_t d : dims_) n *= d;
    return n;
  }

 private:
  std::vector<std::int64_t> dims_;
};
}  // namespace ge

namespace AscendC {
namespace evk_host_detail {

constexpr std::uint32_t kPieceBytes = 256, kPartsMax = 12;

inline std::uint32_t last(const ge::Shape& s) {
  return s.GetDimNum() == 0 ? 1 : static_cast<std::uint32_t>(s.GetDim(s.GetDimNum() - 1));
}
inline std::uint32_t rows(const ge::Shape& s) {
  const std::uint32_t n = last(s);
  return n == 0 ? 0 : static_cast<std::uint32_t>(s.GetShapeSize()) / n;
}
// Three rows in float and what a reduction leaves; more memory makes no call faster.
inline std::uint32_t row_bytes(const ge::Shape& s) { return (3 * ((last(s) + 63) / 64 * 64) + 128) * 4; }

}  // namespace evk_host_detail

// Of the functions that work piece by piece: the least that they need, and what holds all of the tensor.
#define EVK_TMP_SIZE(Name)                                                                        \
  inline void Get##Name##MaxMinTmpSize(const ge::Shape& shape, const std::uint32_t, const bool,   \
                                       std::uint32_t& max, std::uint32_t& min) {                  \
    using namespace evk_host_detail;                                                              \
    min = kPartsMax * kPieceBytes;                                                                \
    const std::uint64_t whole = static_cast<std::uint64_t>(shape.GetShapeSize()) * 4 * kPartsMax; \
    max = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(whole, min, 65536));               \
  }
EVK_TMP_SIZE(Sigmoid)
EVK_TMP_SIZE(Tanh)
EVK_TMP_SIZE(Gelu)
EVK_TMP_SIZE(Silu)
EVK_TMP_SIZE(Swish)
EVK_TMP_SIZE(Sin)
EVK_TMP_SIZE(Cos)
EVK_TMP_SIZE(Tan)
EVK_TMP_SIZE(Asin)
EVK_TMP_SIZE(Acos)
EVK_TMP_SIZE(Atan)
EVK_TMP_SIZE(Sinh)
EVK_TMP_SIZE(Cosh)
EVK_TMP_SIZE(Asinh)
EVK_TMP_SIZE(Acosh)
EVK_TMP_SIZE(Atanh)
EVK_TMP_SIZE(Erf)
EVK_TMP_SIZE(Erfc)
EVK_TMP_SIZE(Log)
EVK_TMP_SIZE(Log2)
EVK_TMP_SIZE(Log10)
EVK_TMP_SIZE(Floor)
EVK_TMP_SIZE(Ceil)
EVK_TMP_SIZE(Round)
EVK_TMP_SIZE(Trunc)
EVK_TMP_SIZE(Frac)
EVK_TMP_SIZE(Sign)
EVK_TMP_SIZE(Exp)
EVK_TMP_SIZE(Xor)
#undef EVK_TMP_SIZE

#define EVK_SOFTMAX_HOST(Name, Tiling)                                                                  \
  inline std::uint32_t Get##Name##MinTmpSize(const ge::Shape& shape, const std::uint32_t, const bool) { \
    return evk_host_detail::row_bytes(shape);                                                           \
  }                                                                                                     \
  inline std::uint32_t Get##Name##MaxTmpSize(const ge::Shape& shape, const std::uint32_t, const bool) { \
    return evk_host_detail::row_bytes(shape);                                                           \
  }                                                                                                     \
  inline void Name##TilingFunc(const ge::Shape& shape, const std::uint32_t, const std::uint32_t,        \
                               optiling::Tiling& tiling) {                                              \
    tiling.srcM = tiling.rangeM = evk_host_detail::rows(shape);                                         \
    tiling.srcK = tiling.splitK = evk_host_detail::last(shape);                                         \
    tiling.srcSize = tiling.srcM * tiling.srcK;                                                         \
    tiling.splitM = 1;                                                                                  \
  }
EVK_SOFTMAX_HOST(SoftMax, SoftMaxTiling)
EVK_SOFTMAX_HOST(LogSoftMax, LogSoftMaxTiling)
#undef EVK_SOFTMAX_HOST

namespace evk_host_detail {
template <typename Tiling>
void norm_tiling(const ge::Shape& shape, const ge::Shape& origin, Tiling& tiling) {
  tiling.bLength = 1;
  tiling.sLength = rows(shape);
  tiling.hLength = last(shape);
  tiling.originalHLength = last(origin);
}
}  // namespace evk_host_detail

inline void GetLayerNormMaxMinTmpSize(const ge::Shape& shape, const std::uint32_t, const bool,
                                      std::uint32_t& max, std::uint32_t& min) {
  max = min = evk_host_detail::row_bytes(shape);
}
inline void GetLayerNormNDTilingInfo(const ge::Shape& shape, const std::uint32_t, const std::uint32_t,
                                     const bool, optiling::LayerNormTiling& tiling) {
  evk_host_detail::norm_tiling(shape, shape, tiling);
}
// Its older name.
inline void GetLayerNormNDTillingInfo(const ge::Shape& shape, const std::uint32_t memory,
                                      const std::uint32_t size, const bool reuse,
                                      optiling::LayerNormTiling& tiling) {
  GetLayerNormNDTilingInfo(shape, memory, size, reuse, tiling);
}
inline bool GetRmsNormMaxMinTmpSize(const ge::Shape& shape, const std::uint32_t, std::uint32_t& max,
                                    std::uint32_t& min, const bool = false) {
  max = min = evk_host_detail::row_bytes(shape);
  return true;
}
inline bool GetRmsNormTilingInfo(const ge::Shape& shape, const ge::Shape& origin, const std::uint32_t,
                                 const std::uint32_t, optiling::RmsNormTiling& tiling, const bool = false) {
  evk_host_detail::norm_tiling(shape, origin, tiling);
  return true;
}

}  // namespace AscendC
