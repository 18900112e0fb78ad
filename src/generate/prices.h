// What a model's tokens cost: a table on file.
#pragma once

#include <string>

#include "core/generator.h"

namespace evk {

// USD per million tokens.
struct Price {
  double prompt = 0, answer = 0;
  double cached = 0;  // of the prompt's tokens that the endpoint had in its cache
};

// Reads ["MODEL"] prompt, answer and, if it differs from prompt, cached, from a TOML file. Fails with the
// file's name, and the line of a syntax error.
Result<Price> read_price(const std::string& path, const std::string& model);

// What `answer` cost, in USD.
double cost_of(const Price& price, const Answer& answer);

}  // namespace evk
