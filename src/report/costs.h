// What a campaign cost, from the ledger of its store: per attempt, summed by task, and by model and stage.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "store/ledger.h"

namespace evk {

// A sum over attempts. `usd` is the sum of what is priced, unset if nothing is.
struct CostSum {
  std::int64_t attempts = 0, calls = 0;
  std::int64_t prompt_tokens = 0, answer_tokens = 0, cached_tokens = 0;
  std::optional<double> usd;
  std::int64_t unpriced = 0;  // attempts with tokens and no price
  double generate_ms = 0, wall_ms = 0;
};

struct Costs {
  std::vector<LedgerRow> attempts;
  std::map<std::string, CostSum> by_task;
  std::map<std::pair<std::string, std::string>, CostSum> by_model;  // and stage; answered attempts only
  CostSum total;
};

Costs costs_of(std::vector<LedgerRow> ledger);

// Lines by model and stage, then by task; empty if no token was used.
std::string to_text(const Costs& costs);
// {"attempts", ..., "by_model", "by_task", "by_attempt"}: merged into the report's "cost".
nlohmann::json to_json(const Costs& costs);
// One line: "11 tokens asked (0 cached), 22 answered, 1 call, 0.0001 USD, 3 ms".
std::string cost_line(const LedgerRow& row);
nlohmann::json cost_json(const LedgerRow& row);

}  // namespace evk
