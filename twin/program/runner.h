// The life of one launch on the program's side: load, tiling, blocks as fibers. What the compiled candidate
// calls (declared in twin/include/ascendc/port.h and evk_host/op_def.h) is defined beside it.
#pragma once

#include <string>

#include "twin/abi/abi.h"
#include "twin/program/launch.h"

namespace evk::twin {

// Runs the launch with the candidate in `shared_object`, telling `port` everything, and returns when it
// ended: in order (the last record is then Op::kExit) or early (a refusal, a crash, a queue that would hang;
// a finding says why). What a candidate's abandoned stacks own is leaked. One launch at a time in a process:
// a second caller waits.
void run_program(const LaunchDescription& launch, abi::Port& port, const std::string& shared_object);

// Ends the running launch: run_program() returns. REQUIRES: called below run_program().
[[noreturn]] void leave_program();

}  // namespace evk::twin
