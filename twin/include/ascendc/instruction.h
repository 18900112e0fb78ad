// How vector calls become records: operands, masks, strides, and what is said about a data type that an
// instruction does not have.
#pragma once

#include "ascendc/params.h"
#include "ascendc/sync.h"

namespace AscendC {
namespace evk_detail {

template <typename... Tensors>
abi::Record vector_record(abi::Op op, Loc loc, const Tensors&... tensors) {
  abi::Record r = record(op, loc);
  r.operands = sizeof...(tensors);
  std::size_t i = 0;
  ((r.operand[i++] = tensors.operand()), ...);
  return r;
}

inline void by_count(abi::Record& r, std::int64_t count) {
  r.form = abi::Form::kCount;
  r.a[0] = count < 0 ? 0 : static_cast<std::uint64_t>(count);
}

// The bits of the first n elements of a repeat.
constexpr std::uint64_t low_bits(std::uint64_t n) { return n >= 64 ? ~0ull : (1ull << n) - 1; }

// The first `elements` of each repeat, or of all repeats together in counter mode.
inline void set_mask(abi::Record& r, std::uint64_t elements) {
  const bool counter = evk_twin_block()->counter_mask != 0;
  r.form = counter ? abi::Form::kCounter : abi::Form::kRepeat;
  r.a[0] = counter ? elements : low_bits(elements);
  r.a[1] = !counter && elements > 64 ? low_bits(elements - 64) : 0;
}
inline void set_mask(abi::Record& r, const std::uint64_t* mask) {
  if (evk_twin_block()->counter_mask) return set_mask(r, mask[0]);
  r.form = abi::Form::kRepeat;
  r.a[0] = mask[0];
  r.a[1] = mask[1];
}
// The mask that SetVectorMask left.
inline void set_kept_mask(abi::Record& r) {
  const EvkTwinBlock* block = evk_twin_block();
  r.form = block->counter_mask ? abi::Form::kCounter : abi::Form::kRepeat;
  r.a[0] = block->mask[0];
  r.a[1] = block->mask[1];
}
template <bool is_set_mask, typename Mask>
void choose_mask(abi::Record& r, Mask mask) {
  if constexpr (is_set_mask)
    set_mask(r, mask);
  else
    set_kept_mask(r);
}

inline void set_strides(abi::Record& r, const abi::Strides& s) {
  r.a[3] = abi::pack_low(s);
  r.a[4] = abi::pack_high(s);
}
inline abi::Strides strides(std::uint8_t repeat, const BinaryRepeatParams& p) {
  return {repeat,         p.dstBlkStride,  p.src0BlkStride, p.src1BlkStride,
          p.dstRepStride, p.src0RepStride, p.src1RepStride};
}
inline abi::Strides strides(std::uint8_t repeat, const UnaryRepeatParams& p) {
  return {repeat,
          static_cast<std::uint8_t>(p.dstBlkStride),
          static_cast<std::uint8_t>(p.srcBlkStride),
          1,
          p.dstRepStride,
          p.srcRepStride,
          8};
}

// A mask argument is a count of elements (any integer) or two words of bits.
template <typename M>
inline constexpr bool is_mask_count = std::is_integral_v<M>;

}  // namespace evk_detail

// Declares which data types an instruction has on this chip; another type is a compile error that names it.
#define EVK_TYPE_ERROR(Name, Listed, Type)      \
  static_assert(!std::is_same_v<T, Type> || ok, \
                Name ": " #Type " is not supported on Atlas A2; supported: " Listed)
#define EVK_TYPES(Id, Name, Listed, ...)                              \
  template <typename T>                                               \
  struct Id {                                                         \
    static constexpr bool ok = evk_detail::is_one_of<T, __VA_ARGS__>; \
    EVK_TYPE_ERROR(Name, Listed, float);                              \
    EVK_TYPE_ERROR(Name, Listed, half);                               \
    EVK_TYPE_ERROR(Name, Listed, bfloat16_t);                         \
    EVK_TYPE_ERROR(Name, Listed, double);                             \
    EVK_TYPE_ERROR(Name, Listed, bool);                               \
    EVK_TYPE_ERROR(Name, Listed, int8_t);                             \
    EVK_TYPE_ERROR(Name, Listed, uint8_t);                            \
    EVK_TYPE_ERROR(Name, Listed, int16_t);                            \
    EVK_TYPE_ERROR(Name, Listed, uint16_t);                           \
    EVK_TYPE_ERROR(Name, Listed, int32_t);                            \
    EVK_TYPE_ERROR(Name, Listed, uint32_t);                           \
    EVK_TYPE_ERROR(Name, Listed, int64_t);                            \
    EVK_TYPE_ERROR(Name, Listed, uint64_t);                           \
  }
// The overload that is chosen where the scalar's type differs and the call does not name the element type
// itself.
#define EVK_OTHER_SCALAR(Name, Parameters)                                                   \
  template <typename U, typename T, typename... Rest,                                        \
            std::enable_if_t<!std::is_same_v<U, T> && std::is_convertible_v<U, T>, int> = 0> \
  void Name Parameters {                                                                     \
    EVK_SAME_SCALAR(#Name);                                                                  \
  }
#define EVK_SAME_SCALAR(Name) \
  static_assert(              \
      std::is_same_v<T, U>,   \
      Name ": the scalar must have the tensor's data type; write static_cast<T>(value), or 1.0f for float")

}  // namespace AscendC
