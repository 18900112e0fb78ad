// The small JSON columns of the store, both ways.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/context.h"

namespace evk {

std::string facts_to_json(const std::vector<Fact>& facts);
Result<std::vector<Fact>> facts_from_json(const std::string& text);
std::string strings_to_json(const std::vector<std::string>& strings);
Result<std::vector<std::string>> strings_from_json(const std::string& text);
std::string files_to_json(const std::vector<SourceFile>& files);
Result<std::vector<SourceFile>> files_from_json(const std::string& text);
std::string choices_to_json(const std::vector<Choice>& choices);
Result<std::vector<Choice>> choices_from_json(const std::string& text);

// "draft", "refine".
Result<Stage> stage_named(const std::string& name);

}  // namespace evk
