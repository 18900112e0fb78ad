#include "backend/foreign_candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "twin/program/type_macros.h"

namespace evk {
namespace {

using nlohmann::json;

constexpr std::size_t kBytesMax = 1 << 20, kFilesMax = 32;

tl::unexpected<Error> broken(const std::string& what, const std::string& remedy) {
  return failure(what + "; " + remedy, Retry::kAfterFix);
}

// "LayerNormCustom" -> "layer_norm_custom", as the project generator of the vendor's toolkit names files.
std::string snake_case(const std::string& type) {
  std::string name;
  for (std::size_t i = 0; i < type.size(); ++i) {
    const auto c = static_cast<unsigned char>(type[i]);
    const auto at = [&](std::size_t k) {
      return static_cast<unsigned char>(k < type.size() ? type[k] : '\0');
    };
    if (std::isupper(c) && i > 0 && (!std::isupper(at(i - 1)) || std::islower(at(i + 1)))) name += '_';
    name += static_cast<char>(std::tolower(c));
  }
  return name;
}

bool plain(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

const std::string* string_of(const ForeignStrings& strings, const std::string& name) {
  const auto at =
      std::find_if(strings.begin(), strings.end(), [&](const auto& s) { return s.first == name; });
  return at == strings.end() ? nullptr : &at->second;
}

// The operator types that the project's description lists, in order.
Result<std::vector<std::string>> operator_types(const std::string& text) {
  const json document = nests_at_most(text, 16) ? json::parse(text, nullptr, false) : json();
  std::vector<std::string> types;
  for (const json& op : document.is_array() ? document : json::array({document}))
    if (op.is_object() && op.contains("op") && op["op"].is_string() && plain(op["op"].get<std::string>()))
      types.push_back(op["op"].get<std::string>());
  if (types.empty())
    return broken("project_json_src lists no operator", "give a list of objects with \"op\": \"TypeName\"");
  return types;
}

// The vendor's build names the types of an operator's tensors to its kernel: DTYPE_X for tensor x.
std::string macro_text(const std::string& project) {
  const json document = json::parse(project, nullptr, false);
  std::string macros;
  for (const json& op : document.is_array() ? document : json::array({document})) {
    if (!op.is_object()) continue;
    for (const char* list : {"input_desc", "output_desc"})
      for (const json& each : op.value(list, json::array())) {
        if (!each.is_object() || !each.contains("name") || !each["name"].is_string()) continue;
        std::string name = each["name"];
        if (!plain(name)) continue;
        for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        const json types = each.value("type", json::array());
        const json& first = types.is_array() && !types.empty() ? types[0] : types;
        const auto* known = twin::device_type(first.is_string() ? first.get<std::string>() : "");
        if (known == nullptr) continue;
        macros +=
            fmt::format("#ifndef DTYPE_{0}\n#define DTYPE_{0} {1}\n#define ORIG_DTYPE_{0} {2}\n#endif\n",
                        name, known->first, known->second);
      }
  }
  return macros;
}

}  // namespace

Result<ForeignCandidate> read_six_strings(const ForeignStrings& strings) {
  for (const char* name : {"project_json_src", "host_tiling_src", "host_operator_src", "kernel_src",
                           "python_bind_src", "model_src"}) {
    const std::string* text = string_of(strings, name);
    if (text == nullptr)
      return broken(fmt::format("the candidate defines no string {}", name),
                    "a candidate of this form has six module-level strings");
    if (text->size() > kBytesMax) return broken(fmt::format("{} is larger than 1 MiB", name), "write less");
  }
  EVK_TRY(const auto types, operator_types(*string_of(strings, "project_json_src")));
  ForeignCandidate made;
  made.operator_name = snake_case(types.front());
  const std::string &op = made.operator_name, host = "op_host/" + op;
  made.kernels.files = {{host + ".cpp", *string_of(strings, "host_operator_src")},
                        {host + "_tiling.h", *string_of(strings, "host_tiling_src") + "\n" +
                                                 macro_text(*string_of(strings, "project_json_src"))},
                        {"op_kernel/" + op + ".cpp", *string_of(strings, "kernel_src")}};
  made.glue = {{"op_host/pybind.cpp", *string_of(strings, "python_bind_src")}};
  made.model = *string_of(strings, "model_src");
  made.entry = "ModelNew";
  made.modules = {"custom_ops_lib"};
  return made;
}

Result<ForeignCandidate> read_direct_launch(std::string_view json_text) {
  if (json_text.size() > 4 * kBytesMax) return broken("the candidate is larger than 4 MiB", "write less");
  const json document = nests_at_most(json_text, 16) ? json::parse(json_text, nullptr, false) : json();
  if (!document.is_object() || !document.contains("sources") || !document["sources"].is_array() ||
      document["sources"].size() > kFilesMax)
    return broken("the candidate is no JSON object with `sources`",
                  "give {\"entry\": {\"model\": ...}, \"sources\": [{\"path\", \"content\"}]}");
  const json& entry = document.value("entry", json::object());
  const std::string model =
      entry.is_object() && entry.contains("model") && entry["model"].is_string() ? entry["model"] : json("");
  const auto colons = model.find("::");
  if (colons == std::string::npos)
    return broken("`entry.model` names no class", "write it as \"FILE.py::CLASS\"");
  ForeignCandidate made;
  made.entry = model.substr(colons + 2);
  for (const json& source : document["sources"]) {
    if (!source.is_object() || !source.contains("path") || !source["path"].is_string() ||
        !source.contains("content") || !source["content"].is_string())
      return broken("an entry of `sources` has no path or content", "give both as strings");
    const std::string path = source["path"], text = source["content"];
    const std::string name = std::filesystem::path(path).filename();
    if (path == model.substr(0, colons)) made.model = text;
    if (name.ends_with(".py")) continue;
    if (name.ends_with(".h") || name.ends_with(".hpp")) {
      made.kernels.files.push_back({name, text});
      made.glue.push_back({"op_host/" + name, text});
    } else if (text.find("PYBIND11_MODULE") != std::string::npos) {
      made.glue.push_back({"op_host/" + name, text});
    } else {
      made.kernels.files.push_back({std::filesystem::path(name).stem().string() + ".asc", text});
      if (made.operator_name.empty()) made.operator_name = std::filesystem::path(name).stem();
    }
  }
  if (made.model.empty())
    return broken(fmt::format("`sources` does not hold {}", model.substr(0, colons)),
                  "add the file that `entry.model` names");
  if (made.operator_name.empty())
    return broken("`sources` holds no kernel", "add the .cpp file with the __global__ function");
  made.modules = {"benchmark_ops", "custom_ops_lib"};
  return made;
}

}  // namespace evk
