// The commands of `evokernel`. Each adds itself to the command line and, when chosen, sets the exit code:
// 0 done, 1 a finding, 2 usage, 3 infrastructure.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"

namespace evk {

inline constexpr int kExitDone = 0, kExitFinding = 1, kExitUsage = 2, kExitInfrastructure = 3;

void add_run(CLI::App& app, int& exit_code);
void add_verify(CLI::App& app, int& exit_code);
void add_tasks(CLI::App& app, int& exit_code);
void add_memory(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_replay(CLI::App& app, int& exit_code);
void add_redteam(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);

// Prints "error: ..." on stderr and gives the exit code that the error calls for.
int complain(const Error& error);
// Prints one JSON object on stdout; text that is no UTF-8 is shown with replacement characters.
void print_json(const nlohmann::json& json);

}  // namespace evk
