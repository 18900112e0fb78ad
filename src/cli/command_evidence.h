// evokernel export, evokernel reverify: a kernel with the evidence for it, and the check of that evidence.
#pragma once

#include <CLI/CLI.hpp>

namespace evk {

void add_export(CLI::App& app, int& exit_code);
void add_reverify(CLI::App& app, int& exit_code);

}  // namespace evk
