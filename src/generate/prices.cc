#include "generate/prices.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace evk {

Result<Price> read_price(const std::string& path, const std::string& model) {
  std::error_code error;
  if (const auto size = std::filesystem::file_size(path, error); error || size > (1u << 20))
    return failure(fmt::format("{}: cannot be read, or is larger than 1 MiB", path), Retry::kAfterFix);
  try {
    const auto table = toml::parse_file(path);
    const auto* row = table.get(model);
    const auto number = [&](const char* key) {
      return row && row->is_table() ? (*row->as_table())[key].value<double>() : std::nullopt;
    };
    const auto valid = [](double price) { return std::isfinite(price) && price >= 0; };
    const auto prompt = number("prompt"), answer = number("answer"), cached = number("cached");
    if (!prompt || !answer || !valid(*prompt) || !valid(*answer) || !valid(cached.value_or(0)))
      return failure(
          fmt::format("{}: holds no [\"{}\"] with prompt and answer, in USD per million tokens", path, model),
          Retry::kAfterFix);
    return Price{*prompt, *answer, cached.value_or(*prompt)};
  } catch (const toml::parse_error& wrong) {
    return failure(fmt::format("{}:{}: {}", path, wrong.source().begin.line, wrong.description()),
                   Retry::kAfterFix);
  }
}

double cost_of(const Price& price, const Answer& answer) {
  const auto cached = std::min(answer.cached_tokens, answer.prompt_tokens);
  return (static_cast<double>(answer.prompt_tokens - cached) * price.prompt +
          static_cast<double>(cached) * price.cached +
          static_cast<double>(answer.answer_tokens) * price.answer) /
         1e6;
}

}  // namespace evk
