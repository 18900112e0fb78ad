// Kernels that move, choose and order elements, against what their documentation says.
#include <algorithm>
#include <cmath>

#include "twin/program/kernel_bench.h"

namespace evk::twin::testing {
namespace {

using Moves = KernelBench;

// x in tensor `a`; buffers of 8 KiB; what `take` says is copied to y.
const std::string kAround = R"(
#define LOAD(count) TPipe pipe; TBuf<TPosition::VECCALC> ab, bb, cb, ub; pipe.InitBuffer(ab, 8192); pipe.InitBuffer(bb, 8192); \
  pipe.InitBuffer(cb, 8192); pipe.InitBuffer(ub, 8192); \
  LocalTensor<float> a = ab.Get<float>(), b = bb.Get<float>(), c = cb.Get<float>(); LocalTensor<uint32_t> u = ub.Get<uint32_t>(); \
  GlobalTensor<float> gx, gy; gx.SetGlobalBuffer((__gm__ float*)x, data.n); gy.SetGlobalBuffer((__gm__ float*)y); \
  DataCopyPad(a, gx, DataCopyExtParams{1, (uint32_t)(count) * 4, 0, 0, 0}, DataCopyPadExtParams<float>{false, 0, 0, 0}); \
  SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0)
#define TAKE(t, at, count) SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0); \
  DataCopyPad(gy[at], t, DataCopyExtParams{1, (uint32_t)(count) * 4, 0, 0, 0}); \
  SetFlag<HardEvent::MTE3_V>(0); WaitFlag<HardEvent::MTE3_V>(0)
)";

TEST_F(Moves, gather_mask_keeps_what_patterns_and_bits_say) {
  const RunReport report = run_kernel(
      "LOAD(512); uint64_t kept = 0;\n"
      "GatherMask(b, a, 1, false, 0, {1, 2, 8, 0}, kept); c.SetValue(0, (float)kept); TAKE(b, 0, 64);\n"
      "GatherMask(b, a, 5, true, 70, {1, 2, 16, 0}, kept); c.SetValue(1, (float)kept); TAKE(b, 64, 34);\n"
      "Duplicate(u, 0u, 64); u.SetValue(0, 0b1011u); u.SetValue(1, 1u << 31); u.SetValue(8, 1u);\n"
      "GatherMask(b, a, u, false, 0, {1, 2, 8, 1}, kept); c.SetValue(2, (float)kept); TAKE(b, 100, 5);\n"
      "SetFlag<HardEvent::S_MTE3>(1); WaitFlag<HardEvent::S_MTE3>(1); TAKE(c, 105, 3);",
      ramp(512), 108, 1, kAround);
  expect_clean(report);
  const auto y = values_of(report.outputs[0]);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(y[i], 2.0f * static_cast<float>(i));
  for (std::size_t i = 0; i < 34; ++i)  // the third of each four, of 70 elements, twice
    EXPECT_EQ(y[64 + i], static_cast<float>(i < 17 ? 4 * i + 2 : 128 + 4 * (i - 17) + 2)) << i;
  EXPECT_EQ(std::vector<float>(y.begin() + 100, y.begin() + 105), (std::vector<float>{0, 1, 3, 63, 64}));
  EXPECT_EQ(std::vector<float>(y.begin() + 105, y.end()), (std::vector<float>{64, 34, 5}));
}

TEST_F(Moves, gathers_follow_byte_offsets_by_element_and_by_block) {
  const RunReport report = run_kernel(
      "LOAD(512); LocalTensor<int32_t> o = u.ReinterpretCast<int32_t>();\n"
      "CreateVecIndex(o, 0, 128); Muls(o, o, -4, 128); Adds(o, o, 127 * 4, 128); Duplicate(b, 0.0f, 128);\n"
      "Gather(b, a, u, 0, (uint64_t)10, 2, 8); TAKE(b, 0, 128);\n"
      "CreateVecIndex(o, 0, 16); Muls(o, o, 64, 16); Gatherb(b, a, u, 2, {1, 8}); TAKE(b, 128, 128);",
      ramp(512), 256, 1, kAround);
  expect_clean(report);
  const auto y = values_of(report.outputs[0]);
  for (std::size_t i = 0; i < 128; ++i) {
    EXPECT_EQ(y[i], i % 64 < 10 ? 127 - static_cast<float>(i) : 0);
    EXPECT_EQ(y[128 + i], static_cast<float>(i / 8 * 16 + i % 8));
  }
}

TEST_F(Moves, sixteen_rows_become_columns) {
  const RunReport report = run_kernel(
      "LOAD(256); LocalTensor<float> from[16], to[16];\n"
      "for (int i = 0; i < 16; ++i) { from[i] = a[i * 16]; to[i] = b[i * 8]; }\n"
      "TransDataTo5HD(to, from, TransDataTo5HDParams(false, false, 2, 16, 1)); TAKE(b, 0, 256);",
      ramp(256), 256, 1, kAround);
  expect_clean(report);
  const auto y = values_of(report.outputs[0]);
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 16; ++j) EXPECT_EQ(y[i * 16 + j], static_cast<float>(j * 16 + i));
}

TEST_F(Moves, pools_hand_out_memory_and_share_it) {
  const RunReport report = run_kernel(
      "TPipe pipe; TBufPool<TPosition::VECCALC> first, second; TQue<TPosition::VECIN, 1> in; "
      "TQue<TPosition::VECOUT, 1> out;\n"
      "GlobalTensor<float> gx, gy; gx.SetGlobalBuffer((__gm__ float*)x); gy.SetGlobalBuffer((__gm__ "
      "float*)y);\n"
      "pipe.InitBufPool(first, 2048); pipe.InitBufPool(second, 1024, first);\n"
      "first.InitBuffer(in, 1, 256); first.InitBuffer(out, 1, 256);\n"
      "LocalTensor<float> t = in.AllocTensor<float>(); DataCopy(t, gx, 64); in.EnQue(t); t = "
      "in.DeQue<float>();\n"
      "LocalTensor<float> r = out.AllocTensor<float>(); Adds(r, t, 1.0f, 64); out.EnQue(r); r = "
      "out.DeQue<float>();\n"
      "DataCopy(gy, r, 64); out.FreeTensor(r); in.FreeTensor(t); first.Reset();\n"
      "TBuf<TPosition::VECCALC> b; second.InitBuffer(b, 256); LocalTensor<float> q = b.Get<float>(); "
      "Duplicate(q, 7.0f, 64);\n"
      "SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0); DataCopy(gy[64], q, 64); "
      "InitOutput(gy[128], 64, 3.0f);",
      ramp(64), 192);
  expect_clean(report);
  const auto y = values_of(report.outputs[0]);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(y[i], static_cast<float>(i + 1));
    EXPECT_EQ(y[64 + i], 7);
    EXPECT_EQ(y[128 + i], 3);
  }
}

TEST_F(Moves, slices_take_parts_of_a_matrix) {
  const RunReport report = run_kernel(
      "LOAD(8); SliceInfo from[] = {{16, 70, 7, 3, 87}, {0, 2, 1, 1, 3}}, to[] = {{0, 47, 0, 3, 48}, {0, 1, "
      "0, 1, 2}};\n"
      "DataCopy(b, gx, to, from, 2); SetFlag<HardEvent::MTE2_MTE3>(0); WaitFlag<HardEvent::MTE2_MTE3>(0); "
      "TAKE(b, 0, 96);",
      ramp(87 * 3), 96, 1, kAround);
  expect_clean(report);
  const auto y = values_of(report.outputs[0]);
  for (std::size_t i = 0; i < 96; ++i)
    EXPECT_EQ(y[i], static_cast<float>(i / 48 * 174 + 16 + i % 48 / 24 * 31 + i % 24)) << i;
}

TEST_F(Moves, registers_keep_what_a_reduction_gave) {
  const RunReport report = run_kernel(
      "LOAD(64); float most = 0, where = 0; WholeReduceSum(b, a, 64, 1, 1, 1, 8); const float sum = "
      "GetAccVal<float>();\n"
      "ReduceMax(b, a, c, 64, true); GetReduceMaxMinCount<float>(most, where);\n"
      "int32_t at = *reinterpret_cast<int32_t*>(&where); gy.SetValue(0, sum); gy.SetValue(1, most); "
      "gy.SetValue(2, (float)at);",
      ramp(64), 3, 1, kAround);
  expect_clean(report);
  EXPECT_EQ(values_of(report.outputs[0]), (std::vector<float>{2016, 63, 63}));
}

TEST_F(Moves, integers_compare_for_equality_and_scale_to_half) {
  const RunReport report = run_kernel(
      "LOAD(64); LocalTensor<int32_t> i = bb.Get<int32_t>(), j = cb.Get<int32_t>(); LocalTensor<uint8_t> "
      "bits = ub.Get<uint8_t>();\n"
      "Cast(i, a, RoundMode::CAST_RINT, 64); Duplicate(j, 5, 64); Compare(bits, i, j, CMPMODE::EQ, 64);\n"
      "Duplicate(c, 1.0f, 64); Select(c, bits, c, 0.0f + 0, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);",
      ramp(64), 64, 1, kAround);
  EXPECT_TRUE(found(report, "assert_failed"));  // Select in place with a scalar
  const RunReport fine = run_kernel(
      "LOAD(64); LocalTensor<int32_t> i = bb.Get<int32_t>(), j = cb.Get<int32_t>(); LocalTensor<half> h = "
      "ub.Get<half>();\n"
      "Cast(i, a, RoundMode::CAST_RINT, 64); Muls(i, i, 1000, 64); SetDeqScale((half)0.5f); Cast(h, i, "
      "RoundMode::CAST_NONE, 64);\n"
      "Cast(c, h, RoundMode::CAST_NONE, 64); TAKE(c, 0, 64);",
      ramp(64), 64, 1, kAround);
  expect_clean(fine);
  const auto y = values_of(fine.outputs[0]);
  for (std::size_t k = 0; k < 64; ++k) EXPECT_NEAR(y[k], 500 * static_cast<double>(k), 8);
}

TEST_F(Moves, sorting_orders_scores_with_their_indices) {
  std::vector<float> x(160);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 67 % 101);
  const RunReport report = run_kernel(
      "LOAD(160); CreateVecIndex(u.ReinterpretCast<int32_t>(), 0, 160); LocalTensor<float> d = b;\n"
      "Sort<float, true>(b, a, u, c, 5); Extract(a, u, b, 5); Cast(c, u.ReinterpretCast<int32_t>(), "
      "RoundMode::CAST_NONE, 160);\n"
      "TAKE(a, 0, 160); TAKE(c, 160, 160);",
      x, 320, 1, kAround);
  expect_clean(report);
  const auto y = values_of(report.outputs[0]);
  std::vector<float> sorted = x;
  std::stable_sort(sorted.begin(), sorted.end(), [](float p, float q) { return p > q; });
  for (std::size_t i = 0; i < 160; ++i) {
    EXPECT_EQ(y[i], sorted[i]);
    EXPECT_EQ(x[static_cast<std::size_t>(y[160 + i])], sorted[i]);
  }
}

// The operator of these tests registers x and y with float first.
TEST_F(Moves, kernels_know_the_types_that_their_tensors_are_registered_with) {
  const RunReport report = run_kernel(
      "GlobalTensor<DTYPE_X> gx; GlobalTensor<DTYPE_Y> gy; gx.SetGlobalBuffer((__gm__ DTYPE_X*)x, data.n);\n"
      "gy.SetGlobalBuffer((__gm__ DTYPE_Y*)y); gy.SetValue(0, (DTYPE_Y)(gx.GetValue(2) + sizeof(DTYPE_X)));",
      ramp(8), 1);
  expect_clean(report);
  EXPECT_EQ(values_of(report.outputs[0]), (std::vector<float>{6}));
}

TEST_F(Moves, merging_stops_when_a_list_runs_out) {
  const RunReport report = run_kernel(
      "LOAD(64); CreateVecIndex(u.ReinterpretCast<int32_t>(), 0, 64); Sort32(b, a, u, 2); uint16_t "
      "lengths[4] = {32, 32, 0, 0}; uint32_t merged[4];\n"
      "MrgSort<float, true>(c, MrgSortSrcList<float>(b, b[64], b, b), lengths, merged, 3, 1);\n"
      "for (int i = 0; i < 4; ++i) gy.SetValue(i, (float)merged[i]);",
      ramp(64), 4, 1, kAround);
  expect_clean(report);
  EXPECT_EQ(values_of(report.outputs[0]), (std::vector<float>{0, 32, 0, 0}));
}

}  // namespace
}  // namespace evk::twin::testing
