// Names that programs invent, or that exist under another name: a call says what was meant.
#pragma once

#include "ascendc/sort.h"

namespace AscendC {
namespace evk_detail {
template <typename... A>
inline constexpr bool is_there = false;
}  // namespace evk_detail

#define EVK_NOT_THERE(Name, Remedy)                                                  \
  template <typename... A>                                                           \
  void Name(A&&...) {                                                                \
    static_assert(evk_detail::is_there<A...>, "Ascend C has no " #Name "; " Remedy); \
  }
EVK_NOT_THERE(Dup, "use Duplicate(dst, scalar, count)")
EVK_NOT_THERE(VectorDup, "use Duplicate(dst, scalar, count)")
EVK_NOT_THERE(Zero, "use Duplicate(dst, static_cast<T>(0), count)")
EVK_NOT_THERE(Maximum, "use Max(dst, src0, src1, count)")
EVK_NOT_THERE(Minimum, "use Min(dst, src0, src1, count)")
EVK_NOT_THERE(Maximums, "use Maxs(dst, src, scalar, count)")
EVK_NOT_THERE(Minimums, "use Mins(dst, src, scalar, count)")
EVK_NOT_THERE(Exps, "use Exp(dst, src, count)")
EVK_NOT_THERE(Logs, "use Ln(dst, src, count)")
EVK_NOT_THERE(Sums, "use ReduceSum(dst, src, work, count)")
EVK_NOT_THERE(FAdd, "use Add(dst, src0, src1, count)")
EVK_NOT_THERE(FMul, "use Mul(dst, src0, src1, count)")
EVK_NOT_THERE(SubScalar, "use Adds(dst, src, -scalar, count)")
EVK_NOT_THERE(Subs, "use Adds(dst, src, -scalar, count)")
EVK_NOT_THERE(Divs, "use Muls(dst, src, 1 / scalar, count)")
EVK_NOT_THERE(Less, "use Compare(dst, src0, src1, CMPMODE::LT, count)")
EVK_NOT_THERE(Greater, "use Compare(dst, src0, src1, CMPMODE::GT, count)")
EVK_NOT_THERE(HardTanh, "use Maxs and Mins")
EVK_NOT_THERE(Softplus, "use Exp, Adds and Ln")
EVK_NOT_THERE(Softmax, "use SoftMax(dst, sum, max, src, tiling)")
EVK_NOT_THERE(FloorToInt, "use Cast with RoundMode::CAST_FLOOR")
EVK_NOT_THERE(SqrtScalar, "scalars have no such function; use Sqrt on a LocalTensor")
EVK_NOT_THERE(ExpScalar, "scalars have no such function; use Exp on a LocalTensor")
EVK_NOT_THERE(TanhScalar, "scalars have no such function; use Tanh on a LocalTensor")
EVK_NOT_THERE(Rec, "use Reciprocal(dst, src, count), or Div for full precision")
#undef EVK_NOT_THERE

}  // namespace AscendC
