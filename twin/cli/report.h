// A run's report for people and for programs.
#pragma once

#include <nlohmann/json.hpp>

#include "twin/engine/session.h"

namespace evk::twin {

// One object, "schema": 1; docs/twin.md describes it.
nlohmann::json to_json(const RunReport& report, const std::vector<LaunchTensor>& outputs);
// Several lines on stdout.
void show(const RunReport& report, const std::vector<LaunchTensor>& outputs);

}  // namespace evk::twin
