// From the options of `run` to the configuration of retrieval and learning.
#pragma once

#include "campaign/campaign.h"
#include "cli/options.h"

namespace evk {

void set_learning(const RunOptions& options, CampaignConfig& config);

}  // namespace evk
