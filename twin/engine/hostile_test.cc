// Records that no compiler made: the engine neither crashes nor hangs nor grows without bound.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <random>

#include "twin/engine/program_builder.h"

namespace evk::twin {
namespace {

using namespace testing;
using u64 = std::uint64_t;

long peak_rss_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

Launch small() { return {"h", {filled("x", counting(64))}, {empty("y", 64)}}; }

Program in_block(std::uint64_t blocks = 2) {
  Program p(small(), blocks);
  p.block(0);
  return p;
}

// Bytes at random, then with known operations, then with operands that nearly make sense.
abi::Record draw(std::mt19937_64& random, const Program& p) {
  abi::Record r;
  std::uint64_t words[sizeof r / 8];
  for (auto& w : words) w = random() & (random() % 3 ? 0x0000'00ff'0000'00ffull : ~0ull);
  std::memcpy(&r, words, sizeof r);
  if (random() % 8 == 0) return r;
  static constexpr std::uint16_t kOps[] = {32,  34,  35,  36,  37,  38,  39,  64,  65,  66,  67,  70,
                                           96,  97,  98,  99,  128, 129, 130, 131, 132, 133, 256, 259,
                                           266, 269, 270, 271, 272, 320, 328, 329, 330, 331, 384, 389,
                                           390, 392, 393, 448, 449, 451, 452, 454, 457, 512, 576, 640};
  r.op = static_cast<Op>(kOps[random() % std::size(kOps)]);
  r.operands = static_cast<std::uint8_t>(random() % 5);
  r.form = static_cast<abi::Form>(random() % 4);
  for (auto& o : r.operand) {
    o = random() % 4 ? ub(random() % 200000 / 32 * 32) : p.input(0, random() % 100);
    o.dtype = static_cast<DType>(random() % 15);
    o.space = random() % 8 ? o.space : static_cast<Space>(random() % 10);
    o.bytes = static_cast<std::uint32_t>(random() % 300000);
    o.buf = static_cast<std::uint16_t>(random() % 8);
  }
  if (random() % 2) r.a[0] = random() % 5000;
  if (random() % 2) r.mode = static_cast<std::uint16_t>(random() % 8);
  return r;
}

TEST(Hostile, a_million_records_at_random_leave_the_engine_whole) {
  std::mt19937_64 random(7);
  const long before = peak_rss_kib();
  int sent = 0;
  while (sent < 1'000'000) {
    Program p = in_block();
    for (int i = 0; i < 5000; ++i, ++sent) {
      abi::Record r = draw(random, p);
      if (r.op == Op::kExit || r.op == Op::kBlockEnd || r.op == Op::kBlockSwitch) r.op = Op::kAdd;
      (void)p.send_plain(r);  // a program that goes on after it was told to stop
    }
    const RunReport report = p.finish();
    EXPECT_NE(report.end, RunEnd::kComplete);
    EXPECT_LE(report.findings.size(), 400u);
  }
  EXPECT_LT(peak_rss_kib() - before, 512 * 1024);
}

TEST(Hostile, cube_cores_and_flags_between_cores_at_random_leave_the_engine_whole) {
  std::mt19937_64 random(11);
  const long before = peak_rss_kib();
  for (int round = 0; round < 30; ++round) {
    Program p(small(), 65535, a2(), abi::KernelKind::kMix12);
    for (u64 block = 0; block < 64; ++block) {
      p.cube_core(block);
      p.vector_core(block, 0);
      p.vector_core(block, 1);
    }
    for (int i = 0; i < 5000; ++i) {
      abi::Record r = draw(random, p);
      static constexpr Op kOps[] = {Op::kNd2Nz,   Op::kLoadData2D, Op::kLoadDataTranspose, Op::kMmad,
                                    Op::kFixpipe, Op::kDataCopy,   Op::kCrossSet,          Op::kCrossWait,
                                    Op::kSyncAll, Op::kCrossSet};
      r.op = kOps[random() % std::size(kOps)];
      r.form = abi::Form::kNone;
      for (auto& o : r.operand) {
        o.space = static_cast<Space>(1 + random() % 8);
        o.dtype = static_cast<DType>(random() % 15);
        if (o.space == Space::kGm)
          o.addr = (random() % 2 ? p.input(0) : p.output(0)).addr;
        else
          o.addr = random() % 64 * 1024;
      }
      if (r.op == Op::kCrossSet || r.op == Op::kCrossWait)
        r.a[0] = random() % 4, r.a[1] = random() % 8, r.a[2] = random() % 16;
      else
        for (auto& a : r.a) a &= random() % 2 ? 0x0000'0020'0020'0020ull : ~0ull;
      if (i % 7 == 0)
        p.send_plain(Program::record(Op::kBlockSwitch, {}, {random() % 64, random() % 2, random() % 2}));
      (void)p.send_plain(r);
    }
    EXPECT_NE(p.finish().end, RunEnd::kComplete);
  }
  EXPECT_LT(peak_rss_kib() - before, 1024 * 1024);
}

TEST(Hostile, flags_between_cores_do_not_pile_up) {
  const long before = peak_rss_kib();
  Program p(small(), 65535, a2(), abi::KernelKind::kMix12);
  p.cube_core(0);
  for (u64 i = 0; i < 300'000; ++i)
    p.send_plain(Program::record(Op::kCrossSet, {}, {abi::kChannelMode, 0, i}));
  for (u64 i = 0; i < 300'000; ++i) p.send_plain(Program::record(Op::kCrossSet, {}, {i % 3, 0, i % 16}));
  EXPECT_TRUE(has(p.finish(), "cross_flag_overflow"));
  EXPECT_LT(peak_rss_kib() - before, 256 * 1024);
}

TEST(Hostile, blocks_without_end_are_stopped_before_memory_is) {
  const long before = peak_rss_kib();
  Program p(small(), 65535);
  std::uint64_t begun = 0;
  for (std::uint64_t b = 0; b < 65535; ++b) {
    if (p.send_plain(Program::record(Op::kBlockBegin, {}, {b})).stop) break;
    p.send_plain(Program::by_count(Op::kDuplicate, 64, {ub(0)}));
    ++begun;
  }
  EXPECT_LE(begun, 256u);
  EXPECT_TRUE(has(p.finish(), "sync_all_too_many_blocks"));
  EXPECT_LT(peak_rss_kib() - before, 256 * 1024);
}

TEST(Hostile, locations_and_prints_are_bounded) {
  const long before = peak_rss_kib();
  const std::string text(abi::kBulkBytes, 'x');
  auto engine = *Engine::create(a2(), small());
  const auto* bulk = reinterpret_cast<const std::byte*>(text.data());
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    engine->execute(Program::record(Op::kLocation, {}, {i, text.size()}), bulk, abi::kBulkBytes);
    engine->execute(Program::record(Op::kPrint, {}, {text.size()}), bulk, abi::kBulkBytes);
    if (i < 1000)
      engine->execute(Program::record(Op::kHostFinding, {}, {0, text.size()}), bulk, abi::kBulkBytes);
  }
  const RunReport report = engine->finish(RunEnd::kAborted);
  EXPECT_LE(report.printed.size(), 64u * 1024);
  EXPECT_LE(report.findings.size(), 400u);
  EXPECT_LT(peak_rss_kib() - before, 128 * 1024);
}

TEST(Hostile, a_workspace_beyond_the_limit_is_refused) {
  Launch launch = small();
  launch.gm_bytes_max = 1 << 20;
  auto engine = *Engine::create(a2(), launch);
  EXPECT_TRUE(engine->execute(Program::record(Op::kTilingResult, {}, {1, 0, 1 << 20}), nullptr, 0).stop);
  const RunReport report = engine->finish(RunEnd::kComplete);
  EXPECT_EQ(report.end, RunEnd::kTilingFailed);
  EXPECT_TRUE(has(report, "workspace_too_large"));
}

TEST(Hostile, records_beyond_the_limit_are_a_runaway) {
  Launch launch = small();
  launch.records_max = 100;
  Program p(launch);
  p.block(0);
  bool stopped = false;
  for (int i = 0; i < 200 && !stopped; ++i) stopped = p.send_plain(Program::record(Op::kDataSync, {})).stop;
  EXPECT_TRUE(stopped);
  EXPECT_EQ(p.finish().end, RunEnd::kRunaway);
}

TEST(Hostile, instructions_outside_of_blocks_and_blocks_that_were_not_launched_are_refused) {
  Program p(small());
  EXPECT_TRUE(p.send_plain(Program::by_count(Op::kDuplicate, 64, {ub(0)})).stop);
  EXPECT_TRUE(p.send_plain(Program::record(Op::kBlockBegin, {}, {1})).stop);
  EXPECT_FALSE(p.send_plain(Program::record(Op::kBlockBegin, {}, {0})).stop);
  p.end();
  EXPECT_TRUE(p.send_plain(Program::record(Op::kBlockBegin, {}, {0})).stop) << "a second time";
}

TEST(Hostile, an_input_that_does_not_fit_its_shape_is_an_error_that_names_it) {
  Launch launch = small();
  launch.inputs[0].data.resize(100);
  const auto engine = Engine::create(a2(), launch);
  ASSERT_FALSE(engine);
  EXPECT_NE(engine.error().text().find("input x has 100 bytes"), std::string::npos);
}

}  // namespace
}  // namespace evk::twin
