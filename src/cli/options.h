// What a campaign is run with. One table maps flag, file key, variable and help to a setter; a flag beats a
// variable, a variable beats the file, the file beats the default.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace evk {

struct RunOptions {
  // What changes results, first.
  std::string suite = "demo";  // a built-in suite, a folder of task files, or one task file
  std::string only;            // "19-32,36,softmax": by leading number or by name; empty = all
  std::string backend = "ascendc_twin";
  std::string device = "ascend910b1";
  std::string generator = "composer";
  std::string command;               // of the generator `command`
  std::string cassette;              // of the generator `replay`
  std::string model;                 // of the generators `openai` and `anthropic`
  std::int64_t answer_tokens = 0;    // limit asked of the model; 0 = not sent
  double temperature = -1;           // below 0 = not sent
  std::string tolerance = "strict";  // "strict" or "paper": which comparison decides
  std::int64_t sweeps = 30;
  std::uint64_t seed = 1;
  std::int64_t slots = 5;  // N
  double alpha = 0.3;
  double lambda_start = 2, lambda_max = 30;
  double epsilon_start = 0.3, epsilon_end = 0.05;
  std::string policy = "value";   // what ranks the pool; "similarity" is the heuristic ablation
  std::string memory = "shared";  // "shared", "isolated" (ablation) or "frozen"
  // Beyond the paper (docs/studies.md), all off.
  double ucb_c = 0.5, mix = 0.5, mmr = 1, shrinkage = 0;
  double step_offset = 0;  // n0 of the step 1 / (n + n0); 0 = the constant alpha
  std::string q0 = "task_mean", start_q0 = "own", credit = "reward", quotas = "roles";
  double q0_value = -1;
  std::string lambda_rule = "plateau", epsilon_rule = "linear";
  double leave_one_out = 0;  // share of the attempts that withhold an item
  std::string duplicates = "exact";
  // What changes only the speed or where things lie.
  int jobs = 1;
  std::string store = "evokernel.evk";
  std::string out;       // folder for the best kernels; empty = none
  std::string cache;     // task packs and compiled headers; empty = $XDG_CACHE_HOME/evokernel
  std::string record;    // cassette to record answers to; empty = none
  std::string base_url;  // of the model's endpoint; empty = the vendor's
  std::string ca_file;   // authorities of the endpoint's certificate; empty = the system's
  std::string stream = "yes";
  int tries = 6;                   // calls for one answer
  int stall_s = 300;               // silence that ends a call
  int pause_ms = 1000;             // before the second call
  int calls_per_minute = 0;        // 0 = no limit
  std::int64_t budget_tokens = 0;  // 0 = no limit; so below
  double budget_usd = 0;
  std::int64_t budget_minutes = 0;
  std::string prices;  // TOML file of prices by model
};

struct Option {
  const char* flag;      // "--sweeps"
  const char* key;       // "campaign.sweeps" in a TOML file
  const char* variable;  // "EVK_SWEEPS"
  const char* help;      // with unit and range; the default is added
  std::function<Status(RunOptions&, const std::string&)> set;
  std::function<std::string(const RunOptions&)> show;
};

const std::vector<Option>& run_options();

// Sets the options that `text` (TOML) names. An unknown key is an Error that names the nearest known one.
Status apply_file(RunOptions& options, const std::string& text, const std::string& path);
// Sets the options whose variables are set in this process's environment.
Status apply_environment(RunOptions& options);

// The known name with the smallest edit distance to `name`.
std::string nearest_name(const std::string& name, const std::vector<std::string>& known);

}  // namespace evk
