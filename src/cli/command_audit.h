// evokernel tasks audit: can a task's checks tell right from wrong?
#pragma once

#include <CLI/CLI.hpp>

namespace evk {

// Adds "audit" to the command `tasks`.
void add_audit(CLI::App& tasks, int& exit_code);

}  // namespace evk
