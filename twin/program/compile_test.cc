// Calls that the device does not have do not compile, with a message that says why.
#include <gmock/gmock.h>

#include "twin/program/kernel_bench.h"

namespace evk::twin::testing {
namespace {

using ::testing::HasSubstr;

class Refused : public KernelBench {
 protected:
  std::string message(const std::string& code) {
    const auto so = build_kernel(
        "LocalTensor<float> f; LocalTensor<half> h; LocalTensor<int32_t> i; "
        "LocalTensor<bfloat16_t> b; LocalTensor<uint8_t> u; GlobalTensor<float> g; "
        "LocalTensor<int8_t> c;\n" +
        code);
    return so ? "compiled" : so.error().message;
  }
};

TEST_F(Refused, data_types_that_an_instruction_does_not_have) {
  EXPECT_THAT(message("Exp(i, i, 64);"),
              HasSubstr("Exp: int32_t is not supported on Atlas A2; supported: half, float"));
  EXPECT_THAT(message("Add(b, b, b, 64);"), HasSubstr("Add: bfloat16_t is not supported on Atlas A2"));
  EXPECT_THAT(message("Adds(u, u, (uint8_t)1, 64);"), HasSubstr("Adds: uint8_t is not supported"));
  EXPECT_THAT(message("Not(i, i, 64);"),
              HasSubstr("Not: int32_t is not supported on Atlas A2; supported: int16_t"));
  EXPECT_THAT(message("Duplicate(u, (uint8_t)1, 64);"), HasSubstr("Duplicate: uint8_t is not supported"));
  EXPECT_THAT(message("ReduceSum(i, i, i, 64);"), HasSubstr("Reduce: int32_t is not supported"));
  EXPECT_THAT(message("Compare(u, b, b, CMPMODE::LT, 64);"),
              HasSubstr("Compare: bfloat16_t is not supported"));
}

TEST_F(Refused, scalars_of_another_type_than_the_tensor) {
  EXPECT_THAT(message("Muls(f, f, 2, 64);"), HasSubstr("Muls: the scalar must have the tensor's data type"));
  EXPECT_THAT(message("Adds(h, h, 1.0f, 64);"),
              HasSubstr("Adds: the scalar must have the tensor's data type"));
  EXPECT_EQ(message("Adds(h, h, (half)1.0f, 64); Muls(f, f, 2.0f, 64); Duplicate(i, 3, 64);"), "compiled");
}

TEST_F(Refused, conversions_and_barriers_that_do_not_exist) {
  EXPECT_THAT(message("Cast(b, h, RoundMode::CAST_RINT, 64);"), HasSubstr("Cast: this pair of data types"));
  EXPECT_THAT(message("Cast(f, c, RoundMode::CAST_NONE, 64);"), HasSubstr("go through float or half"));
  EXPECT_THAT(message("PipeBarrier<PIPE_S>();"), HasSubstr("PIPE_S is not a valid argument"));
}

TEST_F(Refused, names_that_do_not_exist) {
  EXPECT_THAT(message("Dup(f, 1.0f, 64);"), HasSubstr("Ascend C has no Dup; use Duplicate"));
  EXPECT_THAT(message("Maximums(f, f, f, 64);"), HasSubstr("Ascend C has no Maximums; use Maxs"));
}

TEST_F(Refused, nothing_that_the_device_has) {
  EXPECT_EQ(message(R"(
    uint64_t mask[2] = {~0ull, 0}; UnaryRepeatParams up; BinaryRepeatParams bp{1, 1, 1, 8, 8, 8};
    Add(f, f, f, 64); Add(f, f, f, 64, 2, bp); Add(f, f, f, mask, 2, bp); Add<float, false>(f, f, f, MASK_PLACEHOLDER, 1, bp);
    Exp(h, h, 128); Exp(f, f, mask, 1, up); Exp<float, false>(f, f, 64, 1, up);
    Adds(f, f, 1.0f, 64, 1, up); Axpy(f, f, 2.0f, 64); LeakyRelu(f, f, 0.1f, 64); ShiftLeft(i, i, 3, 64);
    Duplicate(f, 0.0f, 64, 2, 1, 8); Duplicate(f, 0.0f, mask, 2, 1, 8); CreateVecIndex(i, 0, 64);
    Cast(f, h, RoundMode::CAST_NONE, 64); Cast(h, f, RoundMode::CAST_ODD, 64, 1, {1, 1, 4, 8}); Cast(i, f, RoundMode::CAST_FLOOR, 64);
    Cast(f, b, RoundMode::CAST_NONE, 64); Cast(b, f, RoundMode::CAST_RINT, 64); Cast(h, u, RoundMode::CAST_NONE, 64);
    Compare(u, f, f, CMPMODE::GE, 64); CompareScalar(u, f, 0.0f, CMPMODE::LT, 64); Compares(u, f, 0.0f, CMPMODE::LT, 64);
    Select(f, u, f, f, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64); Select(f, u, f, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);
    ReduceSum(f, f, f, 64); ReduceMax(f, f, f, 64, true); ReduceMin(f, f, f, 64, 4, 8, false); ReduceSum(f, f, f, 64, 4, 8);
    WholeReduceSum(f, f, 64, 1, 1, 1, 8); WholeReduceMax(f, f, 64, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
    BlockReduceSum(f, f, 1, 64, 1, 1, 8); PairReduceSum(f, f, 1, mask, 1, 1, 8); ReduceRepeatMax(f, f, mask, 1, 1, 1, 8);
    Gather(f, f, i.ReinterpretCast<uint32_t>(), 0, 64); Brcb(f, f, 1, {1, 8}); Copy(f, f, 64, 1, {1, 1, 8, 8});
    SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(100); SetMaskNorm(); ResetMask(); SetVectorMask<float>(0, 1);
    f = f + f; f = f * f; f.SetValue(0, 1); f(0) = f(1); float s = f(0) + g(3); g.SetValue(0, s);
    g.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE); DataCopy(f, g, 64); DataCopy(g, f, {1, 8, 0, 0}); DataCopy(f, f, 64);
    DataCopyPad(f, g, DataCopyExtParams{1, 12, 0, 0, 0}, DataCopyPadExtParams<float>{true, 0, 5, 0.0f});
    DataCopyPad(f, g, {1, 12, 0, 0}, {false, 0, 0, 0}); DataCopyPad(g, f, {1, 12, 0, 0, 0});
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0); wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0); pipe_barrier(PIPE_V);
    TEventID e = GetTPipePtr()->FetchEventID(HardEvent::MTE2_V); SetFlag<HardEvent::MTE2_V>(e); WaitFlag<HardEvent::MTE2_V>(e);
    SetAtomicAdd<float>(); SetAtomicNone(); SyncAll(); SyncAll<true>(); PipeBarrier<PIPE_ALL>(); half z = h.GetValue(0) + (half)1;
    DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(g);
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0); if (ASCEND_IS_AIV) { PRINTF("%f %d\n", z, 3); } if (TILING_KEY_IS(1)) {}
    LocalMemAllocator<Hardware::UB> m; LocalTensor<float> q = m.Alloc<TPosition::VECIN, float, 64>(); assert(data.n > 0); ASSERT(data.n > 0);
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> bind; bfloat16_t w = ToBfloat16(1.0f); float back = ToFloat(w); (void)back;
    constexpr half k = 1.5f; (void)k; uint32_t t = 3; half fromint = t; (void)fromint;
  )"),
            "compiled");
}

}  // namespace
}  // namespace evk::twin::testing
