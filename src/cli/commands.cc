#include "cli/commands.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

namespace evk {

int complain(const Error& error) {
  fmt::print(stderr, "error: {}\n", error.text());
  return kExitInfrastructure;
}

void print_json(const nlohmann::json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace evk
