// Moves between elements beyond Copy and Gather by count: GatherMask, Gather by repeats, Gatherb, Transpose,
// TransDataTo5HD, slices; and the registers that reductions leave.
#pragma once

#include "ascendc/reduce.h"

namespace AscendC {

struct GatherMaskParams {
  std::uint8_t src0BlockStride = 1;
  std::uint16_t repeatTimes = 0, src0RepeatStride = 0;
  std::uint8_t src1RepeatStride = 0;
  constexpr GatherMaskParams() = default;
  constexpr GatherMaskParams(std::uint8_t block, std::uint16_t times, std::uint16_t src0, std::uint8_t src1)
      : src0BlockStride(block), repeatTimes(times), src0RepeatStride(src0), src1RepeatStride(src1) {}
};
struct GatherRepeatParams {
  std::uint32_t dstBlkStride = 1, dstRepStride = 8;
  constexpr GatherRepeatParams() = default;
  constexpr GatherRepeatParams(std::uint32_t blk, std::uint32_t rep) : dstBlkStride(blk), dstRepStride(rep) {}
};
struct TransDataTo5HDParams {
  bool dstHighHalf = false, srcHighHalf = false;
  std::uint8_t repeatTimes = 1;
  std::uint16_t dstRepStride = 0, srcRepStride = 0;
  constexpr TransDataTo5HDParams() = default;
  constexpr TransDataTo5HDParams(bool dst_high, bool src_high, std::uint8_t times, std::uint16_t dst,
                                 std::uint16_t src)
      : dstHighHalf(dst_high),
        srcHighHalf(src_high),
        repeatTimes(times),
        dstRepStride(dst),
        srcRepStride(src) {}
};
enum class GatherMaskMode : std::uint8_t { DEFAULT = 0 };

namespace evk_detail {

template <typename T>
inline constexpr bool is_short_or_word = sizeof(T) == 2 || sizeof(T) == 4;

// The number of kept elements; it waits for the vector unit, as reading it on the device does.
template <typename... Tensors>
std::uint64_t gather_mask(std::uint64_t pattern, bool counter, std::uint32_t mask, const GatherMaskParams& p,
                          Loc loc, const Tensors&... tensors) {
  auto r = vector_record(abi::Op::kGatherMask, loc, tensors...);
  r.form = counter ? abi::Form::kCounter : abi::Form::kRepeat;
  r.a[0] = mask;
  r.a[1] = pattern;
  r.a[3] = std::uint64_t{p.repeatTimes} | std::uint64_t{p.src0BlockStride} << 16 |
           std::uint64_t{p.src0RepeatStride} << 32 | std::uint64_t{p.src1RepeatStride} << 48;
  evk_twin_block()->counter_mask = 0;  // it leaves the mask in normal mode
  return ask(r);
}
inline std::uint64_t reduced(abi::Reduced what, Loc loc) {
  auto r = record(abi::Op::kGetReduced, loc);
  r.a[0] = static_cast<std::uint64_t>(what);
  return ask(r);
}

}  // namespace evk_detail

// Elements that a pattern keeps, side by side: 1 even, 2 odd, 3 to 6 the first to fourth of each four, 7 all.
// In counter mode (reduceMode) each repeat looks at `mask` elements, else at 256 bytes.
template <typename T, GatherMaskMode mode = GatherMaskMode::DEFAULT>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src, const std::uint8_t pattern,
                const bool reduceMode, const std::uint32_t mask, const GatherMaskParams& p,
                std::uint64_t& kept, EVK_LOC) {
  static_assert(evk_detail::is_short_or_word<T>,
                "GatherMask: only data types of 2 and 4 bytes are supported on Atlas A2");
  kept = evk_detail::gather_mask(pattern, reduceMode, mask, p, EVK_HERE, dst, src);
}
// By the bits of a tensor.
template <typename T, typename U, GatherMaskMode mode = GatherMaskMode::DEFAULT>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<U>& bits,
                const bool reduceMode, const std::uint32_t mask, const GatherMaskParams& p,
                std::uint64_t& kept, EVK_LOC) {
  static_assert(evk_detail::is_short_or_word<T>,
                "GatherMask: only data types of 2 and 4 bytes are supported on Atlas A2");
  static_assert(sizeof(U) == sizeof(T) && std::is_unsigned_v<U>,
                "GatherMask: the bits are uint16_t for elements of 2 bytes, uint32_t for 4 bytes");
  kept = evk_detail::gather_mask(0, reduceMode, mask, p, EVK_HERE, dst, src, bits);
}

// Offsets are in bytes.
template <typename T, typename M>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<std::uint32_t>& offsets,
            const std::uint32_t base, M mask, const std::uint8_t repeat, const std::uint16_t dst_stride,
            EVK_LOC) {
  static_assert(evk_detail::is_short_or_word<T>,
                "Gather: only data types of 2 and 4 bytes are supported on Atlas A2");
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kGather, EVK_HERE, dst, src, offsets);
  evk_detail::set_mask(r, evk_detail::mask_of(mask));
  evk_detail::set_strides(r, {repeat, 1, 1, 1, dst_stride, 8, 8});
  r.a[2] = base;
  evk_detail::emit(r);
}
// Whole blocks of 32 bytes, eight a repeat.
template <typename T>
void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<std::uint32_t>& offsets,
             const std::uint8_t repeat, const GatherRepeatParams& p, EVK_LOC) {
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kGatherBlocks, EVK_HERE, dst, src, offsets);
  r.form = evk_detail::abi::Form::kRepeat;
  evk_detail::set_strides(r, {repeat, static_cast<std::uint8_t>(p.dstBlkStride), 1, 1,
                              static_cast<std::uint16_t>(p.dstRepStride), 8, 8});
  evk_detail::emit(r);
}

// Index vectors by mask and repeats: each repeat goes on where the one before ended.
template <typename T, typename M>
void CreateVecIndex(const LocalTensor<T>& dst, const T& first, M mask, const std::uint8_t repeat,
                    const std::uint16_t block_stride, const std::uint8_t repeat_stride, EVK_LOC) {
  constexpr std::uint32_t kElements = 256 / sizeof(T);
  static_assert(evk_detail::is_mask_count<M>, "CreateVecIndex: the mask is a count of leading elements");
  if (block_stride != 1)
    evk_twin_assert_failed("CreateVecIndex fills blocks side by side: the block stride is 1", EVK_HERE.id());
  for (std::uint32_t i = 0; i < repeat; ++i)
    CreateVecIndex(dst[i * repeat_stride * 32 / sizeof(T)],
                   static_cast<T>(static_cast<float>(first) + static_cast<float>(i * kElements)),
                   static_cast<std::uint32_t>(mask), evk_file, evk_line);
}

// A matrix of 16 by 16 elements of two bytes.
template <typename T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, EVK_LOC) {
  static_assert(evk_detail::is_one_of<T, std::int16_t, std::uint16_t, half>,
                "Transpose: the form of 16 by 16 elements exists for int16_t, uint16_t and half");
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kTranspose, EVK_HERE, dst, src);
  r.form = evk_detail::abi::Form::kCount;
  r.a[0] = 256;
  evk_detail::emit(r);
}

namespace evk_detail {
template <typename T>
void trans_data(const std::uint64_t* dst, const std::uint64_t* src, const TransDataTo5HDParams& p, Loc loc) {
  static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4,
                "TransDataTo5HD: only data types of 1, 2 and 4 bytes are supported on Atlas A2");
  std::uint32_t at[32];
  for (int i = 0; i < 16; ++i) at[i] = static_cast<std::uint32_t>(dst[i]);
  for (int i = 0; i < 16; ++i) at[16 + i] = static_cast<std::uint32_t>(src[i]);
  auto r = record(abi::Op::kTransData, loc);
  r.operands = 2;
  r.operand[0] = {dst[0], 0, 0, abi::Space::kUb, TypeOf<T>::value};
  r.operand[1] = {src[0], 0, 0, abi::Space::kUb, TypeOf<T>::value};
  r.a[0] = std::uint64_t{p.repeatTimes} | std::uint64_t{p.dstRepStride} << 16 |
           std::uint64_t{p.srcRepStride} << 32;
  r.a[1] = (p.dstHighHalf ? 1u : 0u) | (p.srcHighHalf ? 2u : 0u);
  evk_twin_emit(&r, at, sizeof(at));
}
}  // namespace evk_detail
// Sixteen rows of 32 bytes become columns. By tensors, or by what their GetPhyAddr() answers.
template <typename T>
void TransDataTo5HD(const LocalTensor<T> (&dst)[16], const LocalTensor<T> (&src)[16],
                    const TransDataTo5HDParams& p, EVK_LOC) {
  std::uint64_t to[16], from[16];
  for (int i = 0; i < 16; ++i) to[i] = dst[i].GetPhyAddr(), from[i] = src[i].GetPhyAddr();
  evk_detail::trans_data<T>(to, from, p, EVK_HERE);
}
template <typename T>
void TransDataTo5HD(std::uint64_t (&dst)[16], std::uint64_t (&src)[16], const TransDataTo5HDParams& p,
                    EVK_LOC) {
  evk_detail::trans_data<T>(dst, src, p, EVK_HERE);
}

// What the last ReduceSum, WholeReduceSum or PairReduceSum left.
template <typename T>
T GetAccVal(EVK_LOC) {
  return evk_detail::from_bits<T>(evk_detail::reduced(evk_detail::abi::Reduced::kSum, EVK_HERE));
}
template <typename T>
void GetReduceMaxMinCount(T& value, T& index, EVK_LOC) {
  value = evk_detail::from_bits<T>(evk_detail::reduced(evk_detail::abi::Reduced::kValue, EVK_HERE));
  index = evk_detail::from_bits<T>(evk_detail::reduced(evk_detail::abi::Reduced::kIndex, EVK_HERE));
}
template <typename T>
void GetReduceMaxMinCount(T& value, EVK_LOC) {
  value = evk_detail::from_bits<T>(evk_detail::reduced(evk_detail::abi::Reduced::kValue, EVK_HERE));
}

// --- slices. In the lowest dimension, which comes first: runs of `burstLen` blocks of 32 bytes with `stride`
// elements between them, from startIndex to endIndex; in each other one: every (1 + stride)-th index. A
// dimension has shapeValue elements.

namespace evk_detail {

constexpr std::uint32_t kSliceDims = 8;

// Calls run(element of the one, element of the other) for each run of blocks.
template <typename Run>
void each_slice(const SliceInfo* a, const SliceInfo* b, std::uint32_t dims, std::uint32_t bytes, Run run) {
  std::uint32_t index[kSliceDims] = {};
  if (dims == 0 || dims > kSliceDims) return;
  const std::uint32_t burst = a[0].burstLen * 32 / bytes, length = a[0].endIndex - a[0].startIndex + 1;
  for (std::uint32_t d = 0; burst > 0 && d < dims;) {
    std::uint64_t from = a[0].startIndex, to = b[0].startIndex, a_pitch = 1, b_pitch = 1;
    for (d = 1; d < dims; ++d) {
      a_pitch *= a[d - 1].shapeValue, b_pitch *= b[d - 1].shapeValue;
      from += (a[d].startIndex + index[d] * (1 + a[d].stride)) * a_pitch;
      to += (b[d].startIndex + index[d] * (1 + b[d].stride)) * b_pitch;
    }
    for (std::uint32_t at = 0, other = 0; at + burst <= length;
         at += burst + a[0].stride, other += burst + b[0].stride)
      run(from + at, to + other);
    for (d = 1; d < dims; ++d) {
      if ((++index[d]) * (1 + a[d].stride) <= a[d].endIndex - a[d].startIndex) break;
      index[d] = 0;
    }
  }
}

}  // namespace evk_detail

template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const SliceInfo dst_slices[],
              const SliceInfo src_slices[], const std::uint32_t dims = 1, EVK_LOC) {
  evk_detail::each_slice(src_slices, dst_slices, dims, sizeof(T), [&](std::uint64_t gm, std::uint64_t local) {
    DataCopy(dst[static_cast<std::uint32_t>(local)], src[gm],
             DataCopyParams(1, static_cast<std::uint16_t>(src_slices[0].burstLen), 0, 0), evk_file, evk_line);
  });
}
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const SliceInfo dst_slices[],
              const SliceInfo src_slices[], const std::uint32_t dims = 1, EVK_LOC) {
  evk_detail::each_slice(dst_slices, src_slices, dims, sizeof(T), [&](std::uint64_t gm, std::uint64_t local) {
    DataCopy(dst[gm], src[static_cast<std::uint32_t>(local)],
             DataCopyParams(1, static_cast<std::uint16_t>(dst_slices[0].burstLen), 0, 0), evk_file, evk_line);
  });
}

// --- filling

template <typename T>
void Fill(const GlobalTensor<T>& dst, const std::uint64_t count, const T value, EVK_LOC) {
  auto r = evk_detail::record(evk_detail::abi::Op::kInitGm, EVK_HERE);
  r.operands = 1;
  r.operand[0] = dst.operand();
  r.a[0] = count;
  r.a[2] = evk_detail::bits_of(value);
  evk_detail::emit(r);
}
template <typename T>
void InitOutput(const GlobalTensor<T>& dst, const std::uint64_t count, const T value = T(0), EVK_LOC) {
  Fill(dst, count, value, evk_file, evk_line);
}
template <typename T>
void InitGlobalMemory(const GlobalTensor<T>& dst, const std::uint64_t count, const T value, EVK_LOC) {
  Fill(dst, count, value, evk_file, evk_line);
}

// For conversions from int32_t to half: the scale. It is 1 where nothing is set.
inline void SetDeqScale(half scale) {
  evk_twin_block()->deq_scale = static_cast<std::uint16_t>(evk_detail::bits_of(scale));
}

}  // namespace AscendC
