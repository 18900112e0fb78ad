// The cost model against published measurements of the chip, and what must hold of it whatever its constants.
#include <gtest/gtest.h>

#include <cmath>

#include "twin/engine/program_builder.h"

namespace evk::twin {
namespace {

using namespace testing;

constexpr auto kMte2 = Pipe::kMte2, kMte3 = Pipe::kMte3, kV = Pipe::kV;

// Launch of tensors without contents.
Launch timing_only(std::vector<std::int64_t> inputs, std::vector<std::int64_t> outputs, DType dtype) {
  Launch launch;
  launch.op = "t";
  for (const auto n : inputs) launch.inputs.push_back(shaped("x", n, dtype));
  for (const auto n : outputs) launch.outputs.push_back(shaped("y", n, dtype));
  launch.move_data = false;
  return launch;
}

// Cycles of one Add of 4096 floats among many, with sources and destination at these offsets of UB.
double cycles_of_add(std::uint64_t src0, std::uint64_t src1, std::uint64_t dst, std::uint8_t src0_block = 1,
                     std::uint16_t src0_repeat = 8) {
  double cycles[2];
  for (const int count : {100, 200}) {
    Program p(timing_only({64}, {64}, DType::kF32));
    p.block(0);
    abi::Strides s;
    s.repeat = 64;
    s.src0_block = src0_block, s.src0_repeat = src0_repeat;
    for (int i = 0; i < count; ++i)
      p.send_plain(Program::by_repeat(Op::kAdd, ~0ull, 0, s, {ub(dst), ub(src0), ub(src1)}));
    p.end();
    cycles[count / 100 - 1] = static_cast<double>(p.finish().profile.total_cycles);
  }
  return (cycles[1] - cycles[0]) / 100;
}

TEST(Cost, bank_conflicts_of_the_vector_unit_are_within_5_percent_of_what_was_measured) {
  EXPECT_NEAR(cycles_of_add(0x0, 0x10100, 0x20000) / 88.4, 1, 0.05) << "none";
  EXPECT_NEAR(cycles_of_add(0x0, 0x4000, 0x10000) / 154.2, 1, 0.05) << "sources in one bank";
  EXPECT_NEAR(cycles_of_add(0x0, 0x10000, 0x14100) / 154.2, 1, 0.05) << "sources in one bank group";
  EXPECT_NEAR(cycles_of_add(0x0, 0x10100, 0x4000) / 88.4, 1, 0.05)
      << "destination in a source's bank, aligned";
  EXPECT_NEAR(cycles_of_add(0x0, 0x10100, 0x4020) / 138.8, 1, 0.05) << "destination shifted by a block";
  EXPECT_NEAR(cycles_of_add(0x0, 0x10100, 0x10100) / 88.4, 1, 0.05) << "in place";
  EXPECT_NEAR(cycles_of_add(0x0, 0x10100, 0x10100, 0, 1) / 132.6, 1, 0.05) << "one block a repeat";
  EXPECT_NEAR(cycles_of_add(0x0, 0x10100, 0x10100, 0, 8) / 88.4, 1, 0.05) << "one block in eight";
}

TEST(Cost, strides_that_put_all_blocks_into_one_bank_group_cost_eight_times) {
  const auto cycles = [](std::uint8_t stride) {
    Program p(timing_only({64}, {64}, DType::kF32));
    p.block(0);
    abi::Strides s;
    s.repeat = 8;
    s.src0_block = stride, s.src0_repeat = 1;
    for (int i = 0; i < 1000; ++i)
      p.send_plain(Program::by_repeat(Op::kAbs, ~0ull, 0, s, {ub(0x20000), ub(0)}));
    p.end();
    return static_cast<double>(p.finish().profile.total_cycles) / 1000;
  };
  EXPECT_NEAR(cycles(16) - cycles(17), 7 * 8, 8);
}

struct AddRun {
  std::uint64_t blocks, tile;  // elements of half in a tile
  std::uint64_t buffers;
  std::uint64_t gap;  // bytes between the buffers of x and y
  std::uint64_t elements = 8192 * 8192;
};

// z = x + y of halves through queues, as the vendor's sample does it.
RunProfile add_through_queues(const AddRun& run) {
  const auto n = static_cast<std::int64_t>(run.elements);
  Program p(timing_only({n, n}, {n}, DType::kF16), run.blocks);
  const auto bytes = static_cast<std::uint32_t>(run.tile * 2);
  const std::uint64_t part = run.elements / run.blocks;
  for (std::uint64_t b = 0; b < run.blocks; ++b) {
    p.block(b);
    p.queue(1, kMte2, kV, 0, bytes, run.buffers);
    p.queue(2, kMte2, kV, run.buffers * bytes + run.gap, bytes, run.buffers);
    p.queue(3, kV, kMte3, 2 * run.buffers * bytes + run.gap, bytes, run.buffers, 10);
    const std::uint64_t step = run.buffers * bytes;
    for (std::uint64_t at = 0, i = 0; at < part; at += run.tile, ++i) {
      const std::uint64_t slot = i % run.buffers, count = std::min(run.tile, part - at);
      const auto buffer = [&](std::uint64_t q) {
        const std::uint64_t base = q == 1 ? 0 : q == 2 ? step + run.gap : 2 * step + run.gap;
        return ub(base + slot * bytes, DType::kF16, static_cast<std::uint16_t>(16 * q + slot));
      };
      for (const std::uint64_t q : {1, 2}) {
        p.que(Op::kQueAlloc, q, slot);
        p.copy(buffer(q), p.input(q - 1, b * part + at, DType::kF16), 2 * count);
        p.que(Op::kQueEnque, q, slot);
      }
      p.que(Op::kQueDeque, 1, slot);
      p.que(Op::kQueDeque, 2, slot);
      p.que(Op::kQueAlloc, 3, slot);
      p.vec(Op::kAdd, count, {buffer(3), buffer(1), buffer(2)});
      p.que(Op::kQueEnque, 3, slot);
      p.que(Op::kQueFree, 1, slot);
      p.que(Op::kQueFree, 2, slot);
      p.que(Op::kQueDeque, 3, slot);
      p.copy(p.output(0, b * part + at, DType::kF16), buffer(3), 2 * count);
      p.que(Op::kQueFree, 3, slot);
    }
    p.end();
  }
  const RunReport report = p.finish();
  EXPECT_EQ(codes(report), "");
  return report.profile;
}

TEST(Cost, adding_half_matrices_takes_about_as_long_as_was_measured) {
  const AddRun one{1, 4096, 1, 0}, small{48, 4096, 1, 0}, large{48, 16384, 1, 0};
  EXPECT_NEAR(add_through_queues(one).total_ns / 6909e3, 1, 0.12);
  EXPECT_NEAR(add_through_queues(small).total_ns / 297.14e3, 1, 0.12);
  EXPECT_NEAR(add_through_queues(large).total_ns / 261.5e3, 1, 0.12);
  EXPECT_NEAR(add_through_queues({48, 16384, 2, 0}).total_ns / 257.56e3, 1, 0.12);
}

TEST(Cost, pipes_are_as_busy_when_adding_as_was_measured) {
  const RunProfile large = add_through_queues({48, 16384, 1, 0});
  EXPECT_NEAR(large.vec_ratio * large.total_ns / 12.85e3, 1, 0.03);
  const RunProfile apart = add_through_queues({48, 16256, 1, 0});
  EXPECT_NEAR(apart.vec_ratio * apart.total_ns / 6.954e3, 1, 0.05) << "no bank conflicts";
  EXPECT_LT(apart.bank_conflict_ratio, 0.01);
  EXPECT_GT(large.bank_conflict_ratio, 0.4);
  const RunProfile two = add_through_queues({48, 16384, 2, 0});
  EXPECT_NEAR(two.mte2_ratio, 250.5 / 257.6, 0.1);
  EXPECT_NEAR(two.mte3_ratio, 85.0 / 257.6, 0.1);
}

TEST(Cost, second_buffers_hide_copies_behind_computing) {
  const auto ns = [](std::uint64_t buffers) {
    Program p(timing_only({64 * 2048}, {64 * 2048}, DType::kF32));
    p.block(0);
    p.queue(1, kMte2, kV, 0, 8192, buffers);
    p.queue(2, kV, kMte3, 32768, 8192, buffers, 10);
    for (std::uint64_t tile = 0; tile < 64; ++tile) {
      const std::uint64_t slot = tile % buffers;
      const auto in = ub(slot * 8192, DType::kF32, static_cast<std::uint16_t>(16 + slot)),
                 out = ub(32768 + slot * 8192, DType::kF32, static_cast<std::uint16_t>(32 + slot));
      p.que(Op::kQueAlloc, 1, slot);
      p.copy(in, p.input(0, tile * 2048), 8192);
      p.que(Op::kQueEnque, 1, slot);
      p.que(Op::kQueDeque, 1, slot);
      p.que(Op::kQueAlloc, 2, slot);
      for (int i = 0; i < 4; ++i) p.vec(Op::kExp, 2048, {out, i ? out : in});
      p.que(Op::kQueEnque, 2, slot);
      p.que(Op::kQueFree, 1, slot);
      p.que(Op::kQueDeque, 2, slot);
      p.copy(p.output(0, tile * 2048), out, 8192);
      p.que(Op::kQueFree, 2, slot);
    }
    p.end();
    const RunReport report = p.finish();
    EXPECT_EQ(codes(report, true), "");
    return report.profile.total_ns;
  };
  const double gain = ns(1) / ns(2);
  EXPECT_GT(gain, 1.6);
  EXPECT_LT(gain, 3.0);
}

TEST(Cost, more_blocks_are_faster_until_the_shared_memory_is_full) {
  double before = add_through_queues({1, 16384, 2, 0, 48 << 16}).total_ns;
  for (const std::uint64_t blocks : {4, 8, 16}) {
    const double now = add_through_queues({blocks, 16384, 2, 0, 48 << 16}).total_ns;
    EXPECT_LT(now, 0.7 * before) << blocks;
    before = now;
  }
  EXPECT_GT(add_through_queues({48, 16384, 2, 0, 48 << 16}).total_ns, 0.25 * before);
}

TEST(Cost, blocks_beyond_the_cores_run_in_waves) {
  const double one = add_through_queues({48, 4096, 1, 0, 48 * 65536}).total_ns,
               two = add_through_queues({49, 4096, 1, 0, 49 * 65536}).total_ns;
  EXPECT_NEAR(two / one, 2, 0.1);
}

double copy_cycles(std::uint64_t rows, std::uint64_t row_bytes, std::uint64_t pitch, std::uint64_t offset) {
  Program p(timing_only({1 << 26}, {64}, DType::kF32));
  p.block(0);
  for (std::uint64_t i = 0; i < 50; ++i) {
    abi::Operand from = p.input(0);
    from.addr += offset + i * 1048576;
    p.send_plain(
        Program::record(Op::kDataCopyPad, {ub(0), from}, {rows | row_bytes << 32, pitch - row_bytes, 0, 0}));
  }
  p.end();
  return static_cast<double>(p.finish().profile.total_cycles);
}

TEST(Cost, small_and_unaligned_pieces_move_slower_than_large_aligned_ones) {
  const double whole = copy_cycles(1, 65536, 65536, 0);
  EXPECT_LT(whole, copy_cycles(32, 2048, 8192, 0));
  EXPECT_GT(copy_cycles(32, 2048, 8192, 32), 1.15 * copy_cycles(32, 2048, 8192, 0)) << "rows off a line";
  EXPECT_GT(copy_cycles(1024, 64, 512, 0), 1.5 * whole) << "rows of half a sector";
}

TEST(Cost, what_was_moved_before_is_read_from_l2) {
  const auto cycles = [](bool again) {
    Program p(timing_only({1 << 20}, {64}, DType::kF32), 48);
    for (std::uint64_t b = 0; b < 48; ++b) {
      p.block(b);
      for (std::uint64_t i = 0; i < 32; ++i)
        p.copy(ub(0), p.input(0, again ? i % 2 * 8192 : i * 8192), 32768);
      p.end();
    }
    return static_cast<double>(p.finish().profile.total_cycles);
  };
  EXPECT_LT(cycles(true), 0.6 * cycles(false));
}

TEST(Cost, scalar_access_of_gm_is_cheap_in_sequence_and_dear_with_strides) {
  const auto cycles = [](std::uint64_t step) {
    Program p(timing_only({1 << 20}, {64}, DType::kF32));
    p.block(0);
    for (std::uint64_t i = 0; i < 2000; ++i)
      p.send_plain(Program::record(Op::kGetValue, {p.input(0, i * step % (1 << 18))}));
    p.end();
    return static_cast<double>(p.finish().profile.total_cycles) / 2000;
  };
  EXPECT_NEAR(cycles(1), 2.5 + 147.0 / 16, 3);
  EXPECT_NEAR(cycles(256), 147, 5);
}

TEST(Cost, cycles_do_not_depend_on_the_order_of_blocks_nor_on_contents) {
  std::vector<std::pair<std::uint64_t, std::string>> seen;
  for (const bool backwards : {false, true}) {
    Program p(timing_only({4096}, {4096}, DType::kF32), 4);
    for (std::uint64_t i = 0; i < 4; ++i) {
      const std::uint64_t b = backwards ? 3 - i : i;
      p.block(b);
      p.copy(ub(0), p.input(0, b * 1024), 1024 * (b + 1));
      p.sync(kMte2, kV);
      p.vec(Op::kExp, 256 * (b + 1), {ub(8192), ub(0)});
      p.end();
    }
    const RunReport report = p.finish();
    seen.emplace_back(report.profile.total_cycles, report.trace_hash);
  }
  EXPECT_EQ(seen[0], seen[1]);
}

TEST(Cost, traces_of_other_instructions_differ) {
  const auto hash = [](std::uint64_t bytes, std::uint16_t mode) {
    Program p(timing_only({4096}, {4096}, DType::kF32));
    p.block(0);
    p.copy(ub(0), p.input(0), bytes);
    p.send(Program::by_count(Op::kCast, 8, {ub(8192, DType::kI32), ub(0)}, 0, mode));
    p.end();
    return p.finish().trace_hash;
  };
  EXPECT_NE(hash(64, 1), hash(96, 1));
  EXPECT_NE(hash(64, 1), hash(64, 2));
  EXPECT_EQ(hash(64, 1), hash(64, 1));
}

}  // namespace
}  // namespace evk::twin
