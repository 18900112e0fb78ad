#include "twin/engine/engine.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "twin/engine/numeric.h"

namespace evk::twin {
namespace {

using abi::DType;
using abi::Op;
using abi::Space;

Device device() { return *load_device(std::string(EVK_SOURCE_DIR) + "/twin/devices/ascend910b1.toml"); }

LaunchTensor tensor(const char* name, std::int64_t n, const std::vector<float>& values = {}) {
  LaunchTensor t{name, DType::kF32, {n}, {}};
  t.data.resize(values.size() * 4);
  if (!values.empty()) std::memcpy(t.data.data(), values.data(), t.data.size());
  return t;
}

std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<float> counting(std::size_t n) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = 0.25f * static_cast<float>(i % 97) - 3;
  return v;
}

// Speaks to an engine as a program does; the line number is the record's ordinal.
class Program {
 public:
  explicit Program(Launch launch, std::uint32_t blocks = 1)
      : engine_(*Engine::create(device(), std::move(launch))) {
    abi::Record r;
    r.op = Op::kTilingResult;
    r.a[0] = blocks;
    r.a[2] = 4096;
    workspace = engine_->execute(r, nullptr, 0).value;
  }
  Engine::Answer send(abi::Record r) {
    const std::string text = "k.cpp:" + std::to_string(++line_);
    abi::Record location;
    location.op = Op::kLocation;
    location.a[0] = line_;
    location.a[1] = text.size();
    engine_->execute(location, reinterpret_cast<const std::byte*>(text.data()),
                     static_cast<std::uint32_t>(text.size()));
    r.loc = line_;
    return engine_->execute(r, nullptr, 0);
  }
  void block(std::uint32_t index) { op(Op::kBlockBegin, {index}); }
  void end() { op(Op::kBlockEnd, {}); }
  void op(Op o, std::vector<std::uint64_t> a, std::vector<abi::Operand> operands = {}) {
    abi::Record r;
    r.op = o;
    for (std::size_t i = 0; i < a.size(); ++i) r.a[i] = a[i];
    r.operands = static_cast<std::uint8_t>(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) r.operand[i] = operands[i];
    send(r);
  }
  void vec(Op o, std::uint64_t n, std::vector<abi::Operand> operands, float scalar = 0) {
    abi::Record r;
    r.op = o;
    r.form = abi::Form::kCount;
    r.a[0] = n;
    r.a[2] = std::bit_cast<std::uint32_t>(scalar);
    r.operands = static_cast<std::uint8_t>(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) r.operand[i] = operands[i];
    send(r);
  }
  void copy(abi::Operand dst, abi::Operand src, std::uint64_t bytes) {
    abi::Record r;
    r.op = Op::kDataCopy;
    r.mode = 1;
    r.operands = 2;
    r.operand[0] = dst, r.operand[1] = src;
    r.a[0] = 1 | bytes << 32;
    send(r);
  }
  void copy_pad(abi::Operand dst, abi::Operand src, std::uint64_t bytes) {
    op(Op::kDataCopyPad, {1 | bytes << 32, 0, 0, 0}, {dst, src});
  }
  void flag(Op o, abi::Pipe from, abi::Pipe to) {
    op(o, {static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to), 0});
  }
  abi::Operand input(std::size_t i, std::uint64_t element = 0) const {
    return {engine_->input_addr(i) + 4 * element, 0, 0, Space::kGm, DType::kF32};
  }
  abi::Operand output(std::size_t i, std::uint64_t element = 0) const {
    return {engine_->output_addr(i) + 4 * element, 0, 0, Space::kGm, DType::kF32};
  }
  static abi::Operand ub(std::uint64_t addr, std::uint16_t buf = 0) {
    return {addr, 0, buf, Space::kUb, DType::kF32};
  }
  RunReport finish() {
    op(Op::kExit, {});
    return engine_->finish(RunEnd::kComplete);
  }
  std::uint64_t workspace = 0;

 private:
  std::unique_ptr<Engine> engine_;
  std::uint32_t line_ = 0;
};

std::string codes(const RunReport& report, bool notes = false) {
  std::string text;
  for (const auto& f : report.findings)
    if (notes || !f.note)
      text += f.code + "@" + std::to_string(f.line) +
              (f.other_line ? "/" + std::to_string(f.other_line) : "") + " ";
  return text;
}

constexpr auto kMte2 = abi::Pipe::kMte2, kMte3 = abi::Pipe::kMte3, kV = abi::Pipe::kV;

// x + x through flags. `skip` leaves one flag pair out: 0 none, 1 MTE2->V, 2 V->MTE3.
RunReport doubled(int skip) {
  const auto x = counting(64);
  Program p({"add", {tensor("x", 64, x)}, {tensor("y", 64)}});
  p.block(0);
  p.copy(Program::ub(0), p.input(0), 256);
  if (skip != 1) p.flag(Op::kSetFlag, kMte2, kV), p.flag(Op::kWaitFlag, kMte2, kV);
  p.vec(Op::kAdd, 64, {Program::ub(1024), Program::ub(0), Program::ub(0)});
  if (skip != 2) p.flag(Op::kSetFlag, kV, kMte3), p.flag(Op::kWaitFlag, kV, kMte3);
  p.copy(p.output(0), Program::ub(1024), 256);
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
  p.copy(Program::ub(0), p.input(0), 32);
  p.op(Op::kGetValue, {}, {Program::ub(4)});
  p.vec(Op::kAdds, 8, {Program::ub(64), Program::ub(0)}, 1.0f);
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
  p.copy(Program::ub(0), p.input(0, 16), 128);       // 2: beyond x
  p.copy(p.input(0), Program::ub(0), 32);            // 3: writes an input
  p.copy(Program::ub(196608 - 32), p.input(0), 64);  // 4: beyond UB
  p.copy(Program::ub(16), p.input(0), 32);           // 5: misaligned
  p.op(Op::kBufInit, {0, 0, 0, 0, 0, 0}, {{0, 64, 1, Space::kUb, DType::kNone}});
  p.copy(Program::ub(32, 1), p.input(0), 64);                                          // 7: beyond its buffer
  p.op(Op::kBufInit, {0, 0, 0, 0, 0, 0}, {{0, 200000, 2, Space::kUb, DType::kNone}});  // 8
  p.copy(Program::ub(64), p.output(0, 1 << 28), 32);                                   // 9: far away
  p.end();
  EXPECT_EQ(codes(p.finish()),
            "gm_read_out_of_bounds@2 gm_write_input@3 chip_out_of_bounds@4 misaligned@5 buffer_overrun@7 "
            "ub_overflow@8 gm_read_out_of_bounds@9 ");
}

TEST(Engine, rounds_a_copy_by_count_down_to_32_bytes_and_says_so) {
  Program p({"b", {tensor("x", 10, counting(10))}, {tensor("y", 10)}});
  p.block(0);
  p.copy(Program::ub(0), p.input(0), 40);
  p.end();
  const auto report = p.finish();
  EXPECT_EQ(codes(report), "");
  EXPECT_EQ(report.findings.front().code, "datacopy_count_rounded");
}

TEST(Engine, copies_tails_by_pad_exactly) {
  Program p({"b", {tensor("x", 10, counting(10))}, {tensor("y", 10)}});
  p.block(0);
  p.copy_pad(Program::ub(0), p.input(0), 40);
  p.flag(Op::kSetFlag, kMte2, kMte3), p.flag(Op::kWaitFlag, kMte2, kMte3);
  p.copy_pad(p.output(0), Program::ub(0), 40);
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
    p.copy_pad(Program::ub(0), p.input(0), 128);
    p.flag(Op::kSetFlag, kMte2, kMte3), p.flag(Op::kWaitFlag, kMte2, kMte3);
    p.copy_pad(p.output(0, 8), Program::ub(0), 128);
    p.copy_pad(p.output(0, 20), Program::ub(0), 40);
    p.end();
    EXPECT_EQ(p.finish().unwritten_bytes, std::vector<std::uint64_t>{256 - 128}) << move;
  }
}

TEST(Engine, finds_blocks_that_write_the_same_bytes) {
  for (const bool apart : {false, true}) {
    Program p({"b", {tensor("x", 64, counting(64))}, {tensor("y", 64)}}, 2);
    for (std::uint32_t block = 0; block < 2; ++block) {
      p.block(block);
      p.copy_pad(Program::ub(0), p.input(0), 128);
      p.flag(Op::kSetFlag, kMte2, kMte3), p.flag(Op::kWaitFlag, kMte2, kMte3);
      p.copy_pad(p.output(0, apart ? 32 * block : 16 * block), Program::ub(0), 128);
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
    p.copy_pad(Program::ub(0), p.input(0), 4 * n);
    p.flag(Op::kSetFlag, kMte2, kV), p.flag(Op::kWaitFlag, kMte2, kV);
    p.vec(Op::kReduceSum, n, {Program::ub(32768), Program::ub(0), Program::ub(65536)});
    p.vec(Op::kReduceMax, n, {Program::ub(32800), Program::ub(0), Program::ub(65536)});
    p.vec(Op::kReduceMin, n, {Program::ub(32832), Program::ub(0), Program::ub(65536)});
    p.flag(Op::kSetFlag, kV, kMte3), p.flag(Op::kWaitFlag, kV, kMte3);
    for (int i = 0; i < 3; ++i)
      p.copy_pad(p.output(0, static_cast<std::uint64_t>(i)),
                 Program::ub(32768 + 32 * static_cast<std::uint64_t>(i)), 4);
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
    const auto in = Program::ub((2 + slot) * 8192, static_cast<std::uint16_t>(10 + slot)),
               out = Program::ub((4 + slot) * 8192, static_cast<std::uint16_t>(20 + slot));
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
    p.copy(Program::ub(0), p.input(0), 256);
    p.flag(Op::kSetFlag, kMte2, kV), p.flag(Op::kWaitFlag, kMte2, kV);
    p.vec(Op::kExp, 64, {Program::ub(1024), Program::ub(0)});
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

// Random bytes as records must neither crash the engine nor make it grow without bound.
TEST(Engine, survives_hostile_records) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    Program p({"h", {tensor("x", 64, counting(64))}, {tensor("y", 64)}}, 2);
    p.block(0);
    for (int i = 0; i < 500; ++i) {
      abi::Record r;
      auto* bytes = reinterpret_cast<std::uint64_t*>(&r);
      for (std::size_t w = 0; w < sizeof r / 8; ++w)
        bytes[w] = random() & (random() % 3 ? 0xff00ff00ffull : ~0ull);
      r.op = static_cast<Op>(random() % 700);
      if (random() % 2)
        r.operand[0] = Program::ub(random() % 200000), r.operand[1] = p.input(0, random() % 100),
        r.operand[2] = Program::ub(random() % 4096);
      r.operands = static_cast<std::uint8_t>(random() % 5);
      r.form = static_cast<abi::Form>(random() % 5);
      if (r.op == Op::kExit) continue;
      p.send(r);
    }
    (void)p.finish();
  }
}

}  // namespace
}  // namespace evk::twin
