// Tells a person on stderr how a campaign goes, one line a sweep, and a moving line between on a terminal.
#pragma once

#include "campaign/campaign.h"

namespace evk {

class Progress final : public CampaignObserver {
 public:
  // `quiet`: says nothing. `on_best` is called at each new best kernel, so that it is saved at once.
  Progress(bool quiet, bool terminal, std::function<void(const Attempt&)> on_best)
      : quiet_(quiet), terminal_(terminal), on_best_(std::move(on_best)) {}
  void on_attempt(const Attempt& attempt, const Learnt& learnt, std::int64_t done, std::int64_t of) override;
  void on_sweep(const SweepSummary& summary) override;

 private:
  bool quiet_, terminal_;
  std::function<void(const Attempt&)> on_best_;
};

}  // namespace evk
