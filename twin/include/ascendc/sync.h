// Flags, barriers, events, core identity.
#pragma once

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
  V_V = 0x11,
  V_MTE2 = 0x14,
  V_MTE3 = 0x15,
  M_MTE1 = 0x23,
  M_V = 0x21,
  M_FIX = 0x26,
  MTE1_M = 0x32,
  MTE1_MTE2 = 0x34,
  MTE2_S = 0x40,
  MTE2_V = 0x41,
  MTE2_MTE1 = 0x43,
  MTE2_MTE3 = 0x45,
  MTE3_S = 0x50,
  MTE3_V = 0x51,
  MTE3_MTE2 = 0x54,
  FIX_M = 0x62,
  FIX_S = 0x60,
  FIX_MTE2 = 0x64,
  FIX_V = 0x61
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
  evk_detail::barrier(pipe, EVK_HERE);
}

inline std::int64_t GetBlockIdx() { return evk_twin_block()->block_idx; }
inline std::int64_t GetBlockNum() { return evk_twin_block()->block_num; }
inline std::int64_t GetSubBlockIdx() { return evk_twin_block()->sub_block_idx; }
inline std::int64_t GetSubBlockNum() { return evk_twin_block()->sub_block_num; }
inline std::int64_t GetTaskRation() { return 1; }

inline void SyncAll(EVK_LOC) {
  evk_twin_sync_all(EVK_HERE.id());
}
template <bool IsAIVOnly>
void SyncAll(EVK_LOC) {
  evk_twin_sync_all(EVK_HERE.id());
}

inline std::int64_t GetSystemCycle(EVK_LOC) {
  return static_cast<std::int64_t>(
      evk_detail::ask(evk_detail::record(evk_detail::abi::Op::kGetCycle, EVK_HERE)));
}

enum class CacheLine : std::uint8_t { SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE };
enum class DcciDst : std::uint8_t { CACHELINE_ALL = 0, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
template <typename T, CacheLine entire = CacheLine::SINGLE_CACHE_LINE, DcciDst dst = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const GlobalTensor<T>& tensor, EVK_LOC) {
  evk_detail::abi::Record r = evk_detail::record(evk_detail::abi::Op::kDataCache, EVK_HERE);
  r.operands = 1;
  r.operand[0] = tensor.operand();
  evk_detail::emit(r);
}

template <typename T>
void SetAtomicAdd(EVK_LOC) {
  evk_detail::abi::Record r = evk_detail::record(evk_detail::abi::Op::kSetAtomic, EVK_HERE);
  r.a[0] = 1;
  r.mode = static_cast<std::uint16_t>(evk_detail::TypeOf<T>::value);
  evk_detail::emit(r);
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
