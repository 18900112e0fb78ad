#include "generate/patient_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/check.h"

namespace evk {
using std::chrono::milliseconds;

Waiting real_waiting() {
  return {
      [] {
        return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch());
      },
      [](milliseconds pause) { std::this_thread::sleep_for(pause); }};
}

PatientGenerator::PatientGenerator(std::unique_ptr<Endpoint> endpoint, PatienceConfig config, Waiting waiting)
    : endpoint_(std::move(endpoint)),
      config_(std::move(config)),
      waiting_(std::move(waiting)),
      begun_(waiting_.now()) {
  EVK_CHECK(config_.tries > 0);
}

double PatientGenerator::usd_spent() const {
  const std::lock_guard lock(mutex_);
  return usd_;
}

Status PatientGenerator::within_budget() const {
  const double usd = usd_spent();
  const std::lock_guard lock(mutex_);
  const auto spent = [](const std::string& what) {
    return failure(what + "; give more, and the same command continues the campaign", Retry::kAfterFix);
  };
  const std::int64_t tokens = tokens_;
  if (config_.tokens_max > 0 && tokens >= config_.tokens_max)
    return spent(fmt::format("the budget of {} tokens is spent ({})", config_.tokens_max, tokens));
  if (config_.usd_max > 0 && usd >= config_.usd_max)
    return spent(fmt::format("the budget of {} USD is spent ({:.4f})", config_.usd_max, usd));
  if (config_.time_max > milliseconds(0) && waiting_.now() - begun_ >= config_.time_max)
    return spent(fmt::format("the budget of {} s is spent", config_.time_max.count() / 1000));
  return {};
}

void PatientGenerator::wait_for_turn() {
  if (config_.calls_per_minute <= 0) return;
  milliseconds pause{0};
  {
    const std::lock_guard lock(mutex_);
    const auto now = waiting_.now();
    const auto turn = std::max(now, next_turn_);
    next_turn_ = turn + milliseconds(60'000 / config_.calls_per_minute);
    pause = turn - now;
  }
  if (pause > milliseconds(0)) waiting_.wait(pause);
}

void PatientGenerator::note_success(const Answer& answer) {
  const std::lock_guard lock(mutex_);
  refused_in_a_row_ = 0;
  tokens_ += answer.prompt_tokens + answer.answer_tokens;
  usd_ += answer.usd.value_or(0);
}

milliseconds PatientGenerator::note_refusal(const Refusal& refusal, int tried, Random& random) {
  milliseconds pause = config_.pause;
  for (int i = 1; i < tried && pause < config_.pause_max; ++i) pause *= 2;
  pause = std::min(pause, config_.pause_max);
  pause = milliseconds(
      static_cast<std::int64_t>(static_cast<double>(pause.count()) * (0.5 + 0.5 * random.uniform())));
  if (refusal.wait_s) pause = std::max(pause, milliseconds(*refusal.wait_s * 1000));
  const std::lock_guard lock(mutex_);
  if (++refused_in_a_row_ >= config_.outage_after) {
    refused_in_a_row_ = 0;
    pause = std::max(pause, config_.outage_pause);
    config_.note(fmt::format("{} calls in a row were refused; pausing {} s; the last: {}",
                             config_.outage_after, pause.count() / 1000, refusal.error.text()));
  }
  return pause;
}

Result<Answer> PatientGenerator::generate(const GenerateRequest& request) {
  // Of its own purpose: how often a call is repeated moves no draw of the campaign.
  Random random(mix(hash64("patience"), Random(request.random).next()));
  for (int tried = 1;; ++tried) {
    EVK_TRY_STATUS(within_budget());
    wait_for_turn();
    auto answer = endpoint_->ask(request.prompt);
    if (answer) {
      answer->calls = tried;
      if (config_.price) answer->usd = cost_of(*config_.price, *answer);
      note_success(*answer);
      return *std::move(answer);
    }
    Refusal& refusal = answer.error();
    const auto pause = note_refusal(refusal, tried, random);
    const bool may_help =
        refusal.error.retry == Retry::kSameCall && refusal.wait_s.value_or(0) <= config_.asked_wait_max_s;
    if (!may_help) return tl::unexpected(std::move(refusal.error));
    if (tried >= config_.tries)
      return failure(fmt::format("{} (tried {} times)", refusal.error.message, tried), Retry::kSameCall);
    waiting_.wait(pause);
  }
}

}  // namespace evk
