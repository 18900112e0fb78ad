// Where instructions may touch memory, and in which order.
#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "twin/engine/core.h"

namespace evk::twin {
namespace {

constexpr std::uint64_t kGmRangesMax = 1 << 21;  // of all blocks together; beyond, conflicts may be missed

const char* pipe_name(int p) {
  static constexpr const char* kNames[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
  return kNames[p];
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
    case abi::Space::kFb:
      return static_cast<std::uint64_t>(device_.at("memory.fb_bytes"));
    default:
      return 0;
  }
}

bool Core::aligned(const abi::Operand& o, const char* what, std::uint64_t bytes) {
  if (o.space == abi::Space::kGm || o.addr % bytes == 0) return true;
  if (!findings_.again("misaligned", loc_))
    fault("misaligned",
          fmt::format("{} starts at byte {} of the on-chip memory, not at a multiple of {}", what, o.addr,
                      bytes),
          "start at an offset that is such a multiple");
  return false;
}

bool Core::in_chip_bounds(const abi::Operand& o, std::uint64_t lo, std::uint64_t bytes, const char* what) {
  if ((o.space == abi::Space::kUb) == block_->totals.is_cube) {
    if (!findings_.again("wrong_core", loc_))
      fault("wrong_core",
            fmt::format("{} lies in a memory that a {} core does not have", what,
                        block_->totals.is_cube ? "cube" : "vector"),
            "use A1 to CO1 and C2 under ASCEND_IS_AIC, VECIN to VECOUT under ASCEND_IS_AIV");
    return false;
  }
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
  if (b.state == Buffer::State::kFree && b.was_freed &&
      !findings_.again("buffer_use_after_free", loc_, b.loc))
    fault("buffer_use_after_free", fmt::format("{} uses a tensor after FreeTensor", what),
          "call FreeTensor after the last use of the tensor", b.loc);
  if (b.space == o.space && lo >= b.addr && lo + bytes <= b.addr + b.bytes) return true;
  if (!findings_.again("buffer_overrun", loc_))
    fault("buffer_overrun",
          fmt::format("{} touches {} bytes at offset {} of a buffer of {}", what, bytes,
                      static_cast<std::int64_t>(lo) - static_cast<std::int64_t>(b.addr), b.bytes),
          "make the buffer larger or touch less");
  return false;
}

Core::Range Core::gm_range(std::uint64_t lo, std::uint64_t bytes, bool write, const char* what) {
  const GmTensor* nearest = nullptr;
  GmTensor* tensor = gm_.find(lo, bytes, &nearest);
  const char* code = write ? "gm_write_out_of_bounds" : "gm_read_out_of_bounds";
  if (!tensor) {
    if (findings_.again(code, loc_)) return {};
    const std::string where = nearest ? fmt::format("bytes {} to {} of {}, which has {}", lo - nearest->base,
                                                    lo - nearest->base + bytes, nearest->name, nearest->bytes)
                                      : fmt::format("address {:#x}, where nothing lies", lo);
    fault(code, fmt::format("{} touches {}", what, where),
          "check offset and length against the tensor's size; copy tails by DataCopyPad");
    return {};
  }
  if (write && tensor->kind == GmTensor::Kind::kInput) {
    fault("gm_write_input", fmt::format("{} writes input {}", what, tensor->name),
          "write outputs and workspace only");
    return {};
  }
  return {lo, bytes, gm_.at(*tensor, lo, bytes), tensor, true};
}

std::byte* Core::chip_memory(abi::Space space) {
  auto& arena = block_->arena[static_cast<std::size_t>(space)];
  if (arena.empty()) {
    arena.resize(bytes_of_space(space));
    fill_with_poison(arena.data(), arena.size(), mix(launch_.poison, 1000 + block_->index()));
  }
  return arena.data();
}

Core::Range Core::range(const abi::Operand& o, std::uint64_t offset, std::uint64_t bytes, bool write,
                        const char* what) {
  const std::uint64_t lo = o.addr + offset;
  if (lo < o.addr || bytes > (1ull << 40)) {
    fault("bad_record", "an operand that wraps around");
    return {};
  }
  if (o.space == abi::Space::kGm) return gm_range(lo, bytes, write, what);
  if (o.space == abi::Space::kNone) {
    fault("chip_out_of_bounds", fmt::format("{} has no memory: the tensor was never allocated", what),
          "take tensors from a queue or a TBuf");
    return {};
  }
  if (!in_chip_bounds(o, lo, bytes, what)) return {};
  return {lo, bytes, launch_.move_data ? chip_memory(o.space) + lo : nullptr, nullptr, true};
}

void Core::hazard(HazardKind kind, int pipe, const Access& earlier, bool gm, std::uint64_t lo,
                  std::uint64_t hi) {
  Block& b = *block_;
  const auto beside_scalar = [](int p) { return p == kV || p == kMte2 || p == kMte3; };
  if ((earlier.pipe == kS && beside_scalar(pipe)) || (pipe == kS && beside_scalar(earlier.pipe))) {
    // The compiler inserts this edge for scalar access to tensors. Its cache of GM it does not clean.
    ++b.totals.inserted_syncs;
    acquire(pipe, release(earlier.pipe));
    if (gm && earlier.pipe == kS && kind == HazardKind::kReadAfterWrite)
      note("cache_not_cleaned",
           "a copy reads GM that SetValue wrote: the scalar unit's cache may still hold it",
           "call DataCacheCleanAndInvalid between them", earlier.loc);
    return;
  }
  const char* code = hazard_code(kind);
  if (findings_.again(code, loc_, earlier.loc)) return;
  std::string message =
      fmt::format("pipe {} {} bytes {} to {} that pipe {} {} without a synchronisation between them",
                  pipe_name(pipe), kind == HazardKind::kReadAfterWrite ? "reads" : "writes", lo, hi,
                  pipe_name(earlier.pipe), kind == HazardKind::kWriteAfterRead ? "reads" : "writes");
  if (pipe == earlier.pipe && gm && b.atomic.kind != 0) return;  // atomic copies may meet
  if (pipe == earlier.pipe && gm)  // the copies mostly arrive in order; the documents do not promise it
    return note("overlapping_copies", std::move(message), "separate the two copies by PipeBarrier",
                earlier.loc);
  fault(code, std::move(message),
        pipe == earlier.pipe
            ? "separate the two instructions by PipeBarrier"
            : "order them: EnQue/DeQue the tensor, or SetFlag/WaitFlag between the two pipes",
        earlier.loc);
}

void Core::touch(int pipe, const abi::Operand& o, const Range& range, bool write) {
  Block& b = *block_;
  const auto p = static_cast<std::size_t>(pipe);
  // What the scalar unit has waited for happens before everything that it issues afterwards.
  for (std::size_t q = 1; q < abi::kPipes; ++q) b.clock[p][q] = std::max(b.clock[p][q], b.clock[kS][q]);
  if (range.bytes == 0) return;
  const bool gm = o.space == abi::Space::kGm;
  if (gm && range.tensor->kind == GmTensor::Kind::kInput) return;  // never written: nothing to order
  if (gm) note_gm(pipe, range, write);
  if (gm && write)
    range.tensor->written.mark(range.lo - range.tensor->base, range.lo - range.tensor->base + range.bytes);
  if (gm && b.gm_shadow.size() <= range.tensor->index) b.gm_shadow.resize(range.tensor->index + 1);
  Shadow& shadow = gm ? b.gm_shadow[range.tensor->index] : b.shadow[static_cast<std::size_t>(o.space)];
  const Access access{pipe, b.epoch[p], loc_};
  const std::uint64_t base = gm ? range.tensor->base : 0, hi = range.lo + range.bytes;
  const auto on_hazard = [&](HazardKind kind, const Access& earlier, std::uint64_t lo, std::uint64_t end) {
    hazard(kind, pipe, earlier, gm, std::max(lo, range.lo) - base, std::min(end, hi) - base);
  };
  if (write) return shadow.write(range.lo, hi, access, b.clock[p], on_hazard);
  shadow.read(range.lo, hi, access, b.clock[p], on_hazard, [&](std::uint64_t lo, std::uint64_t end) {
    if (!gm && !findings_.again("uninitialised_read", loc_))
      note("uninitialised_read", fmt::format("reads bytes {} to {} that nothing wrote", lo, end));
  });
}

void Core::note_gm(int pipe, const Range& range, bool write) {
  auto& list = block_->totals.gm_ranges;
  const BlockTotals& t = block_->totals;
  const auto segment = static_cast<std::uint32_t>(t.known.empty() ? 0 : t.known.size() - 1);
  const GmRange now{range.lo,
                    range.lo + range.bytes,
                    loc_,
                    t.phase,
                    write,
                    write && block_->atomic.kind != 0,
                    static_cast<std::uint8_t>(pipe),
                    block_->epoch[static_cast<std::size_t>(pipe)],
                    segment};
  const std::size_t recent = std::min<std::size_t>(8, list.size());
  for (std::size_t i = list.size() - recent; i < list.size(); ++i) {
    GmRange& r = list[i];
    if (r.loc == now.loc && r.phase == now.phase && r.write == now.write && r.atomic == now.atomic &&
        r.segment == now.segment && r.pipe == now.pipe && now.lo <= r.hi && now.hi >= r.lo) {
      r.lo = std::min(r.lo, now.lo);
      r.hi = std::max(r.hi, now.hi);
      r.epoch = now.epoch;
      return;
    }
  }
  if (++gm_ranges_ <= kGmRangesMax) list.push_back(now);
}

}  // namespace evk::twin
