// evokernel study: what the rules of retrieval and learning do, in a synthetic world.
#pragma once

#include <CLI/CLI.hpp>

namespace evk {

void add_study(CLI::App& app, int& exit_code);

}  // namespace evk
