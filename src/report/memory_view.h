// What the memory of a store knows, what it earned, and why it was retrieved: for a person or as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "store/store.h"

namespace evk {

// Is anything learnt? Items by kind and source; by stage and kind how many were ever used and how their
// values are spread; how items were selected; how far values moved, sweep by sweep.
Result<std::string> memory_stats_text(Store& store);
Result<nlohmann::json> memory_stats_json(Store& store);

// One item: its text, what it shows, its values, every use with the reward that it brought.
Result<std::string> memory_item_text(Store& store, ItemId item);
Result<nlohmann::json> memory_item_json(Store& store, ItemId item);

// Why an attempt was shown what it was: the pool with similarities, values and scores, the coin of each slot,
// propensities, what was cut from the prompt or left out.
Result<std::string> memory_why_text(Store& store, AttemptId attempt);
Result<nlohmann::json> memory_why_json(Store& store, AttemptId attempt);

}  // namespace evk
