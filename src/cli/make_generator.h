// Who writes kernels, as the options name it: the one place where generators and what is wrapped around them
// are put together.
#pragma once

#include <memory>

#include "cli/options.h"
#include "core/generator.h"
#include "generate/endpoint.h"

namespace evk {

// Whether the options name a model behind HTTP.
bool is_endpoint(const RunOptions& options);

// The endpoint alone, without patience. Takes the key from EVOKERNEL_API_KEY, or, for the vendor's own
// address only, from OPENAI_API_KEY or ANTHROPIC_API_KEY; then removes these variables, so that no child
// inherits them. Call it before the first thread starts. REQUIRES: is_endpoint(options).
Result<std::unique_ptr<Endpoint>> make_model_endpoint(const RunOptions& options);

// The whole stack. Fails if an option that the generator needs is missing, or a file cannot be read.
Result<std::unique_ptr<Generator>> make_generator(const RunOptions& options);

}  // namespace evk
