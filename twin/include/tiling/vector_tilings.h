// Tiling data of softmax and normalisations: host and kernel share them. No standard library.
#pragma once

#include "register/tilingdata_base.h"

namespace optiling {

#define EVK_SOFTMAX_TILING(Name)                \
  BEGIN_TILING_DATA_DEF(Name)                   \
  TILING_DATA_FIELD_DEF(std::uint32_t, srcM)    \
  TILING_DATA_FIELD_DEF(std::uint32_t, srcK)    \
  TILING_DATA_FIELD_DEF(std::uint32_t, srcSize) \
  TILING_DATA_FIELD_DEF(std::uint32_t, splitM)  \
  TILING_DATA_FIELD_DEF(std::uint32_t, splitK)  \
  TILING_DATA_FIELD_DEF(std::uint32_t, rangeM)  \
  TILING_DATA_FIELD_DEF(std::uint32_t, tailM)   \
  END_TILING_DATA_DEF;
EVK_SOFTMAX_TILING(SoftMaxTiling)
EVK_SOFTMAX_TILING(LogSoftMaxTiling)
#undef EVK_SOFTMAX_TILING

// hLength is the distance of rows; originalHLength elements of each count.
#define EVK_NORM_TILING(Name)                           \
  BEGIN_TILING_DATA_DEF(Name)                           \
  TILING_DATA_FIELD_DEF(std::uint32_t, bLength)         \
  TILING_DATA_FIELD_DEF(std::uint32_t, sLength)         \
  TILING_DATA_FIELD_DEF(std::uint32_t, hLength)         \
  TILING_DATA_FIELD_DEF(std::uint32_t, originalHLength) \
  END_TILING_DATA_DEF;
EVK_NORM_TILING(LayerNormTiling)
EVK_NORM_TILING(RmsNormTiling)
#undef EVK_NORM_TILING

}  // namespace optiling

// The names without a namespace.
using optiling::LayerNormTiling;
using optiling::LogSoftMaxTiling;
using optiling::RmsNormTiling;
using optiling::SoftMaxTiling;
