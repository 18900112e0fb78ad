// Runs a launch with the program in a child process that holds only a ring. No sandbox: for programs of one's
// own.
#pragma once

#include <chrono>

#include "twin/engine/session.h"

namespace evk::twin {

// `program` is the runner's path. A crash, an endless loop or an exit of the program is told in the report.
Result<RunReport> run_in_child(const Device& device, Launch launch, const std::string& shared_object,
                               const std::string& program, std::chrono::milliseconds limit);

}  // namespace evk::twin
