// Reductions: of a whole tensor, of each repeat, of each block of 32 bytes, of pairs.
#pragma once

#include "ascendc/convert.h"

namespace AscendC {
namespace evk_detail {

EVK_TYPES(EvkReduceTypes, "Reduce", "half, float", half, float);

template <typename T>
void reduce_count(abi::Op op, const LocalTensor<T>& dst, const LocalTensor<T>& src,
                  const LocalTensor<T>& work, std::int32_t count, bool index, Loc loc) {
  static_assert(EvkReduceTypes<T>::ok);
  auto r = vector_record(op, loc, dst, src, work);
  by_count(r, count);
  r.a[5] = index ? 1 : 0;
  emit(r);
}

// Repeats beyond the eight bits of an instruction are a count when nothing is left out between them.
template <typename T, typename M>
void reduce_repeats(abi::Op op, const LocalTensor<T>& dst, const LocalTensor<T>& src,
                    const LocalTensor<T>& work, M mask, std::int32_t repeat, std::int32_t stride, bool index,
                    Loc loc) {
  static_assert(EvkReduceTypes<T>::ok);
  constexpr std::int32_t kPerRepeat = 256 / static_cast<std::int32_t>(sizeof(T));
  if constexpr (is_mask_count<M>) {
    if (static_cast<std::int32_t>(mask) == kPerRepeat && stride == 8)
      return reduce_count(op, dst, src, work, repeat * kPerRepeat, index, loc);
  }
  if (repeat > 255)
    evk_twin_assert_failed("a reduction of more than 255 repeats with gaps between them; split it", loc.id());
  auto r = vector_record(op, loc, dst, src, work);
  set_mask(r, mask);
  set_strides(r, {static_cast<std::uint8_t>(repeat), 1, 1, 1, 8, static_cast<std::uint16_t>(stride), 8});
  r.a[5] = index ? 1 : 0;
  emit(r);
}

inline abi::Strides group_strides(std::int32_t repeat, std::int32_t dst_rep, std::int32_t src_blk,
                                  std::int32_t src_rep) {
  return {static_cast<std::uint8_t>(repeat),
          1,
          static_cast<std::uint8_t>(src_blk),
          1,
          static_cast<std::uint16_t>(dst_rep),
          static_cast<std::uint16_t>(src_rep),
          8};
}

template <bool is_set_mask, typename T, typename M>
void reduce_groups(abi::Op op, const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask,
                   const abi::Strides& strides, ReduceOrder order, Loc loc) {
  static_assert(EvkReduceTypes<T>::ok);
  auto r = vector_record(op, loc, dst, src);
  choose_mask<is_set_mask>(r, mask);
  set_strides(r, strides);
  r.a[5] = static_cast<std::uint64_t>(order);
  emit(r);
}

// Integers of any type count leading elements.
template <typename M>
auto mask_of(M mask) {
  if constexpr (is_mask_count<M>)
    return static_cast<std::uint64_t>(mask);
  else
    return static_cast<const std::uint64_t*>(mask);
}

}  // namespace evk_detail

template <typename T, bool isSetMask = true>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work,
               const std::int32_t count, EVK_LOC) {
  evk_detail::reduce_count(evk_detail::abi::Op::kReduceSum, dst, src, work, count, false, EVK_HERE);
}
template <typename T, typename M>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work, M mask,
               const std::int32_t repeat, const std::int32_t stride, EVK_LOC) {
  evk_detail::reduce_repeats(evk_detail::abi::Op::kReduceSum, dst, src, work, evk_detail::mask_of(mask),
                             repeat, stride, false, EVK_HERE);
}
#define EVK_EXTREME(Name)                                                                               \
  template <typename T>                                                                                 \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work,           \
            const std::int32_t count, bool index = false, EVK_LOC) {                                    \
    evk_detail::reduce_count(evk_detail::abi::Op::k##Name, dst, src, work, count, index, EVK_HERE);     \
  }                                                                                                     \
  template <typename T, typename M>                                                                     \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work, M mask,   \
            const std::int32_t repeat, const std::int32_t stride, bool index = false, EVK_LOC) {        \
    evk_detail::reduce_repeats(evk_detail::abi::Op::k##Name, dst, src, work, evk_detail::mask_of(mask), \
                               repeat, stride, index, EVK_HERE);                                        \
  }
EVK_EXTREME(ReduceMax)
EVK_EXTREME(ReduceMin)
#undef EVK_EXTREME

// Each exists under two names.
#define EVK_WHOLE(Name, Record)                                                                            \
  template <typename T, bool isSetMask = true, typename M>                                                 \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask, const std::int32_t repeat,       \
            const std::int32_t dst_rep, const std::int32_t src_blk, const std::int32_t src_rep,            \
            ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, EVK_LOC) {                                 \
    evk_detail::reduce_groups<isSetMask>(evk_detail::abi::Op::Record, dst, src, evk_detail::mask_of(mask), \
                                         evk_detail::group_strides(repeat, dst_rep, src_blk, src_rep),     \
                                         order, EVK_HERE);                                                 \
  }
EVK_WHOLE(WholeReduceSum, kWholeReduceSum)
EVK_WHOLE(WholeReduceMax, kWholeReduceMax)
EVK_WHOLE(WholeReduceMin, kWholeReduceMin)
EVK_WHOLE(ReduceRepeatSum, kWholeReduceSum)
EVK_WHOLE(ReduceRepeatMax, kWholeReduceMax)
EVK_WHOLE(ReduceRepeatMin, kWholeReduceMin)
#undef EVK_WHOLE

#define EVK_GROUPS(Name, Record)                                                                           \
  template <typename T, bool isSetMask = true, typename M>                                                 \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const std::int32_t repeat, M mask,       \
            const std::int32_t dst_rep, const std::int32_t src_blk, const std::int32_t src_rep, EVK_LOC) { \
    evk_detail::reduce_groups<isSetMask>(evk_detail::abi::Op::Record, dst, src, evk_detail::mask_of(mask), \
                                         evk_detail::group_strides(repeat, dst_rep, src_blk, src_rep),     \
                                         ReduceOrder::ORDER_VALUE_INDEX, EVK_HERE);                        \
  }
EVK_GROUPS(BlockReduceSum, kBlockReduceSum)
EVK_GROUPS(BlockReduceMax, kBlockReduceMax)
EVK_GROUPS(BlockReduceMin, kBlockReduceMin)
EVK_GROUPS(ReduceDataBlockSum, kBlockReduceSum)
EVK_GROUPS(ReduceDataBlockMax, kBlockReduceMax)
EVK_GROUPS(ReduceDataBlockMin, kBlockReduceMin)
EVK_GROUPS(PairReduceSum, kPairReduceSum)
EVK_GROUPS(ReducePairElem, kPairReduceSum)
#undef EVK_GROUPS

}  // namespace AscendC
