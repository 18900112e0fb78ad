#include "verify/gated_verifier.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "base/sha256.h"
#include "verify/gates.h"

namespace evk {
namespace {

constexpr std::string_view kVersion = "verify 2";

std::string harness_of(const VerifierConfig& config, const Backend& backend) {
  Sha256 hash;
  hash.field(kVersion).field(backend.fingerprint());
  hash.field(config.tolerance == ToleranceKind::kStrict ? "strict" : "paper");
  hash.field(Sha256().field("secret").field(config.secret).hex());
  for (const std::size_t limit :
       {config.screen.files_max, config.screen.bytes_max, config.screen.literals_max})
    hash.field(std::to_string(limit));
  return hash.hex();
}

std::string key_of(const Task& task, const Candidate& candidate) {
  return Sha256()
      .field(task.id.text)
      .field(task.source_sha256)
      .field(task.folder)
      .field(candidate.hash())
      .hex();
}

class GatedVerifier final : public Verifier {
 public:
  GatedVerifier(const VerifierConfig& config, std::unique_ptr<Backend> backend,
                std::unique_ptr<CaseReader> cases)
      : config_(config),
        backend_(std::move(backend)),
        cases_(std::move(cases)),
        harness_(harness_of(config_, *backend_)) {
    gates_.push_back(make_screen_gate(config_.screen));
    gates_.push_back(make_compile_gate(*backend_));
    gates_.push_back(make_compare_gate(config_, *backend_, *cases_));
    gates_.push_back(make_measure_gate(config_, *backend_, *cases_));
  }

  Result<Verdict> verify(const Task& task, const Candidate& candidate) override {
    const std::string key = key_of(task, candidate);
    {
      std::lock_guard lock(mutex_);
      if (const auto known = verdicts_.find(key); known != verdicts_.end()) return known->second;
    }
    auto verdict = pass_gates(task, candidate);
    if (!verdict) return in_context(fmt::format("task {} > verify", task.id.text), std::move(verdict));
    std::lock_guard lock(mutex_);
    if (verdicts_.size() >= config_.verdicts_max && !verdicts_.empty()) verdicts_.erase(verdicts_.begin());
    verdicts_.emplace(key, *verdict);
    return verdict;
  }

 private:
  Result<Verdict> pass_gates(const Task& task, const Candidate& candidate) const {
    Evidence evidence;
    for (const std::unique_ptr<Gate>& gate : gates_) {
      EVK_TRY(std::optional<Outcome> outcome, gate->inspect(task, candidate, evidence));
      if (outcome)
        return Verdict{*std::move(outcome),
                       std::move(evidence.notes),
                       evidence.paper_pass,
                       std::move(evidence.errors),
                       harness_,
                       std::move(evidence.checks)};
    }
    return failure("no gate came to a verdict");
  }

  const VerifierConfig config_;
  const std::unique_ptr<Backend> backend_;
  const std::unique_ptr<CaseReader> cases_;
  const std::string harness_;
  std::vector<std::unique_ptr<Gate>> gates_;
  std::mutex mutex_;
  std::map<std::string, Verdict> verdicts_;
};

}  // namespace

std::unique_ptr<Verifier> make_verifier(const VerifierConfig& config, std::unique_ptr<Backend> backend,
                                        std::unique_ptr<CaseReader> cases) {
  return std::make_unique<GatedVerifier>(config, std::move(backend), std::move(cases));
}

}  // namespace evk
