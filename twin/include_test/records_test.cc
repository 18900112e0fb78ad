// Kernel source calls the headers as it would on the device; the records say what reaches the engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twin/include_test/recorder.h"

namespace evk::twin::testing {

std::vector<abi::Record> Recorder::of(abi::Op op) const {
  std::vector<abi::Record> result;
  for (const auto& record : records)
    if (record.op == op) result.push_back(record);
  return result;
}
std::vector<abi::Op> Recorder::ops() const {
  std::vector<abi::Op> result;
  for (const auto& record : records)
    if (record.op != abi::Op::kBufInit) result.push_back(record.op);
  return result;
}
Recorder& recorder() {
  static Recorder instance;
  return instance;
}
Recorder& fresh_recorder() { return recorder() = Recorder{}; }

}  // namespace evk::twin::testing

using evk::twin::testing::recorder;
void evk_twin_emit(const evk::twin::abi::Record* record, const void*, std::uint32_t) {
  recorder().records.push_back(*record);
}
std::uint64_t evk_twin_ask(const evk::twin::abi::Record* record, const void*, std::uint32_t, void*,
                           std::uint32_t) {
  recorder().records.push_back(*record);
  return recorder().answer;
}
std::uint32_t evk_twin_location(const char*, std::uint32_t line) { return line; }
EvkTwinBlock* evk_twin_block() { return &recorder().block; }
void evk_twin_end_program() { throw evk::twin::testing::Ended{}; }
std::uint16_t evk_twin_new_buffer() { return ++recorder().buffers; }
std::uint16_t evk_twin_new_queue() { return ++recorder().queues; }
void evk_twin_sync_all(std::uint32_t, bool) {}
void evk_twin_cross_set(std::uint64_t, int, std::uint64_t, std::uint32_t) {}
void evk_twin_cross_wait(std::uint64_t, std::uint64_t, std::uint32_t) {}
std::uint64_t evk_twin_system_workspace() { return 0; }
std::uint64_t evk_twin_system_workspace_bytes() { return 0; }
bool evk_twin_kernel_kind(int, bool) { return true; }
bool evk_twin_kernel_kind_of_key(std::uint64_t, int) { return true; }
std::uint64_t evk_twin_tiling_key() { return recorder().tiling_key; }
void evk_twin_say(const char* format, ...) { recorder().said += format; }
void evk_twin_assert_failed(const char* what, std::uint32_t) {
  recorder().failed = what;
  throw evk::twin::testing::Ended{};
}

namespace evk::twin::testing {
namespace {

using abi::DType;
using abi::Form;
using abi::Op;
using abi::Pipe;
using abi::Space;
using ::testing::ElementsAre;
using namespace AscendC;

// An address of the device: never dereferenced here.
template <typename T>
T* gm(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}
std::uint64_t number(Pipe pipe) { return static_cast<std::uint64_t>(pipe); }

class Records : public ::testing::Test {
 protected:
  Recorder& seen = fresh_recorder();
  GlobalTensor<float> global(std::uint64_t address) {
    GlobalTensor<float> tensor;
    tensor.SetGlobalBuffer(gm<float>(address));
    return tensor;
  }
};

// z = x + y, tile by tile, as the documentation's first example does it.
class AddKernel {
 public:
  AddKernel(TPipe& pipe, std::uint32_t tile) : tile_(tile) {
    x_.SetGlobalBuffer(gm<float>(0x1000));
    y_.SetGlobalBuffer(gm<float>(0x2000));
    z_.SetGlobalBuffer(gm<float>(0x3000));
    pipe.InitBuffer(in_x_, 2, tile * sizeof(float));
    pipe.InitBuffer(in_y_, 2, tile * sizeof(float));
    pipe.InitBuffer(out_, 2, tile * sizeof(float));
  }
  void process(int tiles) {
    for (int i = 0; i < tiles; ++i) {
      copy_in(i);
      compute();
      copy_out(i);
    }
  }

 private:
  void copy_in(int i) {
    LocalTensor<float> x = in_x_.AllocTensor<float>(), y = in_y_.AllocTensor<float>();
    DataCopy(x, x_[i * tile_], tile_);
    DataCopy(y, y_[i * tile_], tile_);
    in_x_.EnQue(x);
    in_y_.EnQue(y);
  }
  void compute() {
    LocalTensor<float> x = in_x_.DeQue<float>(), y = in_y_.DeQue<float>(), z = out_.AllocTensor<float>();
    Add(z, x, y, tile_);
    out_.EnQue(z);
    in_x_.FreeTensor(x);
    in_y_.FreeTensor(y);
  }
  void copy_out(int i) {
    LocalTensor<float> z = out_.DeQue<float>();
    DataCopy(z_[i * tile_], z, tile_);
    out_.FreeTensor(z);
  }
  std::uint32_t tile_;
  GlobalTensor<float> x_, y_, z_;
  TQue<QuePosition::VECIN, 2> in_x_, in_y_;
  TQue<QuePosition::VECOUT, 2> out_;
};

TEST_F(Records, buffers_of_double_buffered_queues_lie_side_by_side) {
  TPipe pipe;
  AddKernel kernel(pipe, 100);  // 400 bytes: 416 after rounding to 32
  const auto buffers = seen.of(Op::kBufInit);
  ASSERT_EQ(buffers.size(), 6u);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(buffers[i].operand[0].addr, 416 * i);
    EXPECT_EQ(buffers[i].operand[0].bytes, 416u);
    EXPECT_EQ(buffers[i].operand[0].buf, i + 1);
    EXPECT_EQ(buffers[i].operand[0].space, Space::kUb);
    EXPECT_EQ(buffers[i].a[0], i / 2 + 1);  // queue
    EXPECT_EQ(buffers[i].a[1], number(i < 4 ? Pipe::kMte2 : Pipe::kV));
    EXPECT_EQ(buffers[i].a[2], number(i < 4 ? Pipe::kV : Pipe::kMte3));
    EXPECT_EQ(buffers[i].a[3], 2u);
    EXPECT_EQ(buffers[i].a[5], i % 2);
  }
}

TEST_F(Records, an_add_kernel_emits_its_calls_in_order) {
  TPipe pipe;
  AddKernel kernel(pipe, 64);
  kernel.process(1);
  EXPECT_THAT(seen.ops(), ElementsAre(Op::kPipeInit, Op::kQueAlloc, Op::kQueAlloc, Op::kDataCopy,
                                      Op::kDataCopy, Op::kQueEnque, Op::kQueEnque, Op::kQueDeque,
                                      Op::kQueDeque, Op::kQueAlloc, Op::kAdd, Op::kQueEnque, Op::kQueFree,
                                      Op::kQueFree, Op::kQueDeque, Op::kDataCopy, Op::kQueFree));
}

TEST_F(Records, tiles_alternate_between_two_buffers_and_walk_through_gm) {
  TPipe pipe;
  AddKernel kernel(pipe, 64);
  kernel.process(3);
  const auto adds = seen.of(Op::kAdd);
  ASSERT_EQ(adds.size(), 3u);
  EXPECT_EQ(adds[0].form, Form::kCount);
  EXPECT_EQ(adds[0].a[0], 64u);
  EXPECT_EQ(adds[0].operands, 3);
  EXPECT_THAT((std::vector<int>{adds[0].operand[1].buf, adds[1].operand[1].buf, adds[2].operand[1].buf}),
              ElementsAre(1, 2, 1));
  const auto copies = seen.of(Op::kDataCopy);
  ASSERT_EQ(copies.size(), 9u);
  EXPECT_EQ(copies[3].operand[1].addr, 0x1000u + 256);  // x, second tile
  EXPECT_EQ(copies[3].operand[1].space, Space::kGm);
  EXPECT_EQ(copies[3].a[0], 1 | std::uint64_t{256} << 32);  // 256 bytes
  EXPECT_EQ(copies[3].mode, 1);
  EXPECT_EQ(copies[8].operand[0].addr, 0x3000u + 512);  // z, third tile
}

TEST_F(Records, each_record_names_its_line) {
  LocalTensor<float> t(TPosition::VECCALC, 0, 64);
  const int line = __LINE__ + 1;
  Exp(t, t, 64);
  t(0) = 1.0f;
  EXPECT_EQ(seen.records[0].loc, static_cast<std::uint32_t>(line));
  EXPECT_EQ(seen.records[1].loc, static_cast<std::uint32_t>(line + 1));
}

TEST_F(Records, alloc_without_a_free_buffer_stalls) {
  TPipe pipe;
  TQue<QuePosition::VECIN, 1> queue;
  pipe.InitBuffer(queue, 1, 32);
  queue.AllocTensor<float>();
  EXPECT_FALSE(queue.HasIdleBuffer());
  EXPECT_THROW(queue.AllocTensor<float>(), Ended);
  EXPECT_EQ(seen.records.back().op, Op::kQueStall);
  EXPECT_EQ(seen.records.back().a[1], 0u);
}

TEST_F(Records, deque_of_an_empty_queue_stalls) {
  TPipe pipe;
  TQue<QuePosition::VECIN, 1> queue;
  pipe.InitBuffer(queue, 1, 32);
  EXPECT_THROW(queue.DeQue<float>(), Ended);
  EXPECT_EQ(seen.records.back().op, Op::kQueStall);
  EXPECT_EQ(seen.records.back().a[1], 1u);
}

TEST_F(Records, a_full_queue_refuses_the_next_tensor) {
  TPipe pipe;
  TQue<QuePosition::VECIN, 1> queue;
  pipe.InitBuffer(queue, 2, 32);
  const auto first = queue.AllocTensor<float>(), second = queue.AllocTensor<float>();
  EXPECT_TRUE(queue.VacantInQue());
  EXPECT_TRUE(queue.EnQue(first));
  EXPECT_FALSE(queue.VacantInQue());
  EXPECT_FALSE(queue.EnQue(second));
  EXPECT_EQ(seen.of(Op::kQueEnque).size(), 1u);
  EXPECT_EQ(queue.GetTensorCountInQue(), 1);
}

TEST_F(Records, tensors_leave_a_queue_in_the_order_they_came) {
  TPipe pipe;
  TQue<QuePosition::VECIN, 2> queue;
  pipe.InitBuffer(queue, 2, 32);
  const auto first = queue.AllocTensor<float>(), second = queue.AllocTensor<float>();
  queue.EnQue(second);
  queue.EnQue(first);
  EXPECT_EQ(queue.DeQue<float>().buffer(), second.buffer());
  EXPECT_EQ(queue.DeQue<float>().buffer(), first.buffer());
}

TEST_F(Records, a_bound_queue_goes_from_mte2_to_mte3) {
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 1, 32);
  const auto buffer = seen.of(Op::kBufInit).at(0);
  EXPECT_EQ(buffer.a[1], number(Pipe::kMte2));
  EXPECT_EQ(buffer.a[2], number(Pipe::kMte3));
}

TEST_F(Records, a_tail_is_padded_on_the_way_in_and_exact_on_the_way_out) {
  LocalTensor<float> t(TPosition::VECIN, 64, 64);
  DataCopyPad(t, global(0x1000), DataCopyExtParams{2, 12, 4, 1, 0},
              DataCopyPadExtParams<float>{true, 1, 5, -1.0f});
  DataCopyPad(global(0x2000), t, {2, 12, 1, 4, 0});
  const auto copies = seen.of(Op::kDataCopyPad);
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].a[0], 2 | std::uint64_t{12} << 32);
  EXPECT_EQ(copies[0].a[1], 4 | std::uint64_t{1} << 32);
  EXPECT_EQ(copies[0].a[2], 1 | std::uint64_t{5} << 16 | std::uint64_t{1} << 32);
  EXPECT_EQ(copies[0].a[3], 0xbf800000u);
  EXPECT_EQ(copies[0].operand[0].addr, 64u);
  EXPECT_EQ(copies[1].a[2], 0u);
  EXPECT_EQ(copies[1].operand[0].space, Space::kGm);
}

TEST_F(Records, pad_parameters_may_be_written_as_braces) {
  LocalTensor<half> t(TPosition::VECIN, 0, 64);
  GlobalTensor<half> g;
  g.SetGlobalBuffer(gm<half>(0x1000));
  DataCopyPad(t, g, {1, 20, 0, 0, 0}, {true, 0, 6, 0});
  EXPECT_EQ(seen.records.at(0).a[2], std::uint64_t{6} << 16 | std::uint64_t{1} << 32);
}

TEST_F(Records, a_reduction_names_its_count_and_work_tensor) {
  LocalTensor<float> dst(TPosition::VECCALC, 0, 8), src(TPosition::VECCALC, 32, 128),
      work(TPosition::VECCALC, 544, 64);
  ReduceSum(dst, src, work, 101);
  ReduceMax(dst, src, work, 101, true);
  const abi::Record& sum = seen.records.at(0);
  EXPECT_EQ(sum.op, Op::kReduceSum);
  EXPECT_EQ(sum.form, Form::kCount);
  EXPECT_EQ(sum.a[0], 101u);
  EXPECT_EQ(sum.operands, 3);
  EXPECT_EQ(sum.operand[2].addr, 544u);
  EXPECT_EQ(sum.a[5], 0u);
  EXPECT_EQ(seen.records.at(1).a[5], 1u);
}

TEST_F(Records, repeats_carry_mask_and_strides) {
  LocalTensor<half> t(TPosition::VECCALC, 0, 512);
  Mul(t, t, t, 100, 3, {1, 2, 1, 8, 16, 0});
  const abi::Record& record = seen.records.at(0);
  EXPECT_EQ(record.form, Form::kRepeat);
  EXPECT_EQ(record.a[0], ~std::uint64_t{0});
  EXPECT_EQ(record.a[1], (std::uint64_t{1} << 36) - 1);
  const abi::Strides s = abi::unpack_strides(record.a[3], record.a[4]);
  EXPECT_EQ(s.repeat, 3);
  EXPECT_EQ(s.src0_block, 2);
  EXPECT_EQ(s.src0_repeat, 16);
  EXPECT_EQ(s.src1_repeat, 0);
}

TEST_F(Records, counter_mode_counts_elements_over_all_repeats) {
  LocalTensor<float> t(TPosition::VECCALC, 0, 512);
  SetMaskCount();
  Exp(t, t, 300, 1, {1, 1, 8, 8});
  SetMaskNorm();
  Exp(t, t, 3, 1, {1, 1, 8, 8});
  const auto calls = seen.of(Op::kExp);
  EXPECT_EQ(calls.at(0).form, Form::kCounter);
  EXPECT_EQ(calls.at(0).a[0], 300u);
  EXPECT_EQ(calls.at(1).form, Form::kRepeat);
  EXPECT_EQ(calls.at(1).a[0], 7u);
}

TEST_F(Records, a_comparison_with_a_scalar_has_repeats_too) {
  LocalTensor<float> t(TPosition::VECCALC, 0, 128);
  LocalTensor<std::uint8_t> bits(TPosition::VECCALC, 512, 32);
  CompareScalar(bits, t, 2.0f, CMPMODE::GE, 64, 2, {1, 1, 8, 8});
  const abi::Record& record = seen.records.at(0);
  EXPECT_EQ(record.form, Form::kRepeat);
  EXPECT_EQ(record.mode, static_cast<std::uint16_t>(abi::CmpMode::kGe));
  EXPECT_EQ(record.a[2], 0x40000000u);
  EXPECT_EQ(abi::unpack_strides(record.a[3], record.a[4]).repeat, 2);
}

TEST_F(Records, scalars_are_bits_of_the_element_type) {
  LocalTensor<half> h(TPosition::VECCALC, 0, 64);
  LocalTensor<float> f(TPosition::VECCALC, 128, 64);
  Adds(h, h, half(1.0f), 64);
  Adds<float>(f, f, 1, 64);  // a named element type converts
  EXPECT_EQ(seen.records.at(0).a[2], 0x3c00u);
  EXPECT_EQ(seen.records.at(1).a[2], 0x3f800000u);
}

TEST_F(Records, an_arithmetic_progression_is_an_index_scaled_and_shifted) {
  LocalTensor<float> t(TPosition::VECCALC, 0, 64);
  ArithProgression(t, 5.0f, 2.0f, 64);
  EXPECT_THAT(seen.ops(), ElementsAre(Op::kCreateVecIndex, Op::kMuls, Op::kAdds));
  EXPECT_EQ(seen.records[1].a[2], 0x40000000u);
  EXPECT_EQ(seen.records[2].a[2], 0x40a00000u);
}

TEST_F(Records, elements_are_read_by_a_question) {
  LocalTensor<float> t(TPosition::VECCALC, 32, 64);
  seen.answer = 0x40400000;
  EXPECT_EQ(t.GetValue(5), 3.0f);
  EXPECT_EQ(global(0x1000).GetValue(2), 3.0f);
  EXPECT_EQ(seen.records.at(0).op, Op::kGetValue);
  EXPECT_EQ(seen.records.at(0).operand[0].addr, 32u + 20);
  EXPECT_EQ(seen.records.at(1).operand[0].addr, 0x1000u + 8);
}

TEST_F(Records, elements_are_assigned_and_updated_in_place) {
  LocalTensor<float> t(TPosition::VECCALC, 0, 64);
  seen.answer = 0x40400000;
  t(1) += 1.0f;
  EXPECT_THAT(seen.ops(), ElementsAre(Op::kGetValue, Op::kSetValue));
  EXPECT_EQ(seen.records[1].operand[0].addr, 4u);
  EXPECT_EQ(seen.records[1].a[2], 0x40800000u);
}

TEST_F(Records, flags_name_both_pipes) {
  SetFlag<HardEvent::MTE2_V>(EVENT_ID3);
  wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
  EXPECT_EQ(seen.records.at(0).a[0], number(Pipe::kMte2));
  EXPECT_EQ(seen.records.at(0).a[1], number(Pipe::kV));
  EXPECT_EQ(seen.records.at(0).a[2], 3u);
  EXPECT_EQ(seen.records.at(1).op, Op::kWaitFlag);
  EXPECT_EQ(seen.records.at(1).a[1], number(Pipe::kMte3));
}

TEST_F(Records, allocated_event_ids_differ_until_released) {
  TPipe pipe;
  const auto first = pipe.AllocEventID<HardEvent::V_S>(), second = pipe.AllocEventID<HardEvent::V_S>();
  EXPECT_NE(first, second);
  pipe.ReleaseEventID<HardEvent::V_S>(first);
  EXPECT_EQ(pipe.AllocEventID<HardEvent::V_S>(), first);
}

TEST_F(Records, a_failed_assertion_ends_the_program) {
  const int n = 0;
  EXPECT_THROW(ASSERT(n > 0), Ended);
  EXPECT_EQ(seen.failed, "n > 0");
}

TEST_F(Records, printing_and_core_types_answer_with_and_without_their_namespace) {
  AscendC::PRINTF("a%d", 1);
  PRINTF("b");
  AscendC::printf("c");
  EXPECT_EQ(seen.said, "a%dbc");
  EXPECT_TRUE(AscendC::g_coreType == AscendC::AIV);
  seen.block.core_type = 1;
  EXPECT_TRUE(g_coreType == AIC);
  EXPECT_EQ(GetBlockIdx(), 2);
}

TEST(Positions, names_of_one_place_are_equal) {
  EXPECT_EQ(TPosition::LCM, TPosition::VECCALC);
  EXPECT_EQ(TPosition::SHM, TPosition::SPM);
}

TEST_F(Records, cube_instructions_carry_their_parameters) {
  const LocalTensor<half> a1(TPosition::A1, 64, 4096), a2(TPosition::A2, 512, 4096),
      b2(TPosition::B2, 1024, 4096);
  const LocalTensor<float> c(TPosition::CO1, 2048, 4096), bias(TPosition::C2, 64, 64);
  GlobalTensor<half> x;
  GlobalTensor<half> y;
  DataCopy(a1, x, Nd2NzParams(2, 3, 4, 5, 6, 7, 8, 9));
  LoadData(a2, a1, LoadData2DParams(1, 2, 3, 0, 4, true, 0));
  LoadDataWithTranspose(b2, a1, LoadData2dTransposeParams(1, 2, 3, 4, 5));
  Mmad(c, a2, b2, MmadParams(10, 20, 30, 1, false, false));
  Mmad(c, a2, b2, bias, MmadParams(10, 20, 30));
  Fixpipe(y, c, FixpipeParamsV220(16, 32, 48, 64, true, F322F16, 7, 2, 3, 4, 1));
  const auto& r = recorder().records;
  ASSERT_EQ(recorder().ops(),
            (std::vector<abi::Op>{abi::Op::kNd2Nz, abi::Op::kLoadData2D, abi::Op::kLoadDataTranspose,
                                  abi::Op::kMmad, abi::Op::kMmad, abi::Op::kFixpipe}));
  EXPECT_EQ(r[0].operand[0].space, abi::Space::kL1);
  EXPECT_EQ(r[0].operand[0].addr, 64u);
  const std::uint64_t rows[] = {2, 3, 4, 5, 6, 7 | 8 << 16 | 9ull << 32};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(r[0].a[i], rows[i]);
  EXPECT_EQ(r[1].a[0], 1 | 2 << 16 | 3ull << 32);
  EXPECT_EQ(r[1].a[1], 4u);
  EXPECT_EQ(r[1].flags, 1);
  EXPECT_EQ(r[2].a[1], 4u | 5u << 16);
  EXPECT_EQ(r[3].a[0], 10 | 20 << 16 | 30ull << 32);
  EXPECT_EQ(r[3].mode, static_cast<int>(abi::MmadStart::kAccumulate));
  EXPECT_EQ(r[3].flags, 1);
  EXPECT_EQ(r[4].mode, static_cast<int>(abi::MmadStart::kBias));
  EXPECT_EQ(r[4].operand[3].space, abi::Space::kBt);
  EXPECT_EQ(r[5].mode, static_cast<int>(abi::Quant::kF32ToF16));
  EXPECT_EQ(r[5].flags, 1 | 2 | 4);
  EXPECT_EQ(r[5].a[0], 16u | 32u << 16);
  EXPECT_EQ(r[5].a[1], 48 | 64ull << 32);
  EXPECT_EQ(r[5].a[3], 2u | 3u << 16);
  EXPECT_EQ(r[5].a[4], 4u);
}

}  // namespace
}  // namespace evk::twin::testing
