// The C++ text that stands in for Python's call of a glue function.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace evk {

inline constexpr int kLaunchesMax = 32;  // kernels that one glue function may launch

// `call` is {"function": NAME, "arguments": [...]} as probe/bridge.py writes it. Each tensor argument is
// given to `number_of`, which returns its place among the launch's inputs, or a negative number. The text
// defines launch_evk_plan, and launch_evk_0 to launch_evk_31 for each launch; nothing if an argument cannot
// be written.
std::optional<std::string> adaptor_source(const nlohmann::json& call,
                                          const std::function<int(const nlohmann::json&)>& number_of);

}  // namespace evk
