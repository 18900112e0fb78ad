#include "core/dtype.h"

#include <array>
#include <utility>

#include "base/check.h"

namespace evk {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<Row, 10> kRows = {{{DType::kFloat32, "float32", 4},
                                        {DType::kFloat16, "float16", 2},
                                        {DType::kBFloat16, "bfloat16", 2},
                                        {DType::kFloat64, "float64", 8},
                                        {DType::kInt8, "int8", 1},
                                        {DType::kUInt8, "uint8", 1},
                                        {DType::kInt16, "int16", 2},
                                        {DType::kInt32, "int32", 4},
                                        {DType::kInt64, "int64", 8},
                                        {DType::kBool, "bool", 1}}};

const Row& row(DType dtype) {
  for (const Row& r : kRows)
    if (r.dtype == dtype) return r;
  check_failed(__FILE__, __LINE__, "dtype is in the table", "");
}

}  // namespace

std::string_view name_of(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (const Row& r : kRows)
    if (r.name == name) return r.dtype;
  return std::nullopt;
}

std::int64_t bytes_of(DType dtype) { return row(dtype).bytes; }

}  // namespace evk
