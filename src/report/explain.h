// Everything about one attempt, for a person or as JSON: what was recalled and why, the prompt, the answer,
// the verdict, what was learnt.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "store/store.h"

namespace evk {

Result<std::string> explain_text(Store& store, AttemptId attempt, bool with_prompt);
Result<nlohmann::json> explain_json(Store& store, AttemptId attempt);

}  // namespace evk
