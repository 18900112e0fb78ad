// Cast, and moves between elements: Copy, Brcb, Gather, Compare, Select.
#pragma once

#include "ascendc/vector.h"

namespace AscendC {

namespace evk_detail {

template <typename D, typename S, typename To, typename... From>
inline constexpr bool is_cast = std::is_same_v<D, To>&& is_one_of<S, From...>;

// The conversions that the chip has.
template <typename D, typename S>
inline constexpr bool has_cast =
    is_cast<D, S, half, float, std::int8_t, std::uint8_t, std::int16_t, std::int32_t> ||
    is_cast<D, S, float, half, bfloat16_t, std::int16_t, std::int32_t, std::int64_t, float> ||
    is_cast<D, S, bfloat16_t, float> || is_cast<D, S, std::int8_t, half> ||
    is_cast<D, S, std::uint8_t, half> || is_cast<D, S, std::int16_t, half, float, std::int32_t> ||
    is_cast<D, S, std::int32_t, half, bfloat16_t, float, std::int64_t> ||
    is_cast<D, S, std::int64_t, float, std::int32_t>;

template <typename D, typename S>
abi::Record cast_record(const LocalTensor<D>& dst, const LocalTensor<S>& src, RoundMode mode, Loc loc) {
  static_assert(has_cast<D, S>,
                "Cast: this pair of data types is not supported on Atlas A2; go through float or half "
                "(int8_t and uint8_t convert to and from half alone, bfloat16_t to float and int32_t)");
  auto r = vector_record(abi::Op::kCast, loc, dst, src);
  r.mode = static_cast<std::uint16_t>(mode);
  if constexpr (is_cast<D, S, half, std::int32_t>) r.a[2] = evk_twin_block()->deq_scale;
  return r;
}

}  // namespace evk_detail

template <typename D, typename S>
void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, const RoundMode& mode,
          const std::uint32_t count, EVK_LOC) {
  auto r = evk_detail::cast_record(dst, src, mode, EVK_HERE);
  evk_detail::by_count(r, count);
  evk_detail::emit(r);
}
template <typename D, typename S, bool isSetMask = true, typename M>
void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, const RoundMode& mode, M mask,
          const std::uint8_t repeat, const UnaryRepeatParams& p, EVK_LOC) {
  auto r = evk_detail::cast_record(dst, src, mode, EVK_HERE);
  evk_detail::choose_mask<isSetMask>(r, mask);
  evk_detail::set_strides(r, evk_detail::strides(repeat, p));
  evk_detail::emit(r);
}

// --- comparison: one bit an element

// int32_t can be compared for equality alone: what mode it is, is known at run time.
EVK_TYPES(EvkCompareTypes, "Compare", "half, float, and int32_t with CMPMODE::EQ", half, float, std::int32_t);

template <typename D, typename T>
void Compare(const LocalTensor<D>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode,
             std::uint32_t count, EVK_LOC) {
  static_assert(EvkCompareTypes<T>::ok);
  static_assert(sizeof(D) == 1, "Compare: the result is a tensor of uint8_t or int8_t, one bit an element");
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kCompare, EVK_HERE, dst, src0, src1);
  evk_detail::by_count(r, count);
  r.mode = static_cast<std::uint16_t>(mode);
  evk_detail::emit(r);
}
// The bits of one repeat follow those of the one before.
template <typename D, typename T, bool isSetMask = true, typename M>
void Compare(const LocalTensor<D>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode,
             M mask, std::uint8_t repeat, const BinaryRepeatParams& p, EVK_LOC) {
  static_assert(EvkCompareTypes<T>::ok);
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kCompare, EVK_HERE, dst, src0, src1);
  evk_detail::choose_mask<isSetMask>(r, mask);
  evk_detail::abi::Strides s = evk_detail::strides(repeat, p);
  s.dst_block = 1;
  s.dst_repeat = 8;
  evk_detail::set_strides(r, s);
  r.mode = static_cast<std::uint16_t>(mode);
  evk_detail::emit(r);
}
template <typename D, typename T, typename U>
void CompareScalar(const LocalTensor<D>& dst, const LocalTensor<T>& src, const U scalar, CMPMODE mode,
                   std::uint32_t count, EVK_LOC) {
  static_assert(EvkCompareTypes<T>::ok);
  EVK_SAME_SCALAR("CompareScalar");
  static_assert(sizeof(D) == 1,
                "CompareScalar: the result is a tensor of uint8_t or int8_t, one bit an element");
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kCompareScalar, EVK_HERE, dst, src);
  evk_detail::by_count(r, count);
  r.mode = static_cast<std::uint16_t>(mode);
  r.a[2] = evk_detail::bits_of(static_cast<T>(scalar));
  evk_detail::emit(r);
}
// The bits of one repeat follow those of the one before.
template <typename D, typename T, typename U, bool isSetMask = true, typename M>
void CompareScalar(const LocalTensor<D>& dst, const LocalTensor<T>& src, const U scalar, CMPMODE mode, M mask,
                   std::uint8_t repeat, const UnaryRepeatParams& p, EVK_LOC) {
  static_assert(EvkCompareTypes<T>::ok);
  EVK_SAME_SCALAR("CompareScalar");
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kCompareScalar, EVK_HERE, dst, src);
  evk_detail::choose_mask<isSetMask>(r, mask);
  evk_detail::abi::Strides s = evk_detail::strides(repeat, p);
  s.dst_block = 1;
  s.dst_repeat = 8;
  evk_detail::set_strides(r, s);
  r.mode = static_cast<std::uint16_t>(mode);
  r.a[2] = evk_detail::bits_of(scalar);
  evk_detail::emit(r);
}
template <typename D, typename T, typename U>
void Compares(const LocalTensor<D>& dst, const LocalTensor<T>& src, const U scalar, CMPMODE mode,
              std::uint32_t count, EVK_LOC) {
  CompareScalar(dst, src, scalar, mode, count, evk_file, evk_line);
}
template <typename D, typename T, typename U, bool isSetMask = true, typename M>
void Compares(const LocalTensor<D>& dst, const LocalTensor<T>& src, const U scalar, CMPMODE mode, M mask,
              std::uint8_t repeat, const UnaryRepeatParams& p, EVK_LOC) {
  CompareScalar<D, T, U, isSetMask>(dst, src, scalar, mode, mask, repeat, p, evk_file, evk_line);
}

EVK_TYPES(EvkSelectTypes, "Select", "half, float", half, float);

template <typename T, typename M>
void Select(const LocalTensor<T>& dst, const LocalTensor<M>& mask, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, SELMODE mode, std::uint32_t count, EVK_LOC) {
  static_assert(EvkSelectTypes<T>::ok);
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kSelect, EVK_HERE, dst, src0, src1, mask);
  evk_detail::by_count(r, count);
  r.mode = static_cast<std::uint16_t>(mode);
  evk_detail::emit(r);
}
// The scalar is spread over dst first, as the device's own sequence spreads it over reserved memory.
// REQUIRES: dst and src0 are not the same tensor.
template <typename T, typename M, typename U>
void Select(const LocalTensor<T>& dst, const LocalTensor<M>& mask, const LocalTensor<T>& src0, const U scalar,
            SELMODE mode, std::uint32_t count, EVK_LOC) {
  EVK_SAME_SCALAR("Select");
  if (dst.GetPhyAddr() == src0.GetPhyAddr())
    evk_twin_assert_failed("Select with a scalar needs a destination apart from its source", EVK_HERE.id());
  Duplicate(dst, scalar, static_cast<std::int32_t>(count), evk_file, evk_line);
  Select(dst, mask, src0, dst, mode, count, evk_file, evk_line);
}
template <typename T, typename M, bool isSetMask = true, typename N>
void Select(const LocalTensor<T>& dst, const LocalTensor<M>& bits, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, SELMODE mode, N mask, std::uint8_t repeat,
            const BinaryRepeatParams& p, EVK_LOC) {
  static_assert(EvkSelectTypes<T>::ok);
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kSelect, EVK_HERE, dst, src0, src1, bits);
  evk_detail::choose_mask<isSetMask>(r, mask);
  evk_detail::set_strides(r, evk_detail::strides(repeat, p));
  r.mode = static_cast<std::uint16_t>(mode);
  evk_detail::emit(r);
}

// --- moves within UB

template <typename T, bool isSetMask = true, typename M>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask, const std::uint8_t repeat,
          const CopyRepeatParams& p, EVK_LOC) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4,
                "Copy: only data types of 2 and 4 bytes are supported on Atlas A2");
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kCopy, EVK_HERE, dst, src);
  evk_detail::choose_mask<isSetMask>(r, mask);
  evk_detail::set_strides(
      r, {repeat, static_cast<std::uint8_t>(p.dstStride), static_cast<std::uint8_t>(p.srcStride), 1,
          p.dstRepeatSize, p.srcRepeatSize, 8});
  evk_detail::emit(r);
}
template <typename T>
void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const std::uint8_t repeat,
          const BrcbRepeatParams& p, EVK_LOC) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4,
                "Brcb: only data types of 2 and 4 bytes are supported on Atlas A2");
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kBrcb, EVK_HERE, dst, src);
  r.form = evk_detail::abi::Form::kRepeat;
  evk_detail::set_strides(r, {repeat, static_cast<std::uint8_t>(p.dstBlkStride), 1, 1, p.dstRepStride, 1, 8});
  evk_detail::emit(r);
}
// Offsets are in bytes.
template <typename T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<std::uint32_t>& offsets,
            const std::uint32_t base, const std::uint32_t count, EVK_LOC) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4,
                "Gather: only data types of 2 and 4 bytes are supported on Atlas A2");
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kGather, EVK_HERE, dst, src, offsets);
  evk_detail::by_count(r, count);
  r.a[2] = base;
  evk_detail::emit(r);
}

}  // namespace AscendC
