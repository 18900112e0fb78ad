#include "twin/cli/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "twin/cli/stream.h"

namespace evk::twin {
namespace {

using abi::DType;
using abi::Op;
using abi::Pipe;

constexpr auto kMte2 = Pipe::kMte2, kMte3 = Pipe::kMte3, kV = Pipe::kV;
constexpr const char *kB1 = "ascend910b1", *kB4 = "ascend910b4";

// What a case needs to know of its run. A clean run, or the finding that spoils the figure.
Result<RunProfile> profile_of(Stream& s) {
  const RunReport report = s.finish();
  for (const Finding& f : report.findings)
    if (!f.note) return failure(fmt::format("a calibration stream is faulty: [{}] {}", f.code, f.message));
  return report.profile;
}

double task_us(const RunProfile& p) { return (p.total_ns + p.launch_ns) / 1e3; }
double kernel_us(const RunProfile& p) { return p.total_ns / 1e3; }
double vector_us(const RunProfile& p) { return p.vec_ratio * p.total_ns / 1e3; }

using Figure = double (*)(const RunProfile&);
using Measure = std::function<Result<double>(const Device&)>;

// z = x + y of 8192 x 8192 halves in tiles, with one or two buffers each. `stride` is the distance of the
// buffers in UB.
struct Addition {
  std::uint64_t blocks, tile, buffers, stride;
};

void add_tile(Stream& s, const Addition& a, std::uint64_t element, std::uint64_t count, std::uint64_t use) {
  const std::uint64_t slot = use % a.buffers, bytes = 2 * count;
  const auto buffer = [&](std::uint64_t operand) { return (operand * a.buffers + slot) * a.stride; };
  if (use >= a.buffers) s.wait(kV, kMte2, slot);
  s.load(buffer(0), s.input(0, element, DType::kF16), 1, bytes, bytes);
  s.load(buffer(1), s.input(1, element, DType::kF16), 1, bytes, bytes);
  s.set(kMte2, kV, slot);
  s.wait(kMte2, kV, slot);
  if (use >= a.buffers) s.wait(kMte3, kV, slot);
  s.send(Op::kAdd, {count, 0, 0},
         {Stream::ub(buffer(2), DType::kF16), Stream::ub(buffer(0), DType::kF16),
          Stream::ub(buffer(1), DType::kF16)},
         abi::Form::kCount);
  s.set(kV, kMte2, slot);
  s.set(kV, kMte3, slot);
  s.wait(kV, kMte3, slot);
  s.store(s.output(element, DType::kF16), buffer(2), 1, bytes, bytes);
  s.set(kMte3, kV, slot);
}

Measure addition(const Addition& a, Figure figure) {
  return [a, figure](const Device& device) -> Result<double> {
    constexpr std::uint64_t kElements = 8192 * 8192;
    EVK_TRY(Stream s, Stream::open(device, {std::int64_t{kElements}, std::int64_t{kElements}},
                                   {std::int64_t{kElements}}, DType::kF16, a.blocks));
    const std::uint64_t part = (kElements + a.blocks - 1) / a.blocks / 16 * 16 + 16;
    for (std::uint64_t b = 0; b < a.blocks; ++b) {
      s.block(b);
      const std::uint64_t end = std::min(kElements, (b + 1) * part);
      std::uint64_t use = 0;
      for (std::uint64_t at = b * part; at < end; at += a.tile, ++use)
        add_tile(s, a, at, std::min(a.tile, end - at), use);
      for (std::uint64_t slot = 0; slot < std::min(use, a.buffers); ++slot) {
        s.wait(kV, kMte2, slot);
        s.wait(kMte3, kV, slot);
      }
      s.end();
    }
    EVK_TRY(const RunProfile p, profile_of(s));
    return figure(p);
  };
}

// Cycles of one Add of 4096 floats among a thousand.
struct Banks {
  std::uint64_t src0, src1, dst;
  std::uint8_t src0_block = 1, src0_repeat = 8;
};

Measure banks(const Banks& k) {
  return [k](const Device& device) -> Result<double> {
    double cycles[2] = {};
    for (const int i : {0, 1}) {
      EVK_TRY(Stream s, Stream::open(device, {64}, {64}, DType::kF32, 1));
      s.block(0);
      abi::Strides strides;
      strides.repeat = 64;
      strides.src0_block = k.src0_block, strides.src0_repeat = k.src0_repeat;
      for (int n = 0; n < 1000 * i; ++n)
        s.send(Op::kAdd, {~0ull, 0, 0, abi::pack_low(strides), abi::pack_high(strides)},
               {Stream::ub(k.dst, DType::kF32), Stream::ub(k.src0, DType::kF32),
                Stream::ub(k.src1, DType::kF32)},
               abi::Form::kRepeat);
      s.end();
      EVK_TRY(const RunProfile p, profile_of(s));
      cycles[i] = static_cast<double>(p.total_cycles);
    }
    return (cycles[1] - cycles[0]) / 1000;
  };
}

// Rows of a matrix of halves to fractal columns through UB, whose columns lie `stride` blocks apart.
void to_fractals(Stream& s, std::uint64_t stride, std::uint64_t row, std::uint64_t rows, std::uint64_t column,
                 std::uint64_t use) {
  constexpr std::uint64_t kSide = 8192, kIn = 36864, kOut = 40960;
  const std::uint64_t slot = use % 2, in = slot * kIn, out = 2 * kIn + slot * kOut;
  if (use >= 2) s.wait(kV, kMte2, slot);
  s.load(in, s.input(0, row * kSide + column, DType::kF16), rows, 256, 2 * kSide);
  s.set(kMte2, kV, slot);
  s.wait(kMte2, kV, slot);
  if (use >= 2) s.wait(kMte3, kV, slot);
  abi::Strides k;
  k.repeat = static_cast<std::uint8_t>(rows);
  k.dst_block = static_cast<std::uint8_t>(stride), k.dst_repeat = 1;
  s.repeat(Op::kAdds, k, {Stream::ub(out, DType::kF16), Stream::ub(in, DType::kF16)});
  s.set(kV, kMte2, slot);
  s.set(kV, kMte3, slot);
  s.wait(kV, kMte3, slot);
  for (std::uint64_t c = 0; c < 8; ++c)
    s.store(s.output((column / 16 + c) * kSide * 16 + row * 16, DType::kF16), out + c * stride * 32, 1,
            rows * 32, rows * 32);
  s.set(kMte3, kV, slot);
}

Measure fractals(std::uint64_t stride, Figure figure) {
  return [stride, figure](const Device& device) -> Result<double> {
    constexpr std::uint64_t kSide = 8192, kRows = 144, kColumns = 128, kBlocks = 48;
    EVK_TRY(Stream s, Stream::open(device, {std::int64_t{kSide * kSide}}, {std::int64_t{kSide * kSide}},
                                   DType::kF16, kBlocks));
    const std::uint64_t down = (kSide + kRows - 1) / kRows, tiles = down * (kSide / kColumns);
    for (std::uint64_t b = 0; b < kBlocks; ++b) {
      s.block(b);
      std::uint64_t use = 0;
      for (std::uint64_t t = b; t < tiles; t += kBlocks, ++use) {
        const std::uint64_t row = t % down * kRows;
        to_fractals(s, stride, row, std::min(kRows, kSide - row), t / down * kColumns, use);
      }
      for (std::uint64_t slot = 0; slot < std::min<std::uint64_t>(use, 2); ++slot) {
        s.wait(kV, kMte2, slot);
        s.wait(kMte3, kV, slot);
      }
      s.end();
    }
    EVK_TRY(const RunProfile p, profile_of(s));
    return figure(p);
  };
}

// Reads a matrix of halves in tiles, `passes` times over; each pass over one of `parts` of a block's tiles.
struct Reading {
  std::uint64_t rows, columns, width = 12288, passes = 1, parts = 1;
};

Measure reading(const Reading& k) {
  return [k](const Device& device) -> Result<double> {
    constexpr std::uint64_t kHeight = 12288, kBlocks = 48;
    EVK_TRY(Stream s,
            Stream::open(device, {static_cast<std::int64_t>(kHeight * k.width)}, {64}, DType::kF16, kBlocks));
    const std::uint64_t across = (k.width + k.columns - 1) / k.columns,
                        mine = kHeight / k.rows * across / kBlocks;
    const std::uint64_t tile_bytes = 2 * k.rows * k.columns, slots = device.ub_usable_bytes / tile_bytes;
    for (std::uint64_t b = 0; b < kBlocks; ++b) {
      s.block(b);
      for (std::uint64_t i = 0; i < mine * k.passes; ++i) {
        const std::uint64_t part = mine / k.parts, tile = i / (part * k.passes) * part + i % part;
        const std::uint64_t t = b * mine + std::min(tile, mine - 1), column = t % across * k.columns;
        s.load(i % slots * tile_bytes, s.input(0, t / across * k.rows * k.width + column, DType::kF16),
               k.rows, 2 * std::min(k.columns, k.width - column), 2 * k.width);
        // UB is full: what comes next overwrites.
        if (i % slots == slots - 1) s.send(Op::kPipeBarrier, {static_cast<std::uint64_t>(kMte2)});
      }
      s.end();
    }
    EVK_TRY(const RunProfile p, profile_of(s));
    return task_us(p);
  };
}

// Cycles of an element of a scalar loop: its accesses in order ('l', 's' of UB; 'g', 'p' load and store of
// GM) and basic blocks.
Measure scalar_loop(const std::string& accesses, std::uint32_t blocks) {
  return [accesses, blocks](const Device& device) -> Result<double> {
    constexpr std::uint64_t kElements = 65536;
    EVK_TRY(Stream s,
            Stream::open(device, {std::int64_t{kElements}}, {std::int64_t{kElements}}, DType::kF32, 1));
    s.block(0);
    for (std::uint64_t i = 0; i < kElements; ++i) {
      s.scalar_blocks(blocks);
      std::uint64_t buffer = 0;
      for (const char access : accesses) {
        const abi::Operand o = Stream::ub(buffer++ * 32768 + i % 4096 * 4, DType::kF32);
        if (access == 'l') s.get(o);
        if (access == 's') s.put(o);
        if (access == 'g') s.get(s.input(0, i, DType::kF32));
        if (access == 'p') s.put(s.output(i, DType::kF32));
      }
    }
    s.send(Op::kDataCache, {}, {s.output(0, DType::kF32)});
    s.end();
    EVK_TRY(const RunProfile p, profile_of(s));
    return static_cast<double>(p.total_cycles) / kElements;
  };
}

struct Case {
  const char *group, *name, *unit, *device;
  double published, tolerance;
  Measure measure;  // empty: not covered
  const char* reason = "";
};

std::vector<Case> cases_of_additions() {
  const char* const hint = "the kernel headers drop SetL2CacheHint, so reads past L2 cannot be told";
  return {
      {"A", "0 scalar loop, one core, per element", "cycles", kB1, 34.2, 0.08, scalar_loop("lls", 1)},
      {"A", "1 one core, 8 KB tiles, task", "us", kB1, 6909.6, 0.08, addition({1, 4096, 1, 8192}, task_us)},
      {"A", "2 48 cores, 8 KB tiles, kernel", "us", kB1, 297.14, 0.08,
       addition({48, 4096, 1, 8192}, kernel_us)},
      {"A", "3 32 KB tiles, kernel", "us", kB1, 261.5, 0.08, addition({48, 16384, 1, 32768}, kernel_us)},
      {"A", "3b 33 KB tiles, task", "us", kB1, 267.76, 0.08, addition({48, 16512, 1, 33024}, task_us)},
      {"A", "4 double buffers, kernel", "us", kB1, 257.56, 0.08, addition({48, 16384, 2, 32768}, kernel_us)},
      {"A", "2 vector unit", "us", kB1, 15.885, 0.08, addition({48, 4096, 1, 8192}, vector_us)},
      {"A", "3 vector unit", "us", kB1, 12.845, 0.08, addition({48, 16384, 1, 32768}, vector_us)},
      {"A", "6 vector unit, banks apart", "us", kB1, 6.954, 0.08, addition({48, 16256, 1, 32512}, vector_us)},
      {"A", "5 reads past L2, kernel", "us", kB1, 185.15, 0.08, {}, hint},
      {"A", "6 banks apart, reads past L2, kernel", "us", kB1, 178.49, 0.08, {}, hint},
  };
}

std::vector<Case> cases_of_banks() {
  const double tick = 37.0 / 1000;
  const auto of = [&](const char* name, double ticks, const Banks& k) {
    return Case{"B", name, "cycles", kB1, ticks * tick, 0.05, banks(k)};
  };
  return {of("1 no conflict", 2390, {0, 0x10100, 0x20000}),
          of("2 sources in one bank", 4167, {0, 0x4000, 0x10000}),
          of("3 sources in one bank group", 4167, {0, 0x10000, 0x14100}),
          of("4 read and write of one bank, aligned", 2389, {0, 0x10100, 0x4000}),
          of("5 write shifted by a block", 3751, {0, 0x10100, 0x4020}),
          of("6 in place", 2390, {0, 0x10100, 0x10100}),
          of("7 broadcast, a block a repeat", 3584, {0, 0x10100, 0x10100, 0, 1}),
          of("8 broadcast, eight blocks a repeat", 2389, {0, 0x10100, 0x10100, 0, 8})};
}

std::vector<Case> cases_of_copies() {
  const auto read = [](const char* name, double us, const Reading& k) {
    return Case{"D", name, "us", kB1, us, 0.15, reading(k)};
  };
  return {{"C", "stride 144, task", "us", kB1, 151.42, 0.15, fractals(144, task_us)},
          {"C", "stride 145, task", "us", kB1, 144.0, 0.15, fractals(145, task_us)},
          {"C", "stride 144, vector unit", "us", kB1, 47.79, 0.15, fractals(144, vector_us)},
          {"C", "stride 145, vector unit", "us", kB1, 7.133, 0.15, fractals(145, vector_us)},
          read("tile 1 x 64", 564.84, {1, 64}),
          read("tile 64 x 64", 233.54, {64, 64}),
          read("tile 64 x 1024", 215.82, {64, 1024}),
          read("tile 64 x 1024 of 12287 columns", 275.3, {64, 1024, 12287}),
          read("four passes over all", 828.06, {64, 1024, 12288, 4}),
          read("four passes over each half", 365.74, {64, 1024, 12288, 4, 2})};
}

std::vector<Case> cases_without_a_stream() {
  const char *const cube = "needs the cube path", *const unsaid = "the published case does not say its tiles";
  return {{"E", "matmul 8192, cases 0 to 3, case 3 kernel", "us", kB1, 10870.96, 0.2, {}, cube},
          {"I", "double_buffer, two buffers", "us", kB4, 959.62, 0.15, {}, unsaid},
          {"I",
           "memory_access, 40 KB tiles",
           "us",
           kB4,
           892.02,
           0.15,
           {},
           "the published case does not say how many bytes a core moves"}};
}

std::vector<Case> cases_of_scalar_kernels() {
  const auto of = [](const char* name, double cycles, const char* accesses, std::uint32_t blocks) {
    return Case{"J", name, "cycles", kB4, cycles, 0.15, scalar_loop(accesses, blocks)};
  };
  return {of("cumsum, per element", 28.9, "ls", 1),
          of("masked_cumsum, per element", 48.0, "lls", 3),
          of("cumsum_exclusive, per element", 79.5, "gslslp", 3),
          of("sum_reduction, per element", 44.0, "lls", 1),
          of("masked_fill, per element", 46.4, "lls", 3),
          of("index_copy, per element", 22.95, "gp", 1)};
}

}  // namespace

Result<std::vector<CalibrationRow>> calibrate(const Device& device) {
  std::vector<CalibrationRow> rows;
  for (const auto& list : {cases_of_additions(), cases_of_banks(), cases_of_copies(),
                           cases_without_a_stream(), cases_of_scalar_kernels()})
    for (const Case& c : list) {
      if (c.device != device.name) continue;
      rows.push_back({c.group, c.name, c.unit, c.device, c.published, c.tolerance, {}, c.reason});
      if (!c.measure) continue;
      EVK_TRY(const double simulated, c.measure(device));
      rows.back().simulated = simulated;
    }
  return rows;
}

std::vector<std::string> calibrated_devices() { return {kB1, kB4}; }

}  // namespace evk::twin
