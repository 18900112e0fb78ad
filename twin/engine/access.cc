// Where instructions may touch memory, and in which order.
#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "twin/engine/core.h"

namespace evk::twin {
namespace {

constexpr std::size_t kGmRangesMax = 1 << 18;
constexpr int kS = 0, kV = 1, kMte2 = 4, kMte3 = 5;

const char* pipe_name(int p) {
  static constexpr const char* kNames[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
  return kNames[p];
}

// Edges that the device's compiler inserts by itself for scalar access to tensors (auto-sync).
bool is_automatic(int a, int b) {
  const auto partner = [](int p) { return p == kV || p == kMte2 || p == kMte3; };
  return (a == kS && partner(b)) || (b == kS && partner(a));
}

const char* hazard_code(HazardKind kind) {
  switch (kind) {
    case HazardKind::kReadAfterWrite:
      return "race_read_after_write";
    case HazardKind::kWriteAfterRead:
      return "race_write_after_read";
    case HazardKind::kWriteAfterWrite:
      return "race_write_after_write";
  }
  return "race";
}

}  // namespace

std::uint64_t Core::bytes_of_space(abi::Space space) const {
  switch (space) {
    case abi::Space::kUb:
      return device_.ub_bytes;
    case abi::Space::kL1:
      return device_.l1_bytes;
    case abi::Space::kL0A:
      return device_.l0a_bytes;
    case abi::Space::kL0B:
      return device_.l0b_bytes;
    case abi::Space::kL0C:
      return device_.l0c_bytes;
    case abi::Space::kBt:
      return device_.bt_bytes;
    default:
      return 0;
  }
}

bool Core::aligned(const abi::Operand& o, const char* what) {
  if (o.space == abi::Space::kGm || o.addr % 32 == 0) return true;
  fault("misaligned",
        fmt::format("{} starts at byte {} of the on-chip memory, not at a multiple of 32", what, o.addr),
        "start at offsets that are multiples of 32 bytes");
  return false;
}

bool Core::in_chip_bounds(const abi::Operand& o, std::uint64_t lo, std::uint64_t bytes, const char* what) {
  const std::uint64_t size = bytes_of_space(o.space);
  if (lo > size || bytes > size - lo) {
    fault("chip_out_of_bounds",
          fmt::format("{} touches bytes {} to {} of a memory of {}", what, lo, lo + bytes, size),
          "stay within the tensor");
    return false;
  }
  const auto found = o.buf ? block_->buffers.find(o.buf) : block_->buffers.end();
  if (found == block_->buffers.end()) return true;
  const Buffer& b = found->second;
  if (b.space == o.space && lo >= b.addr && lo + bytes <= b.addr + b.bytes) return true;
  fault("buffer_overrun",
        fmt::format("{} touches {} bytes at offset {} of a buffer of {}", what, bytes,
                    static_cast<std::int64_t>(lo) - static_cast<std::int64_t>(b.addr), b.bytes),
        "make the buffer larger or touch less");
  return false;
}

Core::Range Core::gm_range(const abi::Operand& o, std::uint64_t lo, std::uint64_t bytes, bool write,
                           const char* what) {
  (void)o;
  const GmTensor* nearest = nullptr;
  GmTensor* tensor = gm_.find(lo, bytes, &nearest);
  if (!tensor) {
    const std::string where = nearest ? fmt::format("bytes {} to {} of {}, which has {}", lo - nearest->base,
                                                    lo - nearest->base + bytes, nearest->name, nearest->bytes)
                                      : fmt::format("address {:#x}, where nothing lies", lo);
    fault(write ? "gm_write_out_of_bounds" : "gm_read_out_of_bounds",
          fmt::format("{} touches {}", what, where),
          "check offset and length against the tensor's size; copy tails by DataCopyPad");
    return {};
  }
  if (write && tensor->kind == GmTensor::Kind::kInput) {
    fault("gm_write_input", fmt::format("{} writes input {}", what, tensor->name),
          "write outputs and workspace only");
    return {};
  }
  return {lo, bytes, GlobalMemory::at(*tensor, lo), tensor, true};
}

Core::Range Core::range(const abi::Operand& o, std::uint64_t offset, std::uint64_t bytes, bool write,
                        const char* what) {
  const std::uint64_t lo = o.addr + offset;
  if (lo < o.addr || bytes > (1ull << 40)) {
    fault("bad_record", "an operand that wraps around");
    return {};
  }
  if (o.space == abi::Space::kGm) return gm_range(o, lo, bytes, write, what);
  if (bytes_of_space(o.space) == 0) {
    fault("chip_out_of_bounds", fmt::format("{} has no memory: the tensor was never allocated", what),
          "take tensors from a queue or a TBuf");
    return {};
  }
  if (!in_chip_bounds(o, lo, bytes, what)) return {};
  Range range{lo, bytes, nullptr, nullptr, true};
  if (launch_.move_data) {
    auto& arena = block_->arena[static_cast<std::size_t>(o.space)];
    if (arena.empty()) {
      arena.resize(bytes_of_space(o.space));
      fill_with_poison(arena.data(), arena.size(), mix(launch_.poison, 1000 + block_->index));
    }
    range.data = arena.data() + lo;
  }
  return range;
}

void Core::touch(int pipe, const abi::Operand& o, const Range& range, bool write) {
  Block& b = *block_;
  const auto p = static_cast<std::size_t>(pipe);
  // What the scalar unit has waited for happens before everything that it issues afterwards.
  for (std::size_t q = 1; q < abi::kPipes; ++q) b.clock[p][q] = std::max(b.clock[p][q], b.clock[kS][q]);
  const Access access{pipe, b.clock[p][p], loc_, 0};
  const auto hazard = [&](HazardKind kind, const Access& earlier, std::uint64_t lo, std::uint64_t hi) {
    if (is_automatic(earlier.pipe, pipe)) {
      ++b.inserted_syncs;
      acquire(pipe, release(earlier.pipe));
      return true;
    }
    fault(hazard_code(kind),
          fmt::format("pipe {} {} bytes {} to {} that pipe {} {} without a synchronisation between them",
                      pipe_name(pipe), write ? "writes" : "reads", lo, hi, pipe_name(earlier.pipe),
                      kind == HazardKind::kWriteAfterRead ? "reads" : "writes"),
          "order them: EnQue/DeQue the tensor, or SetFlag/WaitFlag between the two pipes", earlier.loc);
    return false;
  };
  const bool gm = o.space == abi::Space::kGm;
  if (gm) note_gm(range, write);
  if (gm && range.tensor->kind == GmTensor::Kind::kInput) return;  // never written: nothing to order
  Shadow& shadow = gm ? b.gm_shadow[range.tensor->base] : b.shadow[static_cast<std::size_t>(o.space)];
  const std::uint64_t hi = range.lo + range.bytes;
  if (write) return shadow.write(range.lo, hi, access, b.clock[p], hazard);
  shadow.read(range.lo, hi, access, b.clock[p], hazard, [&](std::uint64_t lo, std::uint64_t end) {
    if (!gm) note("uninitialised_read", fmt::format("reads bytes {} to {} that nothing wrote", lo, end));
  });
}

void Core::note_gm(const Range& range, bool write) {
  if (range.tensor->kind == GmTensor::Kind::kInput) return;
  auto& list = block_->gm_ranges;
  const GmRange now{range.lo, range.lo + range.bytes,           loc_, block_->phase,
                    write,    write && block_->atomic.kind != 0};
  const std::size_t recent = std::min<std::size_t>(8, list.size());
  for (std::size_t i = list.size() - recent; i < list.size(); ++i) {
    GmRange& r = list[i];
    if (r.loc == now.loc && r.phase == now.phase && r.write == now.write && r.atomic == now.atomic &&
        now.lo <= r.hi && now.hi >= r.lo) {
      r.lo = std::min(r.lo, now.lo);
      r.hi = std::max(r.hi, now.hi);
      return;
    }
  }
  if (list.size() < kGmRangesMax) list.push_back(now);
}

}  // namespace evk::twin
