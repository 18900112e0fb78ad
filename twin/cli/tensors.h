// Tensors on the command line: "f32:64x128:random", and what is printed of outputs.
#pragma once

#include <string>

#include "twin/engine/session.h"

namespace evk::twin {

// TYPE:SIZES[:random|:FILE]. An input gets contents: random values by default (of `seed`), or the bytes of
// FILE. Outputs, and inputs of timing-only runs, get none. The error says what is wrong with the text.
Result<LaunchTensor> parse_tensor(const std::string& text, const std::string& name, bool with_contents,
                                  std::uint64_t seed);

struct TensorSummary {
  std::uint64_t elements = 0, nans = 0, infinities = 0;
  double min = 0, max = 0, mean = 0;  // of finite elements
  std::vector<double> first;          // at most 6
};
// REQUIRES: `bytes` holds whole elements of `dtype`.
TensorSummary summarise(abi::DType dtype, const std::vector<std::byte>& bytes);

std::string type_name(abi::DType dtype);
// "64x128"
std::string sizes_text(const std::vector<std::int64_t>& shape);

}  // namespace evk::twin
