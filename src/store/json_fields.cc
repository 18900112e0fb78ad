#include "store/json_fields.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace evk {
namespace {

using nlohmann::json;

// Runs `read` on the parsed text; any surprise in it is one Error.
template <typename T, typename Read>
Result<std::vector<T>> list_from(const std::string& text, const Read& read) {
  try {
    std::vector<T> list;
    for (const auto& entry : json::parse(text)) list.push_back(read(entry));
    return list;
  } catch (const std::exception& e) {
    return failure(fmt::format("store: damaged list: {}", e.what()));
  }
}

std::string dump(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

Choice choice_from(const json& j) { return {j.at(0).get<std::string>(), j.at(1).get<std::string>()}; }

}  // namespace

std::string facts_to_json(const std::vector<Fact>& facts) {
  json list = json::array();
  for (const auto& f : facts) list.push_back({f.choice.construct, f.choice.form, f.works});
  return dump(list);
}

Result<std::vector<Fact>> facts_from_json(const std::string& text) {
  return list_from<Fact>(text, [](const json& j) { return Fact{choice_from(j), j.at(2).get<bool>()}; });
}

std::string strings_to_json(const std::vector<std::string>& strings) { return dump(json(strings)); }

Result<std::vector<std::string>> strings_from_json(const std::string& text) {
  return list_from<std::string>(text, [](const json& j) { return j.get<std::string>(); });
}

std::string files_to_json(const std::vector<SourceFile>& files) {
  json list = json::array();
  for (const auto& f : files) list.push_back({f.path, f.text});
  return dump(list);
}

Result<std::vector<SourceFile>> files_from_json(const std::string& text) {
  return list_from<SourceFile>(text, [](const json& j) {
    return SourceFile{j.at(0).get<std::string>(), j.at(1).get<std::string>()};
  });
}

std::string choices_to_json(const std::vector<Choice>& choices) {
  json list = json::array();
  for (const auto& c : choices) list.push_back({c.construct, c.form});
  return dump(list);
}

Result<std::vector<Choice>> choices_from_json(const std::string& text) {
  return list_from<Choice>(text, choice_from);
}

}  // namespace evk
