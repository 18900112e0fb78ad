// What Ascend C kernels include: the interface of Atlas A2 (arch 2201), each call becoming a record for the
// engine. Names and signatures follow the public documentation; docs/twin.md lists what is there.
#pragma once

#define __CCE_AICORE__ 220
#define __NPU_ARCH__ 2201
#define __DAV_C220_VEC__ 1

#define __aicore__
#define __global__ __attribute__((visibility("default")))
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __inout_pipe__(...)
#define __vector__
#define __cube__
#define __mix__(...)
#define __simd_vf__
#define __WORKGROUP__

#include "ascendc/activation.h"
#include "ascendc/cube.h"
#include "ascendc/launch.h"
#include "ascendc/not_there.h"

using GM_ADDR = std::uint8_t*;

namespace AscendC {

constexpr int AIV = 0, AIC = 1;

inline GM_ADDR GetUserWorkspace(GM_ADDR workspace) { return workspace + evk_twin_system_workspace_bytes(); }
template <typename T, typename U>
constexpr auto AlignUp(T value, U to) {
  return to == 0 ? value : (value + to - 1) / to * to;
}
inline void InitSocState() {}
inline GM_ADDR GetSysWorkSpacePtr() { return reinterpret_cast<GM_ADDR>(evk_twin_system_workspace()); }
inline void SetSysWorkspace(GM_ADDR) {}

// The type of the running core: compares with AIV and AIC.
struct CoreType {
  operator int() const { return static_cast<int>(evk_twin_block()->core_type); }
};
inline constexpr CoreType g_coreType{};

}  // namespace AscendC

#define ASCEND_IS_AIV (evk_twin_block()->core_type == 0)
#define ASCEND_IS_AIC (evk_twin_block()->core_type == 1)
using AscendC::g_coreType;

#include "register/tilingdata_base.h"

// `tiling` points to a copy of what the host wrote.
#define GET_TILING_DATA(name, tiling) \
  EvkTilingData name;                 \
  __builtin_memcpy(&name, (const void*)(tiling), sizeof(name))
#define GET_TILING_DATA_WITH_STRUCT(Type, name, tiling) \
  Type name;                                            \
  __builtin_memcpy(&name, (const void*)(tiling), sizeof(name))
#define TILING_KEY_IS(key) (evk_twin_tiling_key() == (key))
#define KERNEL_TYPE_AIV_ONLY 0
#define KERNEL_TYPE_AIC_ONLY 1
#define KERNEL_TYPE_MIX_AIV_1_0 2
#define KERNEL_TYPE_MIX_AIC_1_0 3
#define KERNEL_TYPE_MIX_AIC_1_1 4
#define KERNEL_TYPE_MIX_AIC_1_2 5
#define KERNEL_TASK_TYPE_DEFAULT(type) static_cast<void>(&::AscendC::evk_detail::DeclaredKind<type>::known)
#define KERNEL_TASK_TYPE(key, type) \
  static_cast<void>(&::AscendC::evk_detail::DeclaredKindOfKey<key, type>::known)
// Hides the registered types inside the function where it stands.
#define REGISTER_TILING_DEFAULT(Type) [[maybe_unused]] Type* (*evk_tiling_pick)(::EvkTilingRank<63>) = nullptr

#define ASSERT(condition)             \
  ((condition) ? static_cast<void>(0) \
               : evk_twin_assert_failed(#condition, evk_twin_location(__builtin_FILE(), __builtin_LINE())))
#undef assert
#define assert(condition, ...) ASSERT(condition)

namespace AscendC {
namespace evk_detail {
inline float printable(half v) { return v; }
inline float printable(bfloat16_t v) { return v; }
template <typename A>
A printable(A a) {
  return a;
}
}  // namespace evk_detail
template <typename... A>
void printf(const char* format, A... a) {
  evk_twin_say(format, evk_detail::printable(a)...);
}
template <typename... A>
void PRINTF(const char* format, A... a) {
  evk_twin_say(format, evk_detail::printable(a)...);
}
}  // namespace AscendC
using AscendC::PRINTF;
