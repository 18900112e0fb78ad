// The names that the vendor's build gives a kernel for the types of its operator's tensors: DTYPE_X is the
// C++ type of tensor x, ORIG_DTYPE_X its DataType, FORMAT_X its format.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evk::twin {

// {name, value} of every macro, read off the registration in the text of op_host sources: the first type that
// each Input(...) and Output(...) lists. A tensor whose types are no literal list has none.
std::vector<std::pair<std::string, std::string>> type_macros(std::string_view host_text);

// {C++ type, DataType} of "DT_FLOAT16" or of the project description's "float16"; null if there is none.
const std::pair<std::string, std::string>* device_type(std::string_view name);

}  // namespace evk::twin
