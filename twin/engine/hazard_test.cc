// Races, flags, queues and limits: what is found, at which lines, and that correct programs are left alone.
#include "twin/engine/hazard.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "twin/engine/program_builder.h"

namespace evk::twin {
namespace {

using namespace testing;

constexpr auto kMte2 = Pipe::kMte2, kMte3 = Pipe::kMte3, kV = Pipe::kV, kS = Pipe::kS;

Launch small() { return {"t", {filled("x", counting(4096))}, {empty("y", 4096)}}; }

// A pipeline of tiles through two queues, with some of its records left out.
struct Pipeline {
  std::uint64_t tiles = 6, buffers = 2;
  std::uint64_t tile = 64;  // elements
  std::uint32_t buffer_bytes = 256;
  bool skip_in = false, skip_out = false;  // EnQue and DeQue of the input or output queue
  bool free_early = false;                 // FreeTensor of the input before it is used
  bool no_free = false;                    // of the output
  bool copy_without_queue = false;         // output by flags: none at all
};

RunReport run(const Pipeline& line, bool move_data = true) {
  Launch launch = small();
  launch.move_data = move_data;
  if (!move_data) launch.inputs[0].data.clear();
  Program p(launch);
  p.block(0);
  p.queue(1, kMte2, kV, 0, line.buffer_bytes, line.buffers);
  p.queue(2, kV, kMte3, 8192, line.buffer_bytes, line.buffers, 10);
  for (std::uint64_t i = 0; i < line.tiles; ++i) {
    const std::uint64_t slot = i % line.buffers;
    const auto in = ub(slot * line.buffer_bytes, DType::kF32, static_cast<std::uint16_t>(16 + slot)),
               out = ub(8192 + slot * line.buffer_bytes, DType::kF32, static_cast<std::uint16_t>(32 + slot));
    p.que(Op::kQueAlloc, 1, slot);
    p.copy(in, p.input(0, i * line.tile), 4 * line.tile);
    if (!line.skip_in) p.que(Op::kQueEnque, 1, slot), p.que(Op::kQueDeque, 1, slot);
    if (line.free_early) p.que(Op::kQueFree, 1, slot);
    p.que(Op::kQueAlloc, 2, slot);
    p.vec(Op::kAdds, line.tile, {out, in}, 1.0f);
    if (!line.free_early) p.que(Op::kQueFree, 1, slot);
    if (!line.skip_out) p.que(Op::kQueEnque, 2, slot), p.que(Op::kQueDeque, 2, slot);
    p.copy(p.output(0, i * line.tile), out, 4 * line.tile);
    if (!line.no_free) p.que(Op::kQueFree, 2, slot);
  }
  p.end();
  return p.finish();
}

TEST(Hazards, pipelines_with_queues_are_never_flagged) {
  for (const std::uint64_t buffers : {1, 2, 3, 4})
    for (const std::uint64_t tiles : {1, 2, 3, 7, 40})
      for (const bool move : {true, false}) {
        Pipeline line;
        line.buffers = buffers, line.tiles = tiles;
        EXPECT_EQ(codes(run(line, move), true), "") << buffers << " buffers, " << tiles << " tiles";
      }
}

TEST(Hazards, a_queue_that_is_left_out_is_a_race_and_a_wrong_state) {
  Pipeline line;
  line.skip_in = true;
  EXPECT_TRUE(has(run(line), "race_read_after_write"));
  line.skip_in = false, line.skip_out = true;
  EXPECT_TRUE(has(run(line), "race_read_after_write"));
}

TEST(Hazards, a_tensor_that_is_freed_before_its_last_use_is_found) {
  Pipeline line;
  line.free_early = true;
  const RunReport report = run(line);
  EXPECT_TRUE(has(report, "buffer_use_after_free"));
  EXPECT_GT(report.findings[0].other_line, 0) << "the FreeTensor";
}

TEST(Hazards, a_tensor_that_is_never_freed_is_a_note) {
  Pipeline line;
  line.tiles = 2, line.no_free = true;
  const RunReport report = run(line);
  EXPECT_FALSE(report.faulted()) << codes(report);
  EXPECT_TRUE(has(report, "queue_leak"));
}

TEST(Hazards, half_of_a_buffer_that_is_needed_is_an_overrun) {
  Pipeline line;
  line.buffer_bytes = 128;
  EXPECT_TRUE(has(run(line), "buffer_overrun"));
}

// Each pair of flags of a loop with static tensors is needed: without it there is a race.
RunReport loop_with_flags(int left_out) {
  Program p(small());
  p.block(0);
  p.set(kV, kMte2);
  p.set(kMte3, kV);
  for (std::uint64_t i = 0; i < 4; ++i) {
    if (left_out != 0) p.wait(kV, kMte2);
    p.copy(ub(0), p.input(0, i * 64), 256);
    if (left_out != 1) p.sync(kMte2, kV);
    if (left_out != 2) p.wait(kMte3, kV);
    p.vec(Op::kAdds, 64, {ub(1024), ub(0)}, 1.0f);
    if (left_out != 0) p.set(kV, kMte2);
    if (left_out != 3) p.sync(kV, kMte3);
    p.copy(p.output(0, i * 64), ub(1024), 256);
    if (left_out != 2) p.set(kMte3, kV);
  }
  p.wait(kV, kMte2);
  p.wait(kMte3, kV);
  p.end();
  return p.finish();
}

TEST(Hazards, every_flag_of_a_loop_is_needed) {
  EXPECT_EQ(codes(loop_with_flags(-1), true), "");
  EXPECT_TRUE(has(loop_with_flags(0), "race_write_after_read")) << "the next load overwrites what V reads";
  EXPECT_TRUE(has(loop_with_flags(1), "race_read_after_write")) << "V reads before the load is there";
  EXPECT_TRUE(has(loop_with_flags(2), "race_write_after_read")) << "V overwrites what the store reads";
  EXPECT_TRUE(has(loop_with_flags(3), "race_read_after_write")) << "the store reads before V is done";
}

TEST(Hazards, issue_order_alone_does_not_order_two_loads_into_one_place) {
  for (const bool barrier : {false, true}) {
    Program p(small());
    p.block(0);
    p.copy(ub(0), p.input(0), 256);
    if (barrier) p.op(Op::kPipeBarrier, {static_cast<std::uint64_t>(kMte2)});
    p.copy(ub(128), p.input(0, 64), 256);
    p.end();
    EXPECT_EQ(codes(p.finish()), barrier ? "" : "race_write_after_write@3/2 ");
  }
}

TEST(Hazards, a_flag_that_another_pipe_passed_on_orders_too) {
  // MTE2 -> V -> MTE2: the second load knows that the first is complete.
  Program p(small());
  p.block(0);
  p.copy(ub(0), p.input(0), 256);
  p.sync(kMte2, kV);
  p.sync(kV, kMte2);
  p.copy(ub(0), p.input(0, 64), 256);
  p.end();
  EXPECT_EQ(codes(p.finish(), true), "");
}

TEST(Hazards, barriers_join_all_pipes) {
  Program p(small());
  p.block(0);
  p.copy(ub(0), p.input(0), 256);
  p.op(Op::kPipeBarrier, {static_cast<std::uint64_t>(Pipe::kAll)});
  p.vec(Op::kAdds, 64, {ub(1024), ub(0)}, 1.0f);
  p.op(Op::kPipeBarrier, {static_cast<std::uint64_t>(kV)});
  p.op(Op::kPipeReset, {});
  p.copy(p.output(0), ub(1024), 256);
  p.end();
  EXPECT_EQ(codes(p.finish(), true), "");
}

TEST(Hazards, scalar_access_is_ordered_by_the_compiler_with_every_pipe_beside_it) {
  Program p(small());
  p.block(0);
  p.copy(ub(0), p.input(0), 256);
  (void)p.get(ub(0));
  p.op(Op::kSetValue, {0, 0, 1}, {ub(4)});
  p.vec(Op::kAdds, 64, {ub(1024), ub(0)}, 1.0f);
  p.op(Op::kSetValue, {0, 0, 1}, {ub(1024)});
  p.copy(p.output(0), ub(1024), 256);
  p.end();
  const RunReport report = p.finish();
  EXPECT_EQ(codes(report, true), "") << "S waited for V before it issued the store";
  EXPECT_GE(report.profile.inserted_syncs, 3u);
}

TEST(Hazards, a_cache_that_was_not_cleaned_is_a_note) {
  Program p(small());
  p.block(0);
  p.op(Op::kSetValue, {0, 0, 1}, {p.output(0)});
  p.copy(ub(0), p.output(0), 32);
  p.end();
  const RunReport report = p.finish();
  EXPECT_FALSE(report.faulted());
  EXPECT_TRUE(has(report, "cache_not_cleaned"));
}

TEST(Hazards, flags_are_watched) {
  Program p(small());
  p.block(0);
  p.wait(kMte2, kV);              // 2
  p.set(kMte2, kV, 1);            // 3
  p.set(kMte2, kV, 1);            // 4
  p.set(kMte2, kV, 8);            // 5
  p.op(Op::kSetFlag, {9, 1, 0});  // 6
  p.op(Op::kPipeBarrier, {0});    // 7
  p.end();
  EXPECT_EQ(
      codes(p.finish(), true),
      "wait_without_set@2 flag_set_twice@4/3 flag_invalid@5 flag_invalid@6 flag_invalid@7 flag_left_set@4 ");
}

TEST(Hazards, more_than_eight_tensors_of_one_position_are_a_fault) {
  Program p(small());
  p.block(0);
  p.queue(1, kMte2, kV, 0, 64, 9);
  for (std::uint64_t slot = 0; slot < 9; ++slot) p.que(Op::kQueAlloc, 1, slot);
  p.end();
  EXPECT_TRUE(has(p.finish(), "queue_too_many_tensors"));
}

TEST(Hazards, buffers_beyond_ub_are_a_fault_and_its_reserved_end_a_note) {
  const std::pair<std::uint32_t, const char*> sizes[] = {
      {196352, ""}, {196608, "ub_reserved_tail@2 "}, {196640, "ub_overflow@2 "}};
  for (const auto& [bytes, expected] : sizes) {
    Program p(small());
    p.block(0);
    p.op(Op::kBufInit, {0, 0, 0, 0, 0, 0}, {{0, bytes, 1, Space::kUb, DType::kNone}});
    p.end();
    EXPECT_EQ(codes(p.finish(), true), expected);
  }
}

TEST(Hazards, operands_that_overlap_in_part_are_refused) {
  Program p(small());
  p.block(0);
  p.copy(ub(0), p.input(0), 1024);
  p.sync(kMte2, kV);
  p.vec(Op::kAdds, 64, {ub(0), ub(0)}, 1.0f);                                   // 5: in place
  p.vec(Op::kAdds, 64, {ub(32), ub(0)}, 1.0f);                                  // 6
  p.send(Program::by_count(Op::kCast, 32, {ub(0, DType::kI64), ub(0)}, 0, 1));  // 7: wider than its source
  p.send(Program::by_count(Op::kCast, 32, {ub(0, DType::kF16), ub(0)}, 0, 1));  // 8: narrower, in place
  p.end();
  EXPECT_EQ(codes(p.finish(), true), "operands_overlap@6 operands_overlap@7 ");
}

TEST(Hazards, instructions_that_the_chip_does_not_have_are_refused) {
  Program p(small());
  p.block(0);
  p.copy(ub(0), p.input(0), 1024);
  p.sync(kMte2, kV);
  p.send(Program::by_count(Op::kAdd, 8,
                           {ub(1024, DType::kBf16), ub(0, DType::kBf16), ub(0, DType::kBf16)}));  // 5
  p.send(Program::by_count(Op::kCast, 8, {ub(1024, DType::kI32), ub(0)}));                        // 6
  p.send(Program::by_count(Op::kCast, 8, {ub(1024, DType::kI8), ub(0)}, 0, 1));                   // 7
  p.send(Program::by_count(Op::kAdd, 8, {p.output(0), ub(0), ub(0)}));                            // 8
  p.send(Program::by_count(Op::kPow, 8, {ub(1024), ub(0), ub(0)}));                               // 9
  p.send(Program::by_count(Op::kAdd, 8, {ub(1024), ub(0), ub(0, DType::kF16)}));                  // 10
  p.copy(p.output(0), p.input(0), 64);                                                            // 11
  p.op(Op::kSetFixpipe, {});                                                                      // 12
  p.end();
  EXPECT_EQ(codes(p.finish()),
            "dtype_unsupported@5 cast_mode_unsupported@6 dtype_unsupported@7 vector_on_gm@8 "
            "unsupported_instruction@9 dtype_unsupported@10 copy_path@11 unsupported_instruction@12 ");
}

TEST(Hazards, copies_keep_to_their_limits) {
  Program p(small());
  p.block(0);
  p.op(Op::kDataCopy, {4096 | 1ull << 32, 0}, {ub(0), p.input(0)});              // 2
  p.op(Op::kDataCopyPad, {1 | 2097152ull << 32, 0, 0, 0}, {ub(0), p.input(0)});  // 3
  p.op(Op::kDataCopyPad, {1 | 32ull << 32, 0, 9, 0}, {ub(0), p.input(0)});       // 4: 36 bytes to the left
  p.op(Op::kDataCopy, {0, 0}, {ub(0), p.input(0)});                              // 5
  p.end();
  EXPECT_EQ(codes(p.finish(), true), "copy_limits@2 copy_limits@3 copy_limits@4 copy_empty@5 ");
}

// --- between blocks

// Two blocks write parts of y that overlap by `overlap` bytes; `how` they stay apart all the same.
RunReport two_blocks(std::uint64_t overlap, bool atomic, bool separated) {
  Program p(small(), 2);
  const auto write = [&](std::uint64_t b) {
    p.vec(Op::kDuplicate, 64, {ub(0)}, 1.0f);
    p.sync(kV, kMte3);
    if (atomic) {
      abi::Record r = Program::record(Op::kSetAtomic, {}, {1});
      r.mode = static_cast<std::uint16_t>(DType::kF32);
      p.send(r);
    }
    p.copy(p.output(0, b * (256 - overlap) / 4), ub(0), 256);
  };
  for (std::uint64_t b = 0; b < 2; ++b) {
    p.block(b);
    if (b == 0 || !separated) write(b);
    if (separated) p.op(Op::kSyncAll, {});
    if (!separated) p.end();
  }
  if (separated) {
    write(1);
    p.end();
    p.resume(0);
    p.end();
  }
  return p.finish();
}

TEST(Hazards, blocks_that_write_the_same_bytes_conflict_unless_atomic_or_separated) {
  EXPECT_EQ(codes(two_blocks(0, false, false), true), "");
  EXPECT_TRUE(has(two_blocks(32, false, false), "block_conflict"));
  EXPECT_EQ(codes(two_blocks(32, true, false), true), "");
  EXPECT_EQ(codes(two_blocks(32, false, true), true), "");
}

TEST(Hazards, sync_all_of_more_blocks_than_cores_would_hang) {
  Program p(small(), 49);
  p.block(0);
  p.op(Op::kSyncAll, {});
  EXPECT_TRUE(has(p.finish(), "sync_all_too_many_blocks"));
}

// --- the shadow against one that remembers each byte

struct ByteShadow {
  struct Byte {
    bool written = false;
    Access writer;
    std::map<int, Access> reader;
  };
  std::array<Byte, 256> byte;
};

TEST(Shadow, agrees_with_one_that_remembers_every_byte) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    Shadow shadow;
    ByteShadow plain;
    std::array<Clock, abi::kPipes> clock{};
    std::array<std::uint32_t, abi::kPipes> epoch;
    epoch.fill(1);
    for (int step = 0; step < 60; ++step) {
      const int p = std::array{0, 1, 4, 5}[random() % 4];
      const auto at = static_cast<std::size_t>(p);
      if (random() % 4 == 0) {  // a flag to another pipe
        const auto q = static_cast<std::size_t>(std::array{0, 1, 4, 5}[random() % 4]);
        Clock flag = clock[at];
        flag[at] = epoch[at]++;
        join(clock[q], flag);
        continue;
      }
      const std::uint64_t lo = random() % 240, hi = lo + 1 + random() % 16;
      const Access now{p, epoch[at], static_cast<std::uint32_t>(random() % 3)};
      const auto ordered = [&](const Access& e) {
        return e.epoch == 0 || (e.pipe == p && p <= 1) ||
               clock[at][static_cast<std::size_t>(e.pipe)] >= e.epoch;
      };
      std::uint64_t found = 0, expected = 0, unwritten = 0, expected_unwritten = 0;
      const auto count = [&](HazardKind, const Access&, std::uint64_t from, std::uint64_t to) {
        found += std::min(to, hi) - std::max(from, lo);
      };
      if (random() % 2) {
        shadow.read(lo, hi, now, clock[at], count, [&](std::uint64_t from, std::uint64_t to) {
          unwritten += std::min(to, hi) - std::max(from, lo);
        });
        for (std::uint64_t b = lo; b < hi; ++b) {
          auto& byte = plain.byte[b];
          if (!byte.written) ++expected_unwritten;
          if (byte.written && !ordered(byte.writer)) ++expected;
          byte.reader[p] = now;
        }
      } else {
        shadow.write(lo, hi, now, clock[at], count);
        for (std::uint64_t b = lo; b < hi; ++b) {
          auto& byte = plain.byte[b];
          if (byte.written && !ordered(byte.writer)) ++expected;
          for (const auto& [q, reader] : byte.reader)
            if (q != p && !ordered(reader)) ++expected;
          byte = {true, now, {}};
        }
      }
      ASSERT_EQ(found, expected) << "round " << round << " step " << step;
      ASSERT_EQ(unwritten, expected_unwritten);
    }
  }
}

TEST(Shadow, keeps_few_fragments_when_a_memory_is_walked_and_forgets_rather_than_grow) {
  Shadow shadow(64);
  const Clock clock{};
  const auto none = [](auto&&...) {};
  for (std::uint64_t i = 0; i < 1000; ++i) shadow.write(4 * i, 4 * i + 4, {1, 1, 7}, clock, none);
  EXPECT_EQ(shadow.fragments(), 1u);
  int hazards = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    shadow.write(8 * i, 8 * i + 4, {4, static_cast<std::uint32_t>(i + 1), 7}, clock, none);
    EXPECT_LE(shadow.fragments(), 65u);
  }
  shadow.read(
      0, 8, {5, 1, 1}, clock, [&](auto&&...) { ++hazards; }, none);
  EXPECT_EQ(hazards, 0) << "what is forgotten is never held against a program";
}

}  // namespace
}  // namespace evk::twin
