// Element types of tensors, under the names that PyTorch and the task packs use.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace evk {

// Values reach disk by name, never by number.
enum class DType { kFloat32, kFloat16, kBFloat16, kFloat64, kInt8, kUInt8, kInt16, kInt32, kInt64, kBool };

std::string_view name_of(DType dtype);  // "float32", "bool", ...
std::optional<DType> dtype_named(std::string_view name);
std::int64_t bytes_of(DType dtype);
inline bool is_floating(DType t) {
  return t == DType::kFloat32 || t == DType::kFloat16 || t == DType::kBFloat16 || t == DType::kFloat64;
}

}  // namespace evk
