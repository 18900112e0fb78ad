// Vector arithmetic in its count form and its mask and repeat form.
#pragma once

#include "ascendc/data_copy.h"

namespace AscendC {

#define EVK_BINARY(Name, Listed, ...)                                                                  \
  EVK_TYPES(Evk##Name##Types, #Name, Listed, __VA_ARGS__);                                             \
  template <typename T>                                                                                \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,         \
            const std::int32_t& count, EVK_LOC) {                                                      \
    static_assert(Evk##Name##Types<T>::ok);                                                            \
    auto r = evk_detail::vector_record(evk_detail::abi::Op::k##Name, EVK_HERE, dst, src0, src1);       \
    evk_detail::by_count(r, count);                                                                    \
    evk_detail::emit(r);                                                                               \
  }                                                                                                    \
  template <typename T, bool isSetMask = true, typename M>                                             \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, M mask, \
            const std::uint8_t repeat, const BinaryRepeatParams& p, EVK_LOC) {                         \
    static_assert(Evk##Name##Types<T>::ok);                                                            \
    auto r = evk_detail::vector_record(evk_detail::abi::Op::k##Name, EVK_HERE, dst, src0, src1);       \
    evk_detail::choose_mask<isSetMask>(r, mask);                                                       \
    evk_detail::set_strides(r, evk_detail::strides(repeat, p));                                        \
    evk_detail::emit(r);                                                                               \
  }

#define EVK_FOUR half, float, std::int16_t, std::int32_t
#define EVK_FOUR_TEXT "half, float, int16_t, int32_t"
EVK_BINARY(Add, EVK_FOUR_TEXT, EVK_FOUR)
EVK_BINARY(Sub, EVK_FOUR_TEXT, EVK_FOUR)
EVK_BINARY(Mul, EVK_FOUR_TEXT, EVK_FOUR)
EVK_BINARY(Div, "half, float", half, float)
EVK_BINARY(Max, EVK_FOUR_TEXT, EVK_FOUR)
EVK_BINARY(Min, EVK_FOUR_TEXT, EVK_FOUR)
EVK_BINARY(And, "int16_t, uint16_t", std::int16_t, std::uint16_t)
EVK_BINARY(Or, "int16_t, uint16_t", std::int16_t, std::uint16_t)
EVK_BINARY(AddRelu, "half, float, int16_t", half, float, std::int16_t)
EVK_BINARY(SubRelu, "half, float, int16_t", half, float, std::int16_t)
EVK_BINARY(MulAddDst, "half, float", half, float)
EVK_BINARY(FusedMulAdd, "half, float", half, float)
EVK_BINARY(FusedMulAddRelu, "half, float", half, float)
#undef EVK_BINARY

// Half sources added to a float destination.
inline void MulAddDst(const LocalTensor<float>& dst, const LocalTensor<half>& src0,
                      const LocalTensor<half>& src1, const std::int32_t& count, EVK_LOC) {
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kMulAddDst, EVK_HERE, dst, src0, src1);
  evk_detail::by_count(r, count);
  evk_detail::emit(r);
}

#define EVK_UNARY(Name, Listed, ...)                                                                    \
  EVK_TYPES(Evk##Name##Types, #Name, Listed, __VA_ARGS__);                                              \
  template <typename T>                                                                                 \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const std::int32_t& count, EVK_LOC) { \
    static_assert(Evk##Name##Types<T>::ok);                                                             \
    auto r = evk_detail::vector_record(evk_detail::abi::Op::k##Name, EVK_HERE, dst, src);               \
    evk_detail::by_count(r, count);                                                                     \
    evk_detail::emit(r);                                                                                \
  }                                                                                                     \
  template <typename T, bool isSetMask = true, typename M>                                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask, const std::uint8_t repeat,    \
            const UnaryRepeatParams& p, EVK_LOC) {                                                      \
    static_assert(Evk##Name##Types<T>::ok);                                                             \
    auto r = evk_detail::vector_record(evk_detail::abi::Op::k##Name, EVK_HERE, dst, src);               \
    evk_detail::choose_mask<isSetMask>(r, mask);                                                        \
    evk_detail::set_strides(r, evk_detail::strides(repeat, p));                                         \
    evk_detail::emit(r);                                                                                \
  }

EVK_UNARY(Exp, "half, float", half, float)
EVK_UNARY(Ln, "half, float", half, float)
EVK_UNARY(Abs, "half, float", half, float)
EVK_UNARY(Reciprocal, "half, float", half, float)
EVK_UNARY(Sqrt, "half, float", half, float)
EVK_UNARY(Rsqrt, "half, float", half, float)
EVK_UNARY(Not, "int16_t, uint16_t", std::int16_t, std::uint16_t)
EVK_UNARY(Relu, "half, float, int32_t", half, float, std::int32_t)
#undef EVK_UNARY

#define EVK_SCALAR(Name, Listed, ...)                                                      \
  EVK_TYPES(Evk##Name##Types, #Name, Listed, __VA_ARGS__);                                 \
  template <typename T>                                                                    \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar,         \
            const std::int32_t& count, EVK_LOC) {                                          \
    static_assert(Evk##Name##Types<T>::ok);                                                \
    auto r = evk_detail::vector_record(evk_detail::abi::Op::k##Name, EVK_HERE, dst, src);  \
    evk_detail::by_count(r, count);                                                        \
    r.a[2] = evk_detail::bits_of(scalar);                                                  \
    evk_detail::emit(r);                                                                   \
  }                                                                                        \
  template <typename T, bool isSetMask = true, typename M>                                 \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, M mask, \
            const std::uint8_t repeat, const UnaryRepeatParams& p, EVK_LOC) {              \
    static_assert(Evk##Name##Types<T>::ok);                                                \
    auto r = evk_detail::vector_record(evk_detail::abi::Op::k##Name, EVK_HERE, dst, src);  \
    evk_detail::choose_mask<isSetMask>(r, mask);                                           \
    evk_detail::set_strides(r, evk_detail::strides(repeat, p));                            \
    r.a[2] = evk_detail::bits_of(scalar);                                                  \
    evk_detail::emit(r);                                                                   \
  }                                                                                        \
  EVK_OTHER_SCALAR(Name, (const LocalTensor<T>&, const LocalTensor<T>&, const U&, const Rest&...))

#define EVK_INTS std::int16_t, std::uint16_t, std::int32_t, std::uint32_t
#define EVK_INTS_TEXT "int16_t, uint16_t, int32_t, uint32_t"
EVK_SCALAR(Adds, EVK_FOUR_TEXT, EVK_FOUR)
EVK_SCALAR(Muls, EVK_FOUR_TEXT, EVK_FOUR)
EVK_SCALAR(Maxs, EVK_FOUR_TEXT, EVK_FOUR)
EVK_SCALAR(Mins, EVK_FOUR_TEXT, EVK_FOUR)
EVK_SCALAR(LeakyRelu, "half, float", half, float)
EVK_SCALAR(Axpy, "half, float", half, float)
EVK_SCALAR(ShiftLeft, EVK_INTS_TEXT, EVK_INTS)
EVK_SCALAR(ShiftRight, EVK_INTS_TEXT, EVK_INTS)
#undef EVK_SCALAR
// Half sources added to a float destination.
inline void Axpy(const LocalTensor<float>& dst, const LocalTensor<half>& src, const half& scalar,
                 const std::int32_t& count, EVK_LOC) {
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kAxpy, EVK_HERE, dst, src);
  evk_detail::by_count(r, count);
  r.a[2] = evk_detail::bits_of(scalar);
  evk_detail::emit(r);
}
#undef EVK_FOUR
#undef EVK_FOUR_TEXT
#undef EVK_INTS
#undef EVK_INTS_TEXT

EVK_TYPES(EvkDuplicateTypes, "Duplicate", "half, bfloat16_t, float, int16_t, uint16_t, int32_t, uint32_t",
          half, bfloat16_t, float, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t);
template <typename T>
void Duplicate(const LocalTensor<T>& dst, const T& scalar, const std::int32_t& count, EVK_LOC) {
  static_assert(EvkDuplicateTypes<T>::ok);
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kDuplicate, EVK_HERE, dst);
  evk_detail::by_count(r, count);
  r.a[2] = evk_detail::bits_of(scalar);
  evk_detail::emit(r);
}
template <typename T, bool isSetMask = true, typename M>
void Duplicate(const LocalTensor<T>& dst, const T& scalar, M mask, const std::uint8_t repeat,
               const std::uint16_t block_stride, const std::uint8_t repeat_stride, EVK_LOC) {
  static_assert(EvkDuplicateTypes<T>::ok);
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kDuplicate, EVK_HERE, dst);
  evk_detail::choose_mask<isSetMask>(r, mask);
  evk_detail::set_strides(r, {repeat, static_cast<std::uint8_t>(block_stride), 1, 1, repeat_stride, 8, 8});
  r.a[2] = evk_detail::bits_of(scalar);
  evk_detail::emit(r);
}

EVK_TYPES(EvkCreateVecIndexTypes, "CreateVecIndex", "half, float, int16_t, int32_t", half, float,
          std::int16_t, std::int32_t);
template <typename T>
void CreateVecIndex(const LocalTensor<T>& dst, const T& first, std::uint32_t count, EVK_LOC) {
  static_assert(EvkCreateVecIndexTypes<T>::ok);
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kCreateVecIndex, EVK_HERE, dst);
  evk_detail::by_count(r, count);
  r.a[2] = evk_detail::bits_of(first);
  evk_detail::emit(r);
}
// first, first + difference, ...
template <typename T>
void ArithProgression(const LocalTensor<T>& dst, const T& first, const T& difference,
                      const std::int32_t& count, EVK_LOC) {
  CreateVecIndex(dst, static_cast<T>(0), static_cast<std::uint32_t>(count), evk_file, evk_line);
  Muls(dst, dst, difference, count, evk_file, evk_line);
  Adds(dst, dst, first, count, evk_file, evk_line);
}
EVK_OTHER_SCALAR(Duplicate, (const LocalTensor<T>&, const U&, const Rest&...))
EVK_OTHER_SCALAR(CreateVecIndex, (const LocalTensor<T>&, const U&, const Rest&...))

// --- mask control. Calls with isSetMask = false use the mask that these leave.

inline void SetMaskCount(EVK_LOC) {
  evk_twin_block()->counter_mask = 1;
  auto r = evk_detail::record(evk_detail::abi::Op::kSetMask, EVK_HERE);
  r.mode = 1;
  evk_detail::emit(r);
}
inline void SetMaskNorm(EVK_LOC) {
  evk_twin_block()->counter_mask = 0;
  auto r = evk_detail::record(evk_detail::abi::Op::kSetMask, EVK_HERE);
  r.a[0] = r.a[1] = ~0ull;
  evk_detail::emit(r);
}
namespace evk_detail {
inline void keep_mask(std::uint64_t high, std::uint64_t low, MaskMode mode, Loc loc) {
  EvkTwinBlock* block = evk_twin_block();
  block->mask[0] = low;
  block->mask[1] = high;
  auto r = record(abi::Op::kSetMask, loc);
  r.a[0] = low;
  r.a[1] = high;
  r.mode = mode == MaskMode::COUNTER ? 1 : 0;
  emit(r);
}
}  // namespace evk_detail
template <typename T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(const std::uint64_t high, const std::uint64_t low, EVK_LOC) {
  evk_detail::keep_mask(high, low, mode, EVK_HERE);
}
template <typename T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(const std::int32_t length, EVK_LOC) {
  const auto n = static_cast<std::uint64_t>(length);
  if constexpr (mode == MaskMode::COUNTER)
    evk_detail::keep_mask(0, n, mode, EVK_HERE);
  else
    evk_detail::keep_mask(n > 64 ? evk_detail::low_bits(n - 64) : 0, evk_detail::low_bits(n), mode, EVK_HERE);
}
inline void ResetMask(EVK_LOC) {
  EvkTwinBlock* block = evk_twin_block();
  block->mask[0] = block->mask[1] = ~0ull;
  evk_detail::emit(evk_detail::record(evk_detail::abi::Op::kResetMask, EVK_HERE));
}

// --- operators of LocalTensor: dst = a + b works on all of dst

namespace evk_detail {

template <typename T>
void assign(const LocalTensor<T>& dst, const Expression<T>& e) {
  auto r = vector_record(e.op, e.loc, dst, e.a, e.b);
  by_count(r, dst.GetSize());
  emit(r);
}

}  // namespace evk_detail

}  // namespace AscendC
