#include "twin/program/type_macros.h"

#include <cctype>
#include <map>

namespace evk::twin {
namespace {

constexpr std::size_t kTensorsMax = 64, kNameMax = 64;

bool word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The first word behind `at` that begins with "DT_", within the braces that open there.
std::string first_type(std::string_view text, std::size_t at) {
  const auto open = text.find_first_not_of("( \n\t\r", at);
  if (open == std::string_view::npos || text[open] != '{') return "";
  const auto close = text.find('}', open);
  const auto begin = text.find("DT_", open);
  if (close == std::string_view::npos || begin == std::string_view::npos || begin > close) return "";
  auto end = begin;
  while (end < text.size() && word(text[end])) ++end;
  return std::string(text.substr(begin, end - begin));
}

}  // namespace

const std::pair<std::string, std::string>* device_type(std::string_view name) {
  static const std::map<std::string, std::pair<std::string, std::string>, std::less<>> types = [] {
    std::map<std::string, std::pair<std::string, std::string>, std::less<>> made;
    const auto add = [&](const char* type, const char* data_type, std::initializer_list<const char*> names) {
      made[data_type] = {type, data_type};
      for (const char* each : names) made[each] = {type, data_type};
    };
    add("float", "DT_FLOAT", {"float", "float32", "fp32"});
    add("half", "DT_FLOAT16", {"float16", "fp16", "half"});
    add("bfloat16_t", "DT_BF16", {"bfloat16", "bf16"});
    add("int8_t", "DT_INT8", {"int8"});
    add("uint8_t", "DT_UINT8", {"uint8"});
    add("int16_t", "DT_INT16", {"int16"});
    add("uint16_t", "DT_UINT16", {"uint16"});
    add("int32_t", "DT_INT32", {"int32", "int"});
    add("uint32_t", "DT_UINT32", {"uint32"});
    add("int64_t", "DT_INT64", {"int64"});
    add("uint64_t", "DT_UINT64", {"uint64"});
    add("bool", "DT_BOOL", {"bool"});
    return made;
  }();
  const auto at = types.find(name);
  return at == types.end() ? nullptr : &at->second;
}

std::vector<std::pair<std::string, std::string>> type_macros(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> macros;
  std::string tensor;  // of the Input or Output that was met last
  for (std::size_t at = 0; at < text.size() && macros.size() < 2 * kTensorsMax; ++at) {
    if (at > 0 && word(text[at - 1])) continue;
    for (const std::string_view call : {"Input(\"", "Output(\""}) {
      if (!text.substr(at).starts_with(call)) continue;
      const auto begin = at + call.size(), end = text.find('"', begin);
      tensor = end == std::string_view::npos || end - begin > kNameMax
                   ? ""
                   : std::string(text.substr(begin, end - begin));
    }
    if (tensor.empty() || !text.substr(at).starts_with("DataType(")) continue;
    if (const auto* type = device_type(first_type(text, at + 8))) {
      std::string name;
      for (const char c : tensor)
        name += word(c) ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : '_';
      macros.emplace_back("DTYPE_" + name, type->first);
      macros.emplace_back("ORIG_DTYPE_" + name, type->second);
    }
    tensor.clear();
  }
  return macros;
}

}  // namespace evk::twin
