// Flags, barriers, events, core identity.
#pragma once

#include "ascendc/params.h"
#include "ascendc/tensors.h"

enum pipe_t : int { PIPE_S = 0, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_FIX, PIPE_ALL };
enum event_t : int {
  EVENT_ID0 = 0,
  EVENT_ID1,
  EVENT_ID2,
  EVENT_ID3,
  EVENT_ID4,
  EVENT_ID5,
  EVENT_ID6,
  EVENT_ID7
};

namespace AscendC {

using TEventID = std::int8_t;

// source * 16 + destination
enum class HardEvent : std::uint8_t {
  S_V = 0x01,
  S_MTE2 = 0x04,
  S_MTE3 = 0x05,
  V_S = 0x10,
  V_MTE2 = 0x14,
  V_MTE3 = 0x15,
  MTE2_S = 0x40,
  MTE2_V = 0x41,
  MTE2_MTE3 = 0x45,
  MTE3_S = 0x50,
  MTE3_V = 0x51,
  MTE3_MTE2 = 0x54,
  V_V = 0x11,
  MTE2_MTE2 = 0x44,
  MTE3_MTE3 = 0x55,
  M_MTE1 = 0x23,
  MTE1_M = 0x32,
  M_MTE2 = 0x24,
  MTE2_M = 0x42,
  M_FIX = 0x26,
  FIX_M = 0x62,
  MTE1_MTE2 = 0x34,
  MTE2_MTE1 = 0x43,
  MTE1_MTE3 = 0x35,
  MTE3_MTE1 = 0x53,
  MTE1_FIX = 0x36,
  FIX_MTE1 = 0x63,
  M_V = 0x21,
  V_M = 0x12,
  M_S = 0x20,
  S_M = 0x02,
  FIX_S = 0x60,
  S_FIX = 0x06,
  FIX_MTE2 = 0x64,
  MTE2_FIX = 0x46,
  FIX_MTE3 = 0x65,
  MTE3_FIX = 0x56,
  FIX_V = 0x61,
  MTE1_V = 0x31
};

namespace evk_detail {

inline void flag(abi::Op op, int source, int destination, int id, Loc loc) {
  abi::Record r = record(op, loc);
  r.a[0] = static_cast<std::uint64_t>(source);
  r.a[1] = static_cast<std::uint64_t>(destination);
  r.a[2] = static_cast<std::uint64_t>(id);
  emit(r);
}
inline void barrier(int pipe, Loc loc) {
  abi::Record r = record(abi::Op::kPipeBarrier, loc);
  r.a[0] = static_cast<std::uint64_t>(pipe);
  emit(r);
}

}  // namespace evk_detail

template <HardEvent event>
void SetFlag(std::int32_t id, EVK_LOC) {
  evk_detail::flag(evk_detail::abi::Op::kSetFlag, static_cast<int>(event) >> 4, static_cast<int>(event) & 15,
                   id, EVK_HERE);
}
template <HardEvent event>
void WaitFlag(std::int32_t id, EVK_LOC) {
  evk_detail::flag(evk_detail::abi::Op::kWaitFlag, static_cast<int>(event) >> 4, static_cast<int>(event) & 15,
                   id, EVK_HERE);
}
template <pipe_t pipe>
void PipeBarrier(EVK_LOC) {
  static_assert(pipe != PIPE_S, "PipeBarrier: PIPE_S is not a valid argument");
  evk_detail::barrier(pipe, EVK_HERE);
}

inline std::int64_t GetBlockIdx() { return evk_twin_block()->block_idx; }
inline std::int64_t GetBlockNum() { return evk_twin_block()->block_num; }
inline std::int64_t GetSubBlockIdx() { return evk_twin_block()->sub_block_idx; }
inline std::int64_t GetSubBlockNum() { return evk_twin_block()->sub_block_num; }
// Vector cores to a cube core.
inline std::int64_t GetTaskRation() { return evk_twin_block()->sub_block_num; }
inline std::int64_t GetTaskRatio() { return GetTaskRation(); }
constexpr std::int16_t GetDataBlockSizeInBytes() { return 32; }

// Of the vector cores, or of all cores where a kernel has both.
template <bool isAIVOnly = true>
void SyncAll(EVK_LOC) {
  evk_twin_sync_all(EVK_HERE.id(), isAIVOnly);
}

// The form that synchronises through memory: the twin synchronises all blocks all the same.
template <bool isAIVOnly = true, typename T>
void SyncAll(const GlobalTensor<T>&, const LocalTensor<T>&, std::int32_t = 0, EVK_LOC) {
  evk_twin_sync_all(EVK_HERE.id(), isAIVOnly);
}

// Flags between the cores of a launch.
template <std::uint8_t mode, pipe_t pipe>
void CrossCoreSetFlag(std::uint16_t flag, EVK_LOC) {
  static_assert(mode <= 2, "CrossCoreSetFlag: modes are 0, 1 and 2");
  evk_twin_cross_set(mode, pipe, flag, EVK_HERE.id());
}
template <std::uint8_t mode = 0, pipe_t pipe = PIPE_S>
void CrossCoreWaitFlag(std::uint16_t flag, EVK_LOC) {
  evk_twin_cross_wait(0, flag, EVK_HERE.id());
}

namespace evk_detail {
// A block's event that others wait for.
constexpr std::uint64_t block_channel(std::int32_t block, std::int32_t event) {
  return 1ull << 40 | static_cast<std::uint64_t>(static_cast<std::uint32_t>(block)) << 8 |
         static_cast<std::uint64_t>(event & 0xff);
}
}  // namespace evk_detail
// IBSet tells that the calling block has come to `event`; IBWait waits until `block` has. The memory that
// they take is not used. IBSet waits for all pipes of its core first.
template <bool isAIVOnly = true, typename T, typename U>
void IBSet(const GlobalTensor<T>&, const LocalTensor<U>&, std::int32_t block, std::int32_t event, EVK_LOC) {
  evk_detail::barrier(PIPE_ALL, EVK_HERE);
  evk_twin_cross_set(evk_detail::abi::kChannelMode, PIPE_MTE3, evk_detail::block_channel(block, event),
                     EVK_HERE.id());
}
template <bool isAIVOnly = true, typename T, typename U>
void IBWait(const GlobalTensor<T>&, const LocalTensor<U>&, std::int32_t block, std::int32_t event, EVK_LOC) {
  evk_twin_cross_wait(evk_detail::abi::kChannelMode, evk_detail::block_channel(block, event), EVK_HERE.id());
}

inline std::int64_t GetSystemCycle(EVK_LOC) {
  return static_cast<std::int64_t>(
      evk_detail::ask(evk_detail::record(evk_detail::abi::Op::kGetCycle, EVK_HERE)));
}

template <typename T, CacheLine entire = CacheLine::SINGLE_CACHE_LINE, DcciDst dst = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const GlobalTensor<T>& tensor, EVK_LOC) {
  evk_detail::abi::Record r = evk_detail::record(evk_detail::abi::Op::kDataCache, EVK_HERE);
  r.operands = 1;
  r.operand[0] = tensor.operand();
  evk_detail::emit(r);
}

template <typename T, CacheLine entire = CacheLine::SINGLE_CACHE_LINE, DcciDst dst = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const LocalTensor<T>& tensor, EVK_LOC) {
  evk_detail::abi::Record r = evk_detail::record(evk_detail::abi::Op::kDataCache, EVK_HERE);
  r.operands = 1;
  r.operand[0] = tensor.operand();
  evk_detail::emit(r);
}

namespace evk_detail {
template <typename T>
void set_atomic(std::uint64_t kind, Loc loc) {
  static_assert(
      is_one_of<T, float, half, bfloat16_t, std::int8_t, std::int16_t, std::int32_t>,
      "SetAtomic: this data type is not supported on Atlas A2; supported: float, half, bfloat16_t, int8_t, "
      "int16_t, int32_t");
  abi::Record r = record(abi::Op::kSetAtomic, loc);
  r.a[0] = kind;
  r.mode = static_cast<std::uint16_t>(TypeOf<T>::value);
  emit(r);
}
}  // namespace evk_detail
template <typename T>
void SetAtomicAdd(EVK_LOC) {
  evk_detail::set_atomic<T>(1, EVK_HERE);
}
template <typename T>
void SetAtomicMax(EVK_LOC) {
  evk_detail::set_atomic<T>(2, EVK_HERE);
}
template <typename T>
void SetAtomicMin(EVK_LOC) {
  evk_detail::set_atomic<T>(3, EVK_HERE);
}
inline void SetAtomicNone(EVK_LOC) {
  evk_detail::emit(evk_detail::record(evk_detail::abi::Op::kSetAtomic, EVK_HERE));
}
inline void DisableDmaAtomic(EVK_LOC) {
  evk_detail::emit(evk_detail::record(evk_detail::abi::Op::kSetAtomic, EVK_HERE));
}

}  // namespace AscendC

inline void set_flag(pipe_t source, pipe_t destination, int id, EVK_LOC) {
  AscendC::evk_detail::flag(evk::twin::abi::Op::kSetFlag, source, destination, id, EVK_HERE);
}
inline void wait_flag(pipe_t source, pipe_t destination, int id, EVK_LOC) {
  AscendC::evk_detail::flag(evk::twin::abi::Op::kWaitFlag, source, destination, id, EVK_HERE);
}
inline void pipe_barrier(pipe_t pipe, EVK_LOC) { AscendC::evk_detail::barrier(pipe, EVK_HERE); }
