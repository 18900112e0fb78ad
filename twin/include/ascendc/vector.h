// Vector instructions in their count form and their mask and repeat form.
#pragma once

#include "ascendc/data_copy.h"

namespace AscendC {

struct BinaryRepeatParams {
  std::uint8_t dstBlkStride = 1, src0BlkStride = 1, src1BlkStride = 1, dstRepStride = 8, src0RepStride = 8,
               src1RepStride = 8;
  BinaryRepeatParams() = default;
  BinaryRepeatParams(std::uint8_t db, std::uint8_t s0b, std::uint8_t s1b, std::uint8_t dr, std::uint8_t s0r,
                     std::uint8_t s1r)
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
  UnaryRepeatParams() = default;
  UnaryRepeatParams(std::uint16_t db, std::uint16_t sb, std::uint8_t dr, std::uint8_t sr)
      : dstBlkStride(db), srcBlkStride(sb), dstRepStride(dr), srcRepStride(sr) {}
};
struct CopyRepeatParams {
  std::uint16_t dstStride = 1, srcStride = 1, dstRepeatSize = 8, srcRepeatSize = 8;
};
struct BrcbRepeatParams {
  std::uint16_t dstBlkStride = 1, dstRepStride = 8;
  BrcbRepeatParams() = default;
  BrcbRepeatParams(std::uint16_t blk, std::uint16_t rep) : dstBlkStride(blk), dstRepStride(rep) {}
};

enum class RoundMode { CAST_NONE = 0, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD };
enum class CMPMODE : std::uint8_t { LT = 0, GT, EQ, LE, GE, NE };
enum class SELMODE : std::uint8_t { VSEL_CMPMASK_SPR = 0, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class ReduceOrder { ORDER_VALUE_INDEX = 0, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };
enum class MaskMode : std::uint8_t { NORMAL = 0, COUNTER };
constexpr std::uint64_t MASK_PLACEHOLDER = 0;

namespace evk_detail {

// The bits of the first n elements of a repeat.
constexpr std::uint64_t low_bits(std::uint64_t n) { return n >= 64 ? ~0ull : (1ull << n) - 1; }
inline void set_mask(abi::Record& r, std::uint64_t elements) {
  r.a[0] = low_bits(elements);
  r.a[1] = elements > 64 ? low_bits(elements - 64) : 0;
}
inline void set_mask(abi::Record& r, const std::uint64_t* mask) {
  r.a[0] = mask[0];
  r.a[1] = mask[1];
}
inline void set_strides(abi::Record& r, const abi::Strides& s) {
  r.form = abi::Form::kRepeat;
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
inline void by_count(abi::Record& r, std::int64_t count) {
  r.form = abi::Form::kCount;
  r.a[0] = count < 0 ? 0 : static_cast<std::uint64_t>(count);
}
template <typename... Tensors>
abi::Record vector_record(abi::Op op, Loc loc, const Tensors&... tensors) {
  abi::Record r = record(op, loc);
  r.operands = sizeof...(tensors);
  std::size_t i = 0;
  ((r.operand[i++] = tensors.operand()), ...);
  return r;
}

}  // namespace evk_detail

#define EVK_SUPPORTED(Name, Listed, ...)               \
  static_assert(evk_detail::is_one_of<T, __VA_ARGS__>, \
                #Name " is not supported for this type on Atlas A2; supported: " Listed)

#define EVK_BINARY(Name, Listed, ...)                                                                \
  template <typename T>                                                                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,       \
            const std::int32_t& count, EVK_LOC) {                                                    \
    EVK_SUPPORTED(Name, Listed, __VA_ARGS__);                                                        \
    auto r = evk_detail::vector_record(evk_detail::abi::Op::k##Name, EVK_HERE, dst, src0, src1);     \
    evk_detail::by_count(r, count);                                                                  \
    evk_detail::emit(r);                                                                             \
  }                                                                                                  \
  template <typename T>                                                                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,       \
            std::uint64_t mask, const std::uint8_t repeat, const BinaryRepeatParams& p, EVK_LOC) {   \
    EVK_SUPPORTED(Name, Listed, __VA_ARGS__);                                                        \
    auto r = evk_detail::vector_record(evk_detail::abi::Op::k##Name, EVK_HERE, dst, src0, src1);     \
    evk_detail::set_mask(r, mask);                                                                   \
    evk_detail::set_strides(r, evk_detail::strides(repeat, p));                                      \
    evk_detail::emit(r);                                                                             \
  }                                                                                                  \
  template <typename T>                                                                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,       \
            std::uint64_t mask[], const std::uint8_t repeat, const BinaryRepeatParams& p, EVK_LOC) { \
    EVK_SUPPORTED(Name, Listed, __VA_ARGS__);                                                        \
    auto r = evk_detail::vector_record(evk_detail::abi::Op::k##Name, EVK_HERE, dst, src0, src1);     \
    evk_detail::set_mask(r, mask);                                                                   \
    evk_detail::set_strides(r, evk_detail::strides(repeat, p));                                      \
    evk_detail::emit(r);                                                                             \
  }

EVK_BINARY(Add, "half, float, int16_t, int32_t", half, float, std::int16_t, std::int32_t)
EVK_BINARY(Sub, "half, float, int16_t, int32_t", half, float, std::int16_t, std::int32_t)
EVK_BINARY(Mul, "half, float, int16_t, int32_t", half, float, std::int16_t, std::int32_t)
EVK_BINARY(Div, "half, float", half, float)
EVK_BINARY(Max, "half, float, int16_t, int32_t", half, float, std::int16_t, std::int32_t)
EVK_BINARY(Min, "half, float, int16_t, int32_t", half, float, std::int16_t, std::int32_t)
EVK_BINARY(And, "int16_t, uint16_t", std::int16_t, std::uint16_t)
EVK_BINARY(Or, "int16_t, uint16_t", std::int16_t, std::uint16_t)
EVK_BINARY(AddRelu, "half, float", half, float)
EVK_BINARY(SubRelu, "half, float", half, float)
EVK_BINARY(MulAddDst, "half, float", half, float)
#undef EVK_BINARY

#define EVK_UNARY(Name, Listed, ...)                                                                    \
  template <typename T>                                                                                 \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const std::int32_t& count, EVK_LOC) { \
    EVK_SUPPORTED(Name, Listed, __VA_ARGS__);                                                           \
    auto r = evk_detail::vector_record(evk_detail::abi::Op::k##Name, EVK_HERE, dst, src);               \
    evk_detail::by_count(r, count);                                                                     \
    evk_detail::emit(r);                                                                                \
  }                                                                                                     \
  template <typename T>                                                                                 \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, std::uint64_t mask,                   \
            const std::uint8_t repeat, const UnaryRepeatParams& p, EVK_LOC) {                           \
    EVK_SUPPORTED(Name, Listed, __VA_ARGS__);                                                           \
    auto r = evk_detail::vector_record(evk_detail::abi::Op::k##Name, EVK_HERE, dst, src);               \
    evk_detail::set_mask(r, mask);                                                                      \
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

// The scalar is of the tensor's type: other arithmetic types are converted, as the device's overloads do.
#define EVK_SCALAR(Name, Listed, ...)                                                                  \
  template <typename T, typename U>                                                                    \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const U& scalar,                     \
            const std::int32_t& count, EVK_LOC) {                                                      \
    EVK_SUPPORTED(Name, Listed, __VA_ARGS__);                                                          \
    static_assert(std::is_convertible_v<U, T>, #Name " takes a scalar of the tensor's type");          \
    auto r = evk_detail::vector_record(evk_detail::abi::Op::k##Name, EVK_HERE, dst, src);              \
    evk_detail::by_count(r, count);                                                                    \
    r.a[2] = evk_detail::bits_of(static_cast<T>(scalar));                                              \
    evk_detail::emit(r);                                                                               \
  }                                                                                                    \
  template <typename T, typename U>                                                                    \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const U& scalar, std::uint64_t mask, \
            const std::uint8_t repeat, const UnaryRepeatParams& p, EVK_LOC) {                          \
    EVK_SUPPORTED(Name, Listed, __VA_ARGS__);                                                          \
    static_assert(std::is_convertible_v<U, T>, #Name " takes a scalar of the tensor's type");          \
    auto r = evk_detail::vector_record(evk_detail::abi::Op::k##Name, EVK_HERE, dst, src);              \
    evk_detail::set_mask(r, mask);                                                                     \
    evk_detail::set_strides(r, evk_detail::strides(repeat, p));                                        \
    r.a[2] = evk_detail::bits_of(static_cast<T>(scalar));                                              \
    evk_detail::emit(r);                                                                               \
  }

EVK_SCALAR(Adds, "half, float, int16_t, int32_t", half, float, std::int16_t, std::int32_t)
EVK_SCALAR(Muls, "half, float, int16_t, int32_t", half, float, std::int16_t, std::int32_t)
EVK_SCALAR(Maxs, "half, float, int16_t, int32_t", half, float, std::int16_t, std::int32_t)
EVK_SCALAR(Mins, "half, float, int16_t, int32_t", half, float, std::int16_t, std::int32_t)
EVK_SCALAR(LeakyRelu, "half, float", half, float)
EVK_SCALAR(Axpy, "half, float", half, float)
EVK_SCALAR(ShiftLeft, "uint16_t, uint32_t, int16_t, int32_t", std::uint16_t, std::uint32_t, std::int16_t,
           std::int32_t)
EVK_SCALAR(ShiftRight, "uint16_t, uint32_t, int16_t, int32_t", std::uint16_t, std::uint32_t, std::int16_t,
           std::int32_t)
#undef EVK_SCALAR

template <typename T, typename U>
void Duplicate(const LocalTensor<T>& dst, const U& scalar, const std::int32_t& count, EVK_LOC) {
  EVK_SUPPORTED(Duplicate, "half, bfloat16_t, float, int16_t, uint16_t, int32_t, uint32_t", half, bfloat16_t,
                float, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t);
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kDuplicate, EVK_HERE, dst);
  evk_detail::by_count(r, count);
  r.a[2] = evk_detail::bits_of(static_cast<T>(scalar));
  evk_detail::emit(r);
}
template <typename T, typename U>
void Duplicate(const LocalTensor<T>& dst, const U& scalar, std::uint64_t mask, const std::uint8_t repeat,
               const std::uint16_t block_stride, const std::uint8_t repeat_stride, EVK_LOC) {
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kDuplicate, EVK_HERE, dst);
  evk_detail::set_mask(r, mask);
  evk_detail::set_strides(r, {repeat, static_cast<std::uint8_t>(block_stride), 1, 1, repeat_stride, 8, 8});
  r.a[2] = evk_detail::bits_of(static_cast<T>(scalar));
  evk_detail::emit(r);
}

template <typename D, typename S>
void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, const RoundMode& mode,
          const std::uint32_t count, EVK_LOC) {
  static_assert(!std::is_same_v<D, S>, "Cast converts between two different types");
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kCast, EVK_HERE, dst, src);
  evk_detail::by_count(r, count);
  r.mode = static_cast<std::uint16_t>(mode);
  evk_detail::emit(r);
}
template <typename D, typename S>
void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, const RoundMode& mode,
          const std::uint64_t mask, const std::uint8_t repeat, const UnaryRepeatParams& p, EVK_LOC) {
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kCast, EVK_HERE, dst, src);
  evk_detail::set_mask(r, mask);
  evk_detail::set_strides(r, evk_detail::strides(repeat, p));
  r.mode = static_cast<std::uint16_t>(mode);
  evk_detail::emit(r);
}

template <typename D, typename T>
void Compare(const LocalTensor<D>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode,
             std::uint32_t count, EVK_LOC) {
  EVK_SUPPORTED(Compare, "half, float", half, float);
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kCompare, EVK_HERE, dst, src0, src1);
  evk_detail::by_count(r, count);
  r.mode = static_cast<std::uint16_t>(mode);
  evk_detail::emit(r);
}
template <typename D, typename T>
void CompareScalar(const LocalTensor<D>& dst, const LocalTensor<T>& src, const T scalar, CMPMODE mode,
                   std::uint32_t count, EVK_LOC) {
  EVK_SUPPORTED(CompareScalar, "half, float", half, float);
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kCompareScalar, EVK_HERE, dst, src);
  evk_detail::by_count(r, count);
  r.mode = static_cast<std::uint16_t>(mode);
  r.a[2] = evk_detail::bits_of(scalar);
  evk_detail::emit(r);
}
template <typename D, typename T>
void Compares(const LocalTensor<D>& dst, const LocalTensor<T>& src, const T scalar, CMPMODE mode,
              std::uint32_t count, EVK_LOC) {
  CompareScalar(dst, src, scalar, mode, count, evk_file, evk_line);
}
template <typename T, typename M>
void Select(const LocalTensor<T>& dst, const LocalTensor<M>& mask, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, SELMODE mode, std::uint32_t count, EVK_LOC) {
  EVK_SUPPORTED(Select, "half, float", half, float);
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kSelect, EVK_HERE, dst, src0, src1, mask);
  evk_detail::by_count(r, count);
  r.mode = static_cast<std::uint16_t>(mode);
  evk_detail::emit(r);
}

#define EVK_REDUCE(Name)                                                                        \
  template <typename T>                                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work,   \
            const std::int32_t count, bool index = false, EVK_LOC) {                            \
    EVK_SUPPORTED(Name, "half, float", half, float);                                            \
    auto r = evk_detail::vector_record(evk_detail::abi::Op::k##Name, EVK_HERE, dst, src, work); \
    evk_detail::by_count(r, count);                                                             \
    r.a[5] = index ? 1 : 0;                                                                     \
    evk_detail::emit(r);                                                                        \
  }
EVK_REDUCE(ReduceMax)
EVK_REDUCE(ReduceMin)
#undef EVK_REDUCE
template <typename T>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work,
               const std::int32_t count, EVK_LOC) {
  EVK_SUPPORTED(ReduceSum, "half, float", half, float);
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kReduceSum, EVK_HERE, dst, src, work);
  evk_detail::by_count(r, count);
  evk_detail::emit(r);
}
template <typename T>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work,
               const std::int32_t mask, const std::int32_t repeat, const std::int32_t stride, EVK_LOC) {
  EVK_SUPPORTED(ReduceSum, "half, float", half, float);
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kReduceSum, EVK_HERE, dst, src, work);
  evk_detail::set_mask(r, static_cast<std::uint64_t>(mask));
  evk_detail::set_strides(
      r, {static_cast<std::uint8_t>(repeat), 1, 1, 1, 8, static_cast<std::uint16_t>(stride), 8});
  evk_detail::emit(r);
}

// Reductions of each repeat, block or pair. Each exists under two names.
#define EVK_REPEAT_REDUCE(Name, Record)                                                                     \
  template <typename T>                                                                                     \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const std::int32_t mask,                  \
            const std::int32_t repeat, const std::int32_t dst_rep, const std::int32_t src_blk,              \
            const std::int32_t src_rep, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, EVK_LOC) {      \
    EVK_SUPPORTED(Name, "half, float", half, float);                                                        \
    auto r = evk_detail::vector_record(evk_detail::abi::Op::Record, EVK_HERE, dst, src);                    \
    evk_detail::set_mask(r, static_cast<std::uint64_t>(mask));                                              \
    evk_detail::set_strides(r,                                                                              \
                            {static_cast<std::uint8_t>(repeat), 1, static_cast<std::uint8_t>(src_blk), 1,   \
                             static_cast<std::uint16_t>(dst_rep), static_cast<std::uint16_t>(src_rep), 8}); \
    r.a[5] = static_cast<std::uint64_t>(order);                                                             \
    evk_detail::emit(r);                                                                                    \
  }
EVK_REPEAT_REDUCE(WholeReduceSum, kWholeReduceSum)
EVK_REPEAT_REDUCE(WholeReduceMax, kWholeReduceMax)
EVK_REPEAT_REDUCE(WholeReduceMin, kWholeReduceMin)
EVK_REPEAT_REDUCE(ReduceRepeatSum, kWholeReduceSum)
EVK_REPEAT_REDUCE(ReduceRepeatMax, kWholeReduceMax)
EVK_REPEAT_REDUCE(ReduceRepeatMin, kWholeReduceMin)
#undef EVK_REPEAT_REDUCE
#define EVK_BLOCK_REDUCE(Name, Record)                                                                      \
  template <typename T>                                                                                     \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const std::int32_t repeat,                \
            const std::int32_t mask, const std::int32_t dst_rep, const std::int32_t src_blk,                \
            const std::int32_t src_rep, EVK_LOC) {                                                          \
    EVK_SUPPORTED(Name, "half, float", half, float);                                                        \
    auto r = evk_detail::vector_record(evk_detail::abi::Op::Record, EVK_HERE, dst, src);                    \
    evk_detail::set_mask(r, static_cast<std::uint64_t>(mask));                                              \
    evk_detail::set_strides(r,                                                                              \
                            {static_cast<std::uint8_t>(repeat), 1, static_cast<std::uint8_t>(src_blk), 1,   \
                             static_cast<std::uint16_t>(dst_rep), static_cast<std::uint16_t>(src_rep), 8}); \
    evk_detail::emit(r);                                                                                    \
  }
EVK_BLOCK_REDUCE(BlockReduceSum, kBlockReduceSum)
EVK_BLOCK_REDUCE(BlockReduceMax, kBlockReduceMax)
EVK_BLOCK_REDUCE(BlockReduceMin, kBlockReduceMin)
EVK_BLOCK_REDUCE(PairReduceSum, kPairReduceSum)
#undef EVK_BLOCK_REDUCE

template <typename T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<std::uint32_t>& offsets,
            const std::uint32_t base, const std::uint32_t count, EVK_LOC) {
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kGather, EVK_HERE, dst, src, offsets);
  evk_detail::by_count(r, count);
  r.a[2] = base;
  evk_detail::emit(r);
}
template <typename T>
void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const std::uint8_t repeat,
          const BrcbRepeatParams& p, EVK_LOC) {
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kBrcb, EVK_HERE, dst, src);
  evk_detail::set_strides(r, {repeat, static_cast<std::uint8_t>(p.dstBlkStride), 1, 1, p.dstRepStride, 1, 8});
  evk_detail::emit(r);
}
template <typename T>
void CreateVecIndex(const LocalTensor<T>& dst, const T& first, std::uint32_t count, EVK_LOC) {
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kCreateVecIndex, EVK_HERE, dst);
  evk_detail::by_count(r, count);
  r.a[2] = evk_detail::bits_of(first);
  evk_detail::emit(r);
}
template <typename T>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const std::uint64_t mask,
          const std::uint8_t repeat, const CopyRepeatParams& p, EVK_LOC) {
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kCopy, EVK_HERE, dst, src);
  evk_detail::set_mask(r, mask);
  evk_detail::set_strides(
      r, {repeat, static_cast<std::uint8_t>(p.dstStride), static_cast<std::uint8_t>(p.srcStride), 1,
          p.dstRepeatSize, p.srcRepeatSize, 8});
  evk_detail::emit(r);
}
#undef EVK_SUPPORTED

}  // namespace AscendC
