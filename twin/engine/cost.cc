#include "twin/engine/cost.h"

#include <algorithm>

namespace evk::twin {

CostModel::CostModel(const Device& device, std::uint32_t blocks)
    : device_(device),
      head_(device.at("v.head_cycles")),
      simple_(device.at("v.simple_cycles_per_repeat")),
      divide_(device.at("v.divide_cycles_per_repeat")),
      transcendental_(device.at("v.transcendental_cycles_per_repeat")),
      whole_reduce_(device.at("v.whole_reduce_cycles_per_repeat")),
      gather_(device.at("v.gather_cycles_per_repeat")),
      issue_(device.at("s.issue_cycles")),
      burst_min_(device.at("mte2.burst_min_bytes")) {
  const double active = std::clamp<double>(blocks, 1, device.aiv_cores);
  load_rate_ = std::min(device.at("mte2.bytes_per_cycle"), device.at("gm.read_bytes_per_cycle") / active);
  store_rate_ = std::min(device.at("mte3.bytes_per_cycle"), device.at("gm.write_bytes_per_cycle") / active);
}

double CostModel::vector_cycles(abi::Op op, std::uint64_t repeats) const {
  double per_repeat = simple_;
  switch (op) {
    case abi::Op::kDiv:
    case abi::Op::kReciprocal:
      per_repeat = divide_;
      break;
    case abi::Op::kExp:
    case abi::Op::kLn:
    case abi::Op::kSqrt:
    case abi::Op::kRsqrt:
      per_repeat = transcendental_;
      break;
    case abi::Op::kReduceSum:
    case abi::Op::kReduceMax:
    case abi::Op::kReduceMin:
    case abi::Op::kWholeReduceSum:
    case abi::Op::kWholeReduceMax:
    case abi::Op::kWholeReduceMin:
      per_repeat = whole_reduce_;
      break;
    case abi::Op::kGather:
      per_repeat = gather_;
      break;
    default:
      break;
  }
  return head_ + static_cast<double>(repeats) * per_repeat;
}

double CostModel::bank_cycles(std::uint64_t dst, std::uint64_t src0, std::uint64_t src1, bool two_sources,
                              std::uint64_t repeats) const {
  // A repeat touches eight neighbouring 32-byte blocks: windows of eight among sixteen bank groups.
  const auto group = [](std::uint64_t a) { return a / 32 % 16; };
  const auto chunk = [](std::uint64_t a) { return a / 65536; };
  const auto overlap = [&](std::uint64_t a, std::uint64_t b) {
    const std::uint64_t apart = (group(a) + 16 - group(b)) % 16;
    return apart < 8 || apart > 8;
  };
  double per_repeat = 0;
  if (two_sources && src0 != src1 && overlap(src0, src1)) per_repeat += device_.at("v.bank_read_read_cycles");
  const auto read_write = [&](std::uint64_t src) {
    return chunk(src) == chunk(dst) && group(src) != group(dst) && overlap(src, dst);
  };
  if (read_write(src0) || (two_sources && read_write(src1)))
    per_repeat += device_.at("v.bank_read_write_cycles");
  return per_repeat * static_cast<double>(repeats);
}

double CostModel::dma(double head, double rate, std::uint64_t pieces, std::uint64_t bytes) const {
  // A piece below the smallest burst costs as one of half that size at least: the bus moves whole bursts.
  const double moved = bytes == 0 ? 0
                                  : std::max(static_cast<double>(bytes),
                                             std::min(burst_min_ / 2, 8 * static_cast<double>(bytes)));
  return head + static_cast<double>(pieces) * moved / rate;
}

double CostModel::load_cycles(std::uint64_t pieces, std::uint64_t bytes) const {
  return dma(device_.at("mte2.head_cycles"), load_rate_, pieces, bytes);
}
double CostModel::store_cycles(std::uint64_t pieces, std::uint64_t bytes) const {
  return dma(device_.at("mte3.head_cycles"), store_rate_, pieces, bytes);
}

}  // namespace evk::twin
