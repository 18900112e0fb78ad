// Direct launch: what `kernel<<<blocks, ub, stream>>>(arguments)` becomes, and what the host function of a
// direct-launch file is given.
#pragma once

#include "acl/acl.h"
#include "ascendc/port.h"

// Given by the runner: runs `invoke(closure)` once per block, and returns when all have ended.
// `kind` is an abi::KernelKind, or -1 if the function's declaration says nothing of it.
extern "C" void evk_twin_launch(std::uint32_t blocks, int kind, void (*invoke)(void*), void* closure);

namespace npu {

// A tensor of the launch. The address lies in GM: no host code may follow it.
struct Tensor {
  std::uint8_t* addr;
  std::int64_t size[8];
  std::int32_t rank;
  std::int32_t dtype;  // as ge::DataType counts them

  std::int64_t dim(int i) const { return i < 0 || i >= rank ? 1 : size[i]; }
  std::int64_t numel() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= size[i];
    return n;
  }
};

template <typename Kernel>
struct Launcher {
  std::uint32_t blocks;
  int kind;
  Kernel kernel;
  // Every block gets copies of the arguments, as on the device.
  template <typename... A>
  void operator()(A... a) const {
    auto call = [this, a...] { kernel(a...); };
    evk_twin_launch(
        blocks, kind, [](void* closure) { (*static_cast<decltype(call)*>(closure))(); }, &call);
  }
};

struct Configuration {
  std::uint32_t blocks;
  int kind;
  template <typename Kernel>
  Launcher<Kernel> run(Kernel kernel) const {
    return {blocks, kind, kernel};
  }
};

template <int kind = -1, typename Blocks, typename... Rest>
Configuration configure(Blocks blocks, Rest...) {
  return {static_cast<std::uint32_t>(blocks), kind};
}

}  // namespace npu
