#include "twin/engine/cost.h"

#include <algorithm>
#include <array>

namespace evk::twin {
namespace {

using abi::DType;
using abi::Op;

constexpr std::uint64_t kGroups = 16, kChunkBlocks = 65536 / 32;

std::uint64_t block_of(const Walk& w, std::uint64_t repeat, std::uint64_t i) {
  return w.addr / 32 + repeat * w.repeat_stride + i * w.block_stride;
}
// A stride of zero reads its block once.
std::uint64_t blocks_in(const Walk& w) { return w.block_stride == 0 ? 1 : 8; }

}  // namespace

CostModel::CostModel(const Device& device, std::uint32_t blocks, abi::KernelKind kind) {
  const auto at = [&](const char* name) { return device.at(name); };
  issue = at("s.issue_cycles"), block = at("s.block_cycles"), queue = at("s.queue_cycles");
  ub_load = at("s.ub_load_cycles"), ub_store = at("s.ub_store_cycles");
  gm_hit = at("s.gm_hit_cycles"), gm_miss = at("s.gm_miss_cycles");
  flag = at("s.flag_cycles"), mask = at("v.mask_cycles"), vector_tail = at("v.tail_cycles");
  load_latency = at("mte2.latency_cycles"), store_latency = at("mte3.latency_cycles");
  block_start = at("launch.block_start_cycles"), sync_all = at("launch.sync_all_cycles");
  cross_flag = at("s.cross_flag_cycles");

  const double head = at("v.head_cycles"), transcendental = at("v.transcendental_cycles_per_repeat");
  simple_ = {head, at("v.simple_cycles_per_repeat")};
  three_ = {head, at("v.three_source_cycles_per_repeat")};
  divide_ = {at("v.divide_head_cycles"), at("v.divide_cycles_per_repeat")};
  divide_half_ = {at("v.divide_head_cycles"), at("v.divide_half_cycles_per_repeat")};
  exp_ = {at("v.exp_head_cycles"), transcendental};
  ln_ = {at("v.ln_head_cycles"), transcendental};
  sqrt_ = {at("v.sqrt_head_cycles"), transcendental};
  rsqrt_ = {at("v.rsqrt_head_cycles"), at("v.rsqrt_cycles_per_repeat")};
  half_factor_ = at("v.transcendental_half_factor");
  compare_ = {at("v.compare_head_cycles"), at("v.compare_cycles_per_repeat")};
  select_ = {at("v.select_head_cycles"), at("v.compare_cycles_per_repeat")};
  whole_ = {at("v.whole_reduce_head_cycles"), at("v.whole_reduce_cycles_per_repeat")};
  group_ = {at("v.block_reduce_head_cycles"), at("v.block_reduce_cycles_per_repeat")};
  gather_ = {head, at("v.gather_cycles_per_repeat")};
  gather_mask_ = {at("v.gather_mask_head_cycles"), at("v.gather_mask_cycles_per_repeat")};
  read_read_ = at("v.bank_read_read_cycles"), read_write_ = at("v.bank_read_write_cycles"),
  broadcast_ = at("v.bank_broadcast_cycles");

  // GM is shared by the cores that mostly move: those of the cube, if the kernel has them.
  const bool cube = abi::has_aic(kind);
  const double active = std::clamp<double>(blocks, 1, cube ? device.aic_cores : device.aiv_cores);
  mmad_head_ = at("m.head_cycles"), load_head_ = at("mte1.head_cycles");
  l0a_rate_ = at("mte1.l0a_bytes_per_cycle"), l0b_rate_ = at("mte1.l0b_bytes_per_cycle"),
  bt_rate_ = at("mte1.bt_bytes_per_cycle");
  fix_head_ = at("fix.head_cycles"), fix_elements_ = at("fix.elements_per_cycle");
  fix_rate_ = std::min(at("fix.bytes_per_cycle"), at("gm.write_bytes_per_cycle") / active);
  load_issue_ = at("mte2.issue_cycles"), store_issue_ = at("mte3.issue_cycles"), row_ = at("mte2.row_cycles");
  load_rate_ = std::min(at(cube ? "mte2.cube_bytes_per_cycle" : "mte2.bytes_per_cycle"),
                        at("gm.read_bytes_per_cycle") / active);
  load_cached_rate_ = std::min(at(cube ? "mte2.cube_cached_bytes_per_cycle" : "mte2.cached_bytes_per_cycle"),
                               at("gm.total_bytes_per_cycle") / active);
  store_rate_ = std::min(at("mte3.bytes_per_cycle"), at("gm.write_bytes_per_cycle") / active);
  sector_ = static_cast<std::uint64_t>(at("gm.sector_bytes")),
  line_ = static_cast<std::uint64_t>(at("gm.line_bytes"));
  l2_share_bytes_ = static_cast<std::uint64_t>(at("memory.l2_bytes") / active);
}

VectorCost CostModel::vector(Op op, DType dtype) const {
  const bool half = dtype == DType::kF16;
  const auto by_type = [&](VectorCost c) {
    return half ? VectorCost{c.head, c.per_repeat * half_factor_} : c;
  };
  switch (op) {
    case Op::kDiv:
      return half ? divide_half_ : divide_;
    case Op::kExp:
      return by_type(exp_);
    case Op::kLn:
      return by_type(ln_);
    case Op::kSqrt:
      return by_type(sqrt_);
    case Op::kRsqrt:
    case Op::kReciprocal:
      return by_type(rsqrt_);
    case Op::kCompare:
    case Op::kCompareScalar:
      return compare_;
    case Op::kSelect:
      return select_;
    case Op::kAxpy:
    case Op::kMulAddDst:
    case Op::kFusedMulAdd:
    case Op::kFusedMulAddRelu:
      return three_;
    case Op::kReduceSum:
    case Op::kReduceMax:
    case Op::kReduceMin:
    case Op::kWholeReduceSum:
    case Op::kWholeReduceMax:
    case Op::kWholeReduceMin:
      return whole_;
    case Op::kBlockReduceSum:
    case Op::kBlockReduceMax:
    case Op::kBlockReduceMin:
    case Op::kPairReduceSum:
      return group_;
    case Op::kGather:
      return gather_;
    case Op::kGatherMask:
      return gather_mask_;
    default:
      return simple_;
  }
}

double CostModel::bank_cycles_of_repeat(const Walk& dst, const Walk* source, int sources,
                                        std::uint64_t repeat) const {
  std::array<int, kGroups> reads{}, writes{};
  bool broadcast = false, read_write = false;
  for (int s = 0; s < sources; ++s) {
    if (s == 1 && source[1] == source[0]) break;  // one read serves both
    broadcast = broadcast || source[s].block_stride == 0;
    for (std::uint64_t i = 0; i < blocks_in(source[s]); ++i)
      ++reads[block_of(source[s], repeat, i) % kGroups];
  }
  for (std::uint64_t i = 0; i < blocks_in(dst); ++i) ++writes[block_of(dst, repeat, i) % kGroups];
  for (int s = 0; s < sources && !read_write; ++s) {
    const std::uint64_t from = block_of(source[s], repeat, 0), to = block_of(dst, repeat, 0);
    // Equal starts are free: the hardware writes one repeat later than it reads.
    if (from % kGroups == to % kGroups || from / kChunkBlocks != to / kChunkBlocks) continue;
    for (std::uint64_t i = 0; i < blocks_in(source[s]); ++i)
      read_write = read_write || writes[block_of(source[s], repeat, i) % kGroups] > 0;
  }
  const int most_reads = *std::max_element(reads.begin(), reads.end()),
            most_writes = *std::max_element(writes.begin(), writes.end());
  const double extra_reads =
      most_reads == 2 && broadcast ? broadcast_ : std::max(0, most_reads - 1) * read_read_;
  return std::max<double>(extra_reads, std::max(0, most_writes - 1)) + (read_write ? read_write_ : 0);
}

double CostModel::bank_cycles(const Walk& dst, const Walk* source, int sources, std::uint64_t repeats) const {
  if (repeats == 0) return 0;
  // The pattern repeats after 16 repeats at most; after two if all operands advance by eight blocks.
  const auto plain = [](const Walk& w) { return w.repeat_stride % 8 == 0 && w.block_stride <= 1; };
  bool simple = plain(dst);
  for (int s = 0; s < sources; ++s) simple = simple && plain(source[s]);
  const std::uint64_t period = std::min<std::uint64_t>(repeats, simple ? 2 : kGroups);
  double sum = 0;
  for (std::uint64_t k = 0; k < period; ++k) sum += bank_cycles_of_repeat(dst, source, sources, k);
  return sum * static_cast<double>(repeats) / static_cast<double>(period);
}

std::uint64_t CostModel::bus_bytes(std::uint64_t addr, std::uint64_t bytes) const {
  if (bytes == 0) return 0;
  const bool crosses = addr / line_ != (addr + bytes - 1) / line_;
  const std::uint64_t unit = crosses && addr % line_ != 0 ? line_ : sector_;
  return (addr + bytes + unit - 1) / unit * unit - addr / unit * unit;
}

double CostModel::load_cycles(std::uint64_t rows, double hbm_bytes, double cached_bytes) const {
  return load_issue_ + static_cast<double>(rows - 1) * row_ + hbm_bytes / load_rate_ +
         cached_bytes / load_cached_rate_;
}

double CostModel::mmad_cycles(DType dtype, std::uint64_t m, std::uint64_t n, std::uint64_t k) const {
  const auto up = [](std::uint64_t value, std::uint64_t size) { return (value + size - 1) / size; };
  const std::uint64_t deep = dtype == DType::kF32  ? up(k, 16) * 4
                             : dtype == DType::kI8 ? up(k, 32)
                                                   : up(k, 16);
  return mmad_head_ + static_cast<double>(up(m, 16) * up(n, 16) * deep);
}

double CostModel::cube_load_cycles(abi::Space to, std::uint64_t bytes) const {
  const double rate = to == abi::Space::kL0A ? l0a_rate_ : to == abi::Space::kL0B ? l0b_rate_ : bt_rate_;
  return load_head_ + static_cast<double>(bytes) / rate;
}

double CostModel::fixpipe_cycles(std::uint64_t elements, double bus_bytes) const {
  return fix_head_ + std::max(static_cast<double>(elements) / fix_elements_, bus_bytes / fix_rate_);
}

double CostModel::store_cycles(std::uint64_t rows, double bytes) const {
  return store_issue_ + static_cast<double>(rows - 1) * row_ + bytes / store_rate_;
}

}  // namespace evk::twin
