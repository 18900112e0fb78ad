#include "backend/foreign_adaptor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

namespace evk {
namespace {

using nlohmann::json;

bool plain_name(const std::string& name) {
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

// Every character by number: no text can end the literal.
std::string literal(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  return out + "\"";
}

std::string real_literal(double v) {
  if (std::isnan(v)) return "std::numeric_limits<double>::quiet_NaN()";
  if (std::isinf(v))
    return v < 0 ? "-std::numeric_limits<double>::infinity()" : "std::numeric_limits<double>::infinity()";
  return fmt::format("{:a}", v);
}

std::string integer_literal(std::int64_t v) {
  return v == INT64_MIN ? "INT64_MIN" : fmt::format("INT64_C({})", v);
}

template <typename T, typename Write>
std::string list_of(const json& values, const Write& write) {
  std::string out;
  for (const json& each : values) out += (out.empty() ? "" : ", ") + write(each.get<T>());
  return "{" + out + "}";
}

std::optional<std::string> argument(const json& a, const std::function<int(const json&)>& number_of) {
  if (!a.is_object() || a.size() != 1) return std::nullopt;
  const std::string kind = a.begin().key();
  const json& value = a.begin().value();
  const auto every = [&](auto fits) {
    return value.is_array() && value.size() <= 64 && std::all_of(value.begin(), value.end(), fits);
  };
  if (kind == "none") return "Argument{}";
  if (kind == "tensor") {
    const int number = number_of(value);
    if (number < 0) return std::nullopt;
    return fmt::format("Argument::of(run.input({}))", number);
  }
  if (kind == "flag" && value.is_boolean())
    return fmt::format("Argument::of_integer({}, Argument::Kind::kFlag)", value.get<bool>() ? 1 : 0);
  if (kind == "integer" && value.is_number_integer())
    return fmt::format("Argument::of_integer({})", integer_literal(value.get<std::int64_t>()));
  if (kind == "real" && value.is_number())
    return fmt::format("Argument::of_real({})", real_literal(value.get<double>()));
  if (kind == "text" && value.is_string() && value.get_ref<const std::string&>().size() <= 4096)
    return fmt::format("Argument::of_text({})", literal(value.get<std::string>()));
  if (kind == "integers" && every([](const json& v) { return v.is_number_integer(); }))
    return "Argument::of_integers(" + list_of<std::int64_t>(value, integer_literal) + ")";
  if (kind == "reals" && every([](const json& v) { return v.is_number(); }))
    return "Argument::of_reals(" + list_of<double>(value, real_literal) + ")";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> adaptor_source(const json& call,
                                          const std::function<int(const json&)>& number_of) {
  if (!call.is_object() || !call.contains("function") || !call["function"].is_string() ||
      !call.contains("arguments") || !call["arguments"].is_array() || call["arguments"].size() > 64)
    return std::nullopt;
  const std::string function = call["function"];
  if (!plain_name(function)) return std::nullopt;
  std::string arguments;
  for (const json& each : call["arguments"]) {
    const auto text = argument(each, number_of);
    if (!text) return std::nullopt;
    arguments += (arguments.empty() ? "" : ", ") + *text;
  }
  std::string source = fmt::format(
      "#include \"evk_host/torch_bridge.h\"\n"
      "namespace {{\nusing evk_bridge::Argument;\n"
      "void call(int wanted, const npu::Tensor* inputs, const npu::Tensor* outputs) {{\n"
      "  evk_bridge::Run run(wanted, inputs, outputs);\n"
      "  run.call(\"{}\", {{{}}});\n}}\n}}  // namespace\n"
      "extern \"C\" void launch_evk_plan(const npu::Tensor* i, const npu::Tensor* o, aclrtStream) "
      "{{ call(EVK_TWIN_BRIDGE_PLAN, i, o); }}\n",
      function, arguments);
  for (int k = 0; k < kLaunchesMax; ++k)
    source += fmt::format(
        "extern \"C\" void launch_evk_{}(const npu::Tensor* i, const npu::Tensor* o, aclrtStream) {{ "
        "call({}, i, o); }}\n",
        k, k);
  return source;
}

}  // namespace evk
