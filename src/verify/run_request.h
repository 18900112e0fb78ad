// How the gates ask a backend to run: shared by comparing and measuring.
#pragma once

#include "backend/backend.h"
#include "core/task.h"

namespace evk {

// Names and types of all arguments, no contents.
RunRequest empty_request(const Task& task, const ShapeSet& shapes);

// Differs between candidates, cases and runs, and is the same whenever the same run is made again.
// `secret` is the operator's own.
std::uint64_t poison_of(const Task& task, const Candidate& candidate, const std::string& what, int run,
                        const std::string& secret = {});

// "bench" if the task has it, else "small", else the first; null for a task without shapes.
const ShapeSet* timed_shapes(const Task& task);
// What is verified: "small" and "ragged" where they have cases, else the first set that has some.
std::vector<const ShapeSet*> verified_shapes(const Task& task);

std::uint64_t output_bytes(const ShapeSet& shapes);

}  // namespace evk
