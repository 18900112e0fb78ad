#include "twin/program/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace evk::twin {
namespace {

template <std::size_t N>
void copy_text(char (&into)[N], const std::string& text) {
  std::strncpy(into, text.c_str(), N - 1);
  into[N - 1] = '\0';
}

Status describe_tensor(const LaunchTensor& t, std::uint64_t addr, TensorDescription& into) {
  if (t.shape.size() > kRankMax)
    return failure(
        fmt::format("tensor {} has rank {}; at most {} are possible", t.name, t.shape.size(), kRankMax));
  copy_text(into.name, t.name);
  into.dtype = t.dtype;
  into.rank = static_cast<std::uint32_t>(t.shape.size());
  std::copy(t.shape.begin(), t.shape.end(), into.size);
  into.gm_addr = addr;
  return {};
}

void describe_device(const Device& device, LaunchDescription& into) {
  copy_text(into.soc, device.soc);
  into.aiv_cores = static_cast<std::uint32_t>(device.aiv_cores);
  into.aic_cores = static_cast<std::uint32_t>(device.aic_cores);
  into.ub_bytes = device.ub_usable_bytes;
  into.l1_bytes = device.l1_bytes;
  into.l0a_bytes = device.l0a_bytes;
  into.l0b_bytes = device.l0b_bytes;
  into.l0c_bytes = device.l0c_bytes;
}

}  // namespace

Status describe(const Device& device, const Launch& launch, const Engine& engine, LaunchDescription& into) {
  if (launch.inputs.size() + launch.outputs.size() > kTensorsMax)
    return failure(fmt::format("{} tensors; at most {} are possible",
                               launch.inputs.size() + launch.outputs.size(), kTensorsMax));
  describe_device(device, into);
  copy_text(into.op, launch.op);
  into.inputs = static_cast<std::uint32_t>(launch.inputs.size());
  into.outputs = static_cast<std::uint32_t>(launch.outputs.size());
  for (std::size_t i = 0; i < launch.inputs.size(); ++i)
    EVK_TRY_STATUS(describe_tensor(launch.inputs[i], engine.input_addr(i), into.tensor[i]));
  for (std::size_t j = 0; j < launch.outputs.size(); ++j)
    EVK_TRY_STATUS(
        describe_tensor(launch.outputs[j], engine.output_addr(j), into.tensor[launch.inputs.size() + j]));
  into.order_size = static_cast<std::uint32_t>(std::min<std::size_t>(launch.block_order.size(), kOrderMax));
  std::copy_n(launch.block_order.begin(), into.order_size, into.order);
  into.tiling_only = launch.tiling_only;
  into.no_data = !launch.move_data;
  return {};
}

}  // namespace evk::twin
