// What one attempt cost: a row of the ledger.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/context.h"
#include "core/ids.h"

namespace evk {

// A call that brought no answer is counted in `calls` alone, and only if a later one of the attempt did.
struct LedgerRow {
  AttemptId attempt;
  TaskId task;
  Stage stage = Stage::kDraft;
  std::string model;  // empty if nothing was answered
  std::int64_t calls = 0;
  std::int64_t prompt_tokens = 0, answer_tokens = 0;
  std::int64_t cached_tokens = 0;         // of the prompt's, those that the endpoint had in its cache
  std::optional<double> usd;              // by the price table of the time; unset without one
  double generate_ms = 0, verify_ms = 0;  // wall time
  double wall_ms = 0;                     // of all phases together
};

}  // namespace evk
