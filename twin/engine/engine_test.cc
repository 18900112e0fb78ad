#include "twin/engine/engine.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "twin/engine/numeric.h"
#include "twin/engine/program_builder.h"

namespace evk::twin {
namespace {

using namespace testing;

LaunchTensor tensor(const char* name, std::int64_t n, const std::vector<float>& values = {}) {
  return values.empty() ? empty(name, n) : filled(name, values);
}
std::vector<float> floats(const std::vector<std::byte>& bytes) { return values_of<float>(bytes); }

constexpr auto kMte2 = abi::Pipe::kMte2, kMte3 = abi::Pipe::kMte3, kV = abi::Pipe::kV;

// x + x through flags. `skip` leaves one flag pair out: 0 none, 1 MTE2->V, 2 V->MTE3.
RunReport doubled(int skip) {
  const auto x = counting(64);
  Program p({"add", {tensor("x", 64, x)}, {tensor("y", 64)}});
  p.block(0);
  p.copy(ub(0), p.input(0), 256);
  if (skip != 1) p.sync(kMte2, kV);
  p.vec(Op::kAdd, 64, {ub(1024), ub(0), ub(0)});
  if (skip != 2) p.sync(kV, kMte3);
  p.copy(p.output(0), ub(1024), 256);
  p.end();
  return p.finish();
}

TEST(Engine, runs_a_copy_compute_copy_program_exactly_and_without_findings) {
  const auto report = doubled(0);
  EXPECT_EQ(report.end, RunEnd::kComplete);
  EXPECT_EQ(codes(report, true), "");
  const auto x = counting(64);
  const auto y = floats(report.outputs.at(0));
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(y[i], 2 * x[i]) << i;
  EXPECT_GT(report.profile.total_cycles, 100u);
}

TEST(Engine, finds_a_missing_synchronisation_and_names_both_lines) {
  EXPECT_EQ(codes(doubled(1)), "race_read_after_write@3/2 ");
  EXPECT_EQ(codes(doubled(2)), "race_read_after_write@6/5 ") << "the copy out reads what V writes";
}

TEST(Engine, orders_scalar_access_by_itself_and_counts_the_syncs) {
  Program p({"s", {tensor("x", 8, counting(8))}, {tensor("y", 8)}});
  p.block(0);
  p.copy(ub(0), p.input(0), 32);
  p.op(Op::kGetValue, {}, {ub(4)});
  p.vec(Op::kAdds, 8, {ub(64), ub(0)}, 1.0f);
  p.end();
  const auto report = p.finish();
  EXPECT_EQ(codes(report), "") << "what the scalar unit waited for is done for all that it issues later";
  EXPECT_EQ(report.profile.inserted_syncs, 1u);
}

TEST(Engine, answers_the_bits_of_an_element_and_zero_when_no_data_moves) {
  for (const bool move : {true, false}) {
    Launch launch{"s", {tensor("x", 8, counting(8))}, {tensor("y", 8)}};
    launch.move_data = move;
    Program p(launch);
    p.block(0);
    abi::Record r;
    r.op = Op::kGetValue;
    r.operands = 1;
    r.operand[0] = p.input(0, 5);
    EXPECT_EQ(p.send(r).value, move ? std::bit_cast<std::uint32_t>(counting(8)[5]) : 0u);
  }
}

TEST(Engine, refuses_accesses_outside_of_tensors_and_memories) {
  Program p({"b", {tensor("x", 40, counting(40))}, {tensor("y", 40)}});
  p.block(0);
  p.copy(ub(0), p.input(0, 16), 128);       // 2: beyond x
  p.copy(p.input(0), ub(0), 32);            // 3: writes an input
  p.copy(ub(196608 - 32), p.input(0), 64);  // 4: beyond UB
  p.copy(ub(16), p.input(0), 32);           // 5: misaligned
  p.op(Op::kBufInit, {0, 0, 0, 0, 0, 0}, {{0, 64, 1, Space::kUb, DType::kNone}});
  p.copy(ub(32, DType::kF32, 1), p.input(0), 64);                                      // 7: beyond its buffer
  p.op(Op::kBufInit, {0, 0, 0, 0, 0, 0}, {{0, 200000, 2, Space::kUb, DType::kNone}});  // 8
  p.copy(ub(64), p.output(0, 1 << 28), 32);                                            // 9: far away
  p.end();
  EXPECT_EQ(codes(p.finish()),
            "gm_read_out_of_bounds@2 gm_write_input@3 chip_out_of_bounds@4 misaligned@5 buffer_overrun@7 "
            "ub_overflow@8 gm_read_out_of_bounds@9 ");
}

TEST(Engine, rounds_a_copy_by_count_down_to_32_bytes_and_says_so) {
  Program p({"b", {tensor("x", 10, counting(10))}, {tensor("y", 10)}});
  p.block(0);
  p.copy(ub(0), p.input(0), 40);
  p.end();
  const auto report = p.finish();
  EXPECT_EQ(codes(report), "");
  EXPECT_EQ(report.findings.front().code, "datacopy_count_rounded");
}

TEST(Engine, copies_tails_by_pad_exactly) {
  Program p({"b", {tensor("x", 10, counting(10))}, {tensor("y", 10)}});
  p.block(0);
  p.copy_pad(ub(0), p.input(0), 40);
  p.sync(kMte2, kMte3);
  p.copy_pad(p.output(0), ub(0), 40);
  p.end();
  const auto report = p.finish();
  EXPECT_EQ(codes(report), "");
  EXPECT_EQ(floats(report.outputs.at(0)), counting(10));
}

struct QueueStory {
  std::vector<Op> ops;
  const char* expected;
};

TEST(Engine, watches_the_states_of_a_queue) {
  const QueueStory stories[] = {
      {{Op::kQueAlloc, Op::kQueEnque, Op::kQueDeque, Op::kQueFree}, ""},
      {{Op::kQueAlloc, Op::kQueDeque, Op::kQueFree}, "queue_wrong_state"},
      {{Op::kQueAlloc, Op::kQueEnque, Op::kQueFree}, "queue_wrong_state"},
      {{Op::kQueAlloc, Op::kQueAlloc}, "queue_wrong_state"},
      {{Op::kQueAlloc, Op::kQueFree, Op::kQueFree}, "queue_wrong_state"},
      {{Op::kQueStall}, "queue_stalled"},
  };
  for (const auto& story : stories) {
    Program p({"q", {tensor("x", 8, counting(8))}, {tensor("y", 8)}});
    p.block(0);
    p.op(Op::kBufInit, {1, 4, 1, 1, 0, 0}, {{0, 64, 1, Space::kUb, DType::kNone}});
    for (const Op o : story.ops) p.op(o, {1}, {{0, 0, 1, Space::kUb, DType::kNone}});
    p.end();
    const auto found = codes(p.finish());
    EXPECT_EQ(found.substr(0, found.find('@')), story.expected);
  }
}

TEST(Engine, counts_what_is_left_unwritten_also_without_data) {
  for (const bool move : {false, true}) {
    Launch launch{"b", {tensor("x", 64, counting(64))}, {tensor("y", 64)}};
    launch.move_data = move;
    Program p(launch);
    p.block(0);
    p.copy_pad(ub(0), p.input(0), 128);
    p.sync(kMte2, kMte3);
    p.copy_pad(p.output(0, 8), ub(0), 128);
    p.copy_pad(p.output(0, 20), ub(0), 40);
    p.end();
    EXPECT_EQ(p.finish().unwritten_bytes, std::vector<std::uint64_t>{256 - 128}) << move;
  }
}

TEST(Engine, finds_blocks_that_write_the_same_bytes) {
  for (const bool apart : {false, true}) {
    Program p({"b", {tensor("x", 64, counting(64))}, {tensor("y", 64)}}, 2);
    for (std::uint32_t block = 0; block < 2; ++block) {
      p.block(block);
      p.copy_pad(ub(0), p.input(0), 128);
      p.sync(kMte2, kMte3);
      p.copy_pad(p.output(0, apart ? 32 * block : 16 * block), ub(0), 128);
      p.end();
    }
    EXPECT_EQ(codes(p.finish()).substr(0, 14), apart ? "" : "block_conflict");
  }
}

TEST(Engine, reduces_by_tree_and_finds_the_first_extreme) {
  for (const std::size_t n : {1u, 7u, 64u, 65u, 500u, 4096u}) {
    const auto x = counting(n);
    Program p({"r", {tensor("x", static_cast<std::int64_t>(n), x)}, {tensor("y", 16)}});
    p.block(0);
    p.copy_pad(ub(0), p.input(0), 4 * n);
    p.sync(kMte2, kV);
    p.vec(Op::kReduceSum, n, {ub(32768), ub(0), ub(65536)});
    p.vec(Op::kReduceMax, n, {ub(32800), ub(0), ub(65536)});
    p.vec(Op::kReduceMin, n, {ub(32832), ub(0), ub(65536)});
    p.sync(kV, kMte3);
    for (int i = 0; i < 3; ++i)
      p.copy_pad(p.output(0, static_cast<std::uint64_t>(i)), ub(32768 + 32 * static_cast<std::uint64_t>(i)),
                 4);
    p.end();
    const auto report = p.finish();
    EXPECT_EQ(codes(report), "") << n;
    double sum = 0;
    for (const float v : x) sum += static_cast<double>(v);
    const auto y = floats(report.outputs.at(0));
    EXPECT_NEAR(y[0], sum, 1e-3) << n;
    EXPECT_EQ(y[1], *std::max_element(x.begin(), x.end())) << n;
    EXPECT_EQ(y[2], *std::min_element(x.begin(), x.end())) << n;
  }
}

// One pipeline of 32 tiles with one and with two buffers a queue: the second overlaps copies with computing.
double pipeline_ns(std::uint64_t buffers) {
  const auto x = counting(32 * 2048);
  Program p({"t", {tensor("x", 32 * 2048, x)}, {tensor("y", 32 * 2048)}});
  p.block(0);
  for (std::uint16_t q = 1; q <= 2; ++q)
    for (std::uint64_t i = 0; i < buffers; ++i)
      p.op(Op::kBufInit, {q, q == 1 ? 4u : 1u, q == 1 ? 1u : 5u, buffers, 0, i},
           {{(q * 2 + i) * 8192, 8192, static_cast<std::uint16_t>(q * 10 + i), Space::kUb, DType::kNone}});
  for (std::uint64_t tile = 0; tile < 32; ++tile) {
    const auto slot = tile % buffers;
    const auto in = ub((2 + slot) * 8192, DType::kF32, static_cast<std::uint16_t>(10 + slot)),
               out = ub((4 + slot) * 8192, DType::kF32, static_cast<std::uint16_t>(20 + slot));
    p.op(Op::kQueAlloc, {1}, {in});
    p.copy(in, p.input(0, tile * 2048), 8192);
    p.op(Op::kQueEnque, {1}, {in});
    p.op(Op::kQueDeque, {1}, {in});
    p.op(Op::kQueAlloc, {2}, {out});
    for (int i = 0; i < 5; ++i) p.vec(Op::kExp, 2048, {out, i ? out : in});
    p.op(Op::kQueEnque, {2}, {out});
    p.op(Op::kQueFree, {1}, {in});
    p.op(Op::kQueDeque, {2}, {out});
    p.copy(p.output(0, tile * 2048), out, 8192);
    p.op(Op::kQueFree, {2}, {out});
  }
  p.end();
  const auto report = p.finish();
  EXPECT_EQ(codes(report, true), "");
  return report.profile.total_ns;
}

TEST(Engine, shows_what_double_buffering_gains) {
  const double gain = pipeline_ns(1) / pipeline_ns(2);
  EXPECT_GT(gain, 1.5);
  EXPECT_LT(gain, 3.0);
}

TEST(Engine, gives_equal_cycles_and_traces_with_and_without_data) {
  std::string hashes[2];
  std::uint64_t cycles[2];
  for (const bool move : {false, true}) {
    Launch launch{"s", {tensor("x", 64, counting(64))}, {tensor("y", 64)}};
    launch.move_data = move;
    Program p(launch);
    p.block(0);
    p.copy(ub(0), p.input(0), 256);
    p.sync(kMte2, kV);
    p.vec(Op::kExp, 64, {ub(1024), ub(0)});
    p.end();
    const auto report = p.finish();
    hashes[move] = report.trace_hash;
    cycles[move] = report.profile.total_cycles;
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(cycles[0], cycles[1]);
}

TEST(Numeric, exp_and_ln_are_within_one_unit_in_the_last_place) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> uniform(-90, 88);
  for (int i = 0; i < 200000; ++i) {
    const float x = uniform(engine), exact = static_cast<float>(std::exp(static_cast<double>(x)));
    EXPECT_LE(std::fabs(exp_of(x) - exact), std::fabs(exact) * 1.2e-7f + 1e-45f) << x;
    const float y = std::fabs(x) + 1e-6f, ln = static_cast<float>(std::log(static_cast<double>(y)));
    EXPECT_LE(std::fabs(ln_of(y) - ln), std::fabs(ln) * 1.2e-7f + 1e-9f) << y;
  }
  EXPECT_TRUE(std::isinf(exp_of(100)));
  EXPECT_EQ(exp_of(-200), 0.0f);
  EXPECT_TRUE(std::isnan(ln_of(-1)));
}

}  // namespace
}  // namespace evk::twin
