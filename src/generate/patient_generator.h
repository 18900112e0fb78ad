// Patience and thrift around an endpoint: repeats, pauses and budgets.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "generate/endpoint.h"
#include "generate/prices.h"

namespace evk {

// Time as the generator knows it; tests bring their own. Safe to call from several threads.
struct Waiting {
  std::function<std::chrono::milliseconds()> now;       // since any fixed moment
  std::function<void(std::chrono::milliseconds)> wait;  // blocks
};
Waiting real_waiting();

struct PatienceConfig {
  int tries = 6;                          // calls for one answer, at least 1
  std::chrono::milliseconds pause{1000};  // before the second call; doubles each time
  std::chrono::milliseconds pause_max{60'000};
  std::int64_t asked_wait_max_s = 600;  // a longer Retry-After ends the call
  int calls_per_minute = 0;             // 0: no limit
  // So many refused calls in a row, over all threads, are taken for an outage: all wait, then one more call
  // is made by each.
  int outage_after = 10;
  std::chrono::milliseconds outage_pause{60'000};
  // Of this process; 0: no limit. What is spent is known only after each answer, so that calls under way may
  // pass it.
  std::int64_t tokens_max = 0;
  double usd_max = 0;
  std::chrono::milliseconds time_max{0};
  std::optional<Price> price;  // what an answer cost is written into it
  std::function<void(const std::string&)> note = [](const std::string&) {};
};

class PatientGenerator : public Generator {
 public:
  // REQUIRES: config.tries > 0.
  PatientGenerator(std::unique_ptr<Endpoint> endpoint, PatienceConfig config, Waiting waiting);
  // Fails with the last refusal when all tries are used or another try cannot help, and with kAfterFix when a
  // budget is spent. Pauses are drawn from the request's stream: a half to the whole of the pause.
  Result<Answer> generate(const GenerateRequest& request) override;
  double usd_spent() const;

 private:
  Status within_budget() const;
  void wait_for_turn();
  void note_success(const Answer& answer);
  // The pause that this refusal asks for.
  std::chrono::milliseconds note_refusal(const Refusal& refusal, int tried, Random& random);

  std::unique_ptr<Endpoint> endpoint_;
  const PatienceConfig config_;
  const Waiting waiting_;
  const std::chrono::milliseconds begun_;
  mutable std::mutex mutex_;
  std::chrono::milliseconds next_turn_{0};
  int refused_in_a_row_ = 0;
  std::int64_t tokens_ = 0;
  double usd_ = 0;
};

}  // namespace evk
