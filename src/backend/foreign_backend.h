// Runs candidates of other systems' forms: a PyTorch model whose operations are kernels behind glue.
//
// The model runs once per set of sizes, in a process that holds no data, and yields a plan: which glue
// function with which views of which tensors, which copies, which output. The glue of each call runs in the
// program's process and says which tensors it makes and how many kernels it launches. A run then executes the
// plan, launch by launch, on the inner backend; its time is the sum of the launches.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/foreign_candidate.h"
#include "backend/model_child.h"

namespace evk {

// For one task and one foreign candidate: build() takes the candidate whose files are
// ForeignCandidate::kernels. Findings of its own: "model.failed", "model.computes", "model.constant",
// "model.argument", "model.call", "model.output", "model.no_entry", "model.no_kernel", "model.silent". Safe
// from one thread.
std::unique_ptr<Backend> make_foreign_backend(std::unique_ptr<Backend> inner, ModelChildConfig config,
                                              Task task, ForeignCandidate candidate);

// The module-level string constants of a Python text. Fails if it is no Python, says why.
Result<ForeignStrings> python_strings(const ModelChildConfig& config, const std::string& text);

}  // namespace evk
