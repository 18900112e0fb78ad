// The chip as tiling code sees it.
#pragma once

#include <cstdint>

#include "evk_host/context.h"

// Given by the runner.
extern "C" fe::PlatFormInfos* evk_twin_platform();

namespace platform_ascendc {

enum class CoreMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, RESERVED };
enum class SocVersion { ASCEND910 = 0, ASCEND910B = 1, ASCEND310P = 2, ASCEND310B = 3, ASCEND910_93 = 4 };
enum class ReservedSize { RESERVED_SIZE_8K = 8192, RESERVED_SIZE_16K = 16384, RESERVED_SIZE_32K = 32768 };

class PlatformAscendC {
 public:
  explicit PlatformAscendC(fe::PlatFormInfos* info) : info_(info) {}
  std::uint32_t GetCoreNum() const { return info_->aiv_cores; }
  std::uint32_t GetCoreNumAiv() const { return info_->aiv_cores; }
  std::uint32_t GetCoreNumAic() const { return info_->aic_cores; }
  void GetCoreMemSize(const CoreMemType& type, std::uint64_t& size) const {
    switch (type) {
      case CoreMemType::UB:
        size = info_->ub_bytes;
        return;
      case CoreMemType::L1:
        size = info_->l1_bytes - 256;  // as the device answers: the end is reserved
        return;
      case CoreMemType::L0_A:
        size = info_->l0a_bytes;
        return;
      case CoreMemType::L0_B:
        size = info_->l0b_bytes;
        return;
      case CoreMemType::L0_C:
        size = info_->l0c_bytes;
        return;
      case CoreMemType::L2:
        size = info_->l2_bytes;
        return;
      case CoreMemType::HBM:
        size = info_->hbm_bytes;
        return;
      default:
        size = 0;
    }
  }
  // Bytes per cycle, as the device answers.
  void GetCoreMemBw(const CoreMemType& type, std::uint64_t& bytes_per_cycle) const {
    bytes_per_cycle = type == CoreMemType::L2 ? 110 : type == CoreMemType::HBM ? 32 : 0;
  }
  // UB that the kernel leaves to the library: GetCoreMemSize answers less by it.
  void ReserveLocalMemory(ReservedSize size) {
    const auto bytes = static_cast<std::uint64_t>(size);
    info_->ub_bytes -= bytes < info_->ub_bytes ? bytes : 0;
  }
  std::uint32_t GetLibApiWorkSpaceSize() const { return 16u << 20; }
  std::uint32_t GetResCubeGroupWorkSpaceSize() const { return 1u << 20; }
  SocVersion GetSocVersion() const { return SocVersion::ASCEND910B; }
  std::uint32_t CalcTschBlockDim(std::uint32_t slices, std::uint32_t aic, std::uint32_t aiv) const {
    if (aic == 0 || aiv == 0 || aic >= aiv) return slices;
    const std::uint32_t ratio = aiv / aic;
    return slices > aiv ? 0 : (slices + ratio - 1) / ratio;
  }

 private:
  fe::PlatFormInfos* info_;
};

// The chip of the launch, for code that has no context.
class PlatformAscendCManager {
 public:
  static PlatformAscendC* GetInstance() {
    static PlatformAscendC chip(evk_twin_platform());
    return &chip;
  }
  static PlatformAscendC* GetInstance(const char*) { return GetInstance(); }
};

}  // namespace platform_ascendc
