// The embedded generator: composes an operator project from a task's graph and from what its context shows,
// with no network. It reads no task's name but to spell files and functions.
#pragma once

#include "core/generator.h"

namespace evk {

class Composer : public Generator {
 public:
  // Never fails. A graph that it cannot lower gets an answer without code that names the operation.
  Result<Answer> generate(const GenerateRequest& request) override;
};

}  // namespace evk
