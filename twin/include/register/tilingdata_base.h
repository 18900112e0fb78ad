// Tiling data: one plain struct that host and kernel share byte for byte. No standard library: kernels
// include it too.
//
// REGISTER_TILING_DATA_CLASS makes the class known to GET_TILING_DATA.
#pragma once

#include <cstddef>
#include <cstdint>

#include "evk_host/cube_tiling.h"

namespace evk_tiling {
inline void copy_bytes(void* to, const void* from, std::size_t n) { __builtin_memcpy(to, from, n); }
}  // namespace evk_tiling

#define BEGIN_TILING_DATA_DEF(Class) \
  struct Class {                     \
    using EvkSelf = Class;

#define TILING_DATA_FIELD_DEF(type, name)       \
  type name = {};                               \
  void set_##name(type value) { name = value; } \
  type get_##name() const { return name; }

#define TILING_DATA_FIELD_DEF_ARR(type, count, name)                                          \
  type name[count] = {};                                                                      \
  void set_##name(const type* values) { evk_tiling::copy_bytes(name, values, sizeof(name)); } \
  type* get_##name() { return name; }

#define TILING_DATA_FIELD_DEF_STRUCT(Type, name) Type name;

#define END_TILING_DATA_DEF                                                               \
  void SaveToBuffer(void* data, std::size_t capacity) const {                             \
    if (capacity >= sizeof(EvkSelf)) evk_tiling::copy_bytes(data, this, sizeof(EvkSelf)); \
  }                                                                                       \
  std::size_t GetDataSize() const { return sizeof(EvkSelf); }                             \
  }

// A source may register several classes, such as those of nested structs: the last one is the operator's.
// Each registration declares a function of a higher rank, and overload resolution finds the highest. In the
// global namespace and in optiling.
template <int rank>
struct EvkTilingRank : EvkTilingRank<rank - 1> {};
template <>
struct EvkTilingRank<-1> {};
template <class T>
struct EvkTilingTarget;
template <class T>
struct EvkTilingTarget<T*> {
  using type = T;
};
namespace optiling {}
using namespace optiling;

#define REGISTER_TILING_DATA_CLASS(Op, Class) EVK_TILING_DECLARE(Class, __COUNTER__)
#define EVK_TILING_DECLARE(Class, rank) Class* evk_tiling_pick(::EvkTilingRank<rank>);
// The class registered last.
#define EvkTilingData EvkTilingTarget<decltype(evk_tiling_pick(::EvkTilingRank<63>{}))>::type
