// Compiles a candidate outside a sandbox, for npu-twin and tests: sources of one's own.
#pragma once

#include <string>

#include "twin/engine/session.h"

namespace evk::twin {

// Compiles `project`, which is a folder with op_host/<op>.cpp and op_kernel/<op>.cpp (and perhaps
// op_host/<op>_tiling.h), or one direct-launch file <name>.asc, into `folder`/<op>.so and returns that path.
// If the sources do not compile, the Error's message is the compiler's output.
Result<std::string> build_project(const BuildRecipe& recipe, const std::string& project,
                                  const std::string& op, const std::string& folder);

}  // namespace evk::twin
