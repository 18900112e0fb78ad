// How kernel-side calls reach the engine: functions that the runner exports, and the filling of records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "twin/abi/abi.h"

struct EvkTwinBlock {
  std::uint32_t block_idx, block_num, sub_block_idx, sub_block_num, core_type;  // core type 0 = AIV, 1 = AIC
  std::uint32_t counter_mask;                                                   // 1 after SetMaskCount
  void* pipe;                                                                   // the block's TPipe
  std::uint64_t mask[2];  // that SetVectorMask left: low, high
  // What SetFixpipeNz2ndFlag and SetFixpipePreQuantFlag left.
  std::uint32_t nd_num, src_nd_stride, dst_nd_stride;
  std::uint64_t quant_scale;
  std::uint16_t deq_scale = 0x3c00;  // that SetDeqScale left: bits of a half
};

extern "C" {
void evk_twin_emit(const evk::twin::abi::Record* record, const void* bulk, std::uint32_t bulk_bytes);
std::uint64_t evk_twin_ask(const evk::twin::abi::Record* record, const void* bulk, std::uint32_t bulk_bytes,
                           void* out, std::uint32_t out_bytes);
std::uint32_t evk_twin_location(const char* file, std::uint32_t line);
EvkTwinBlock* evk_twin_block();
[[noreturn]] void evk_twin_end_program();
std::uint16_t evk_twin_new_buffer();
std::uint16_t evk_twin_new_queue();
// `vectors_only` in a launch of cube and vector cores: the vector cores alone meet.
void evk_twin_sync_all(std::uint32_t loc, bool vectors_only);
// Flags between cores; the modes and channels of twin/abi/cross_core.h.
void evk_twin_cross_set(std::uint64_t mode, int pipe, std::uint64_t flag, std::uint32_t loc);
void evk_twin_cross_wait(std::uint64_t mode, std::uint64_t flag, std::uint32_t loc);
std::uint64_t evk_twin_tiling_key();
// The GM address where the library's own workspace begins; 0 if the launch has none.
std::uint64_t evk_twin_system_workspace();
// Bytes of the workspace that come before the kernel's own.
std::uint64_t evk_twin_system_workspace_bytes();
// Says which cores the kernel runs on (abi::KernelKind), when the program is loaded: declared by the kernel,
// or
// (`guess`) concluded from what it calls. The answer is always true.
bool evk_twin_kernel_kind(int kind, bool guess);
bool evk_twin_kernel_kind_of_key(std::uint64_t key, int kind);
void evk_twin_say(const char* format, ...);
[[noreturn]] void evk_twin_assert_failed(const char* what, std::uint32_t loc);
}

namespace AscendC {
namespace evk_detail {

namespace abi = evk::twin::abi;

// Where a call stands in the candidate's source; made by default arguments.
struct Loc {
  const char* file;
  int line;
  std::uint32_t id() const { return evk_twin_location(file, static_cast<std::uint32_t>(line)); }
};
#define EVK_LOC const char *evk_file = __builtin_FILE(), int evk_line = __builtin_LINE()
#define EVK_HERE \
  ::AscendC::evk_detail::Loc { evk_file, evk_line }

inline abi::Record record(abi::Op op, Loc loc) {
  abi::Record r;
  r.op = op;
  r.loc = loc.id();
  return r;
}
inline void emit(const abi::Record& r) { evk_twin_emit(&r, nullptr, 0); }
inline std::uint64_t ask(const abi::Record& r) { return evk_twin_ask(&r, nullptr, 0, nullptr, 0); }

template <typename T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  static_assert(sizeof(T) <= 8, "scalars of at most 8 bytes");
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <typename T>
T from_bits(std::uint64_t bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace evk_detail
}  // namespace AscendC
