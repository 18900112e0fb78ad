// Parameter structs and enumerations of the vector and copy interface. Members stand in the order in which
// kernels initialise them.
#pragma once

#include <cstdint>

namespace AscendC {

struct BinaryRepeatParams {
  std::uint8_t dstBlkStride = 1, src0BlkStride = 1, src1BlkStride = 1, dstRepStride = 8, src0RepStride = 8,
               src1RepStride = 8;
  constexpr BinaryRepeatParams() = default;
  constexpr BinaryRepeatParams(std::uint8_t db, std::uint8_t s0b, std::uint8_t s1b, std::uint8_t dr,
                               std::uint8_t s0r, std::uint8_t s1r)
      : dstBlkStride(db),
        src0BlkStride(s0b),
        src1BlkStride(s1b),
        dstRepStride(dr),
        src0RepStride(s0r),
        src1RepStride(s1r) {}
};

struct UnaryRepeatParams {
  std::uint16_t dstBlkStride = 1, srcBlkStride = 1;
  std::uint8_t dstRepStride = 8, srcRepStride = 8;
  constexpr UnaryRepeatParams() = default;
  constexpr UnaryRepeatParams(std::uint16_t db, std::uint16_t sb, std::uint8_t dr, std::uint8_t sr)
      : dstBlkStride(db), srcBlkStride(sb), dstRepStride(dr), srcRepStride(sr) {}
};

struct CopyRepeatParams {
  std::uint16_t dstStride = 1, srcStride = 1, dstRepeatSize = 8, srcRepeatSize = 8;
  constexpr CopyRepeatParams() = default;
  constexpr CopyRepeatParams(std::uint16_t d, std::uint16_t s, std::uint16_t dr, std::uint16_t sr)
      : dstStride(d), srcStride(s), dstRepeatSize(dr), srcRepeatSize(sr) {}
};

struct BrcbRepeatParams {
  std::uint16_t dstBlkStride = 1, dstRepStride = 8;
  constexpr BrcbRepeatParams() = default;
  constexpr BrcbRepeatParams(std::uint16_t blk, std::uint16_t rep) : dstBlkStride(blk), dstRepStride(rep) {}
};

struct DataCopyParams {
  std::uint16_t blockCount = 1, blockLen = 0;  // length in blocks of 32 bytes
  union {
    std::uint16_t srcStride = 0;
    std::uint16_t srcGap;
  };
  union {
    std::uint16_t dstStride = 0;
    std::uint16_t dstGap;
  };
  constexpr DataCopyParams() = default;
  constexpr DataCopyParams(std::uint16_t count, std::uint16_t len, std::uint16_t src, std::uint16_t dst)
      : blockCount(count), blockLen(len), srcStride(src), dstStride(dst) {}
};

struct DataCopyExtParams {
  std::uint16_t blockCount = 1;
  std::uint32_t blockLen = 0, srcStride = 0, dstStride = 0, rsv = 0;  // length in bytes
  constexpr DataCopyExtParams() = default;
  constexpr DataCopyExtParams(std::uint16_t count, std::uint32_t len, std::uint32_t src, std::uint32_t dst,
                              std::uint32_t r)
      : blockCount(count), blockLen(len), srcStride(src), dstStride(dst), rsv(r) {}
};

struct DataCopyPadParams {
  bool isPad = false;
  std::uint8_t leftPadding = 0, rightPadding = 0;
  std::uint64_t paddingValue = 0;
  constexpr DataCopyPadParams() = default;
  constexpr DataCopyPadParams(bool pad, std::uint8_t left, std::uint8_t right, std::uint64_t value)
      : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
};

template <typename T>
struct DataCopyPadExtParams {
  bool isPad = false;
  std::uint8_t leftPadding = 0, rightPadding = 0;
  T paddingValue = T(0);
  constexpr DataCopyPadExtParams() = default;
  constexpr DataCopyPadExtParams(bool pad, std::uint8_t left, std::uint8_t right, T value)
      : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
};

// Columns [startIndex, endIndex] of one dimension in steps of burstLen blocks; of the slice form of DataCopy.
struct SliceInfo {
  std::uint32_t startIndex = 0, endIndex = 0, stride = 0, burstLen = 0, shapeValue = 0;
};

enum class RoundMode { CAST_NONE = 0, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD };
enum class CMPMODE : std::uint8_t { LT = 0, GT, EQ, LE, GE, NE };
enum class SELMODE : std::uint8_t { VSEL_CMPMASK_SPR = 0, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class ReduceOrder { ORDER_VALUE_INDEX = 0, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };
enum class MaskMode : std::uint8_t { NORMAL = 0, COUNTER };
enum class CacheMode : std::uint8_t {
  CACHE_MODE_DISABLE = 0,
  CACHE_MODE_NORMAL,
  CACHE_MODE_LAST,
  CACHE_MODE_PERSISTENT
};
enum class CacheRwMode : std::uint8_t { READ = 1, WRITE = 2, RW = 3 };
enum class CacheLine : std::uint8_t { SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE };
enum class DcciDst : std::uint8_t { CACHELINE_ALL = 0, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };

constexpr std::uint64_t MASK_PLACEHOLDER = 0;
constexpr std::uint32_t ONE_BLK_SIZE = 32, DEFAULT_BLK_NUM = 8, ONE_REPEAT_BYTE_SIZE = 256;
constexpr std::int32_t DEFAULT_BLK_STRIDE = 1, DEFAULT_REPEAT_STRIDE = 8;

}  // namespace AscendC
