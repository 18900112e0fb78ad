// TCubeTiling: how a product is cut into parts, as host and kernel share it. Units are elements and counts.
#pragma once

#include <cstddef>
#include <cstdint>

#define EVK_CUBE_FIELD(name)                            \
  std::int32_t name = 0;                                \
  void set_##name(std::int32_t value) { name = value; } \
  std::int32_t get_##name() const { return name; }

struct TCubeTiling {
  EVK_CUBE_FIELD(usedCoreNum)
  EVK_CUBE_FIELD(M)
  EVK_CUBE_FIELD(N)
  EVK_CUBE_FIELD(Ka)
  EVK_CUBE_FIELD(Kb)
  EVK_CUBE_FIELD(singleCoreM)
  EVK_CUBE_FIELD(singleCoreN)
  EVK_CUBE_FIELD(singleCoreK)
  EVK_CUBE_FIELD(baseM)
  EVK_CUBE_FIELD(baseN)
  EVK_CUBE_FIELD(baseK)
  EVK_CUBE_FIELD(depthA1)
  EVK_CUBE_FIELD(depthB1)
  EVK_CUBE_FIELD(stepM)
  EVK_CUBE_FIELD(stepN)
  EVK_CUBE_FIELD(isBias)
  EVK_CUBE_FIELD(transLength)
  EVK_CUBE_FIELD(iterateOrder)
  EVK_CUBE_FIELD(shareMode)
  EVK_CUBE_FIELD(shareL1Size)
  EVK_CUBE_FIELD(shareL0CSize)
  EVK_CUBE_FIELD(shareUbSize)
  EVK_CUBE_FIELD(batchM)
  EVK_CUBE_FIELD(batchN)
  EVK_CUBE_FIELD(singleBatchM)
  EVK_CUBE_FIELD(singleBatchN)
  EVK_CUBE_FIELD(stepKa)
  EVK_CUBE_FIELD(stepKb)
  EVK_CUBE_FIELD(depthAL1CacheUB)
  EVK_CUBE_FIELD(depthBL1CacheUB)
  EVK_CUBE_FIELD(dbL0A)
  EVK_CUBE_FIELD(dbL0B)
  EVK_CUBE_FIELD(dbL0C)
  EVK_CUBE_FIELD(BatchNum)
  void SaveToBuffer(void* data, std::size_t capacity) const {
    if (capacity >= sizeof(TCubeTiling)) __builtin_memcpy(data, this, sizeof(TCubeTiling));
  }
  std::size_t GetDataSize() const { return sizeof(TCubeTiling); }
};
#undef EVK_CUBE_FIELD

namespace optiling {
using ::TCubeTiling;
}
