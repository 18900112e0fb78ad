// The verifier: screen, compile, run and compare, measure.
//
//   EVK_TRY(auto backend, make_ascendc_twin(twin_config));
//   auto verifier = make_verifier(VerifierConfig{}, std::move(backend), std::move(reader));
//   EVK_TRY(const Verdict verdict, verifier->verify(task, candidate));
#pragma once

#include <memory>

#include "backend/backend.h"
#include "core/verifier.h"
#include "verify/case_data.h"
#include "verify/verifier_config.h"

namespace evk {

// Verdicts hold no wall time, process id or path of the machine: they are equal between runs, loads and
// numbers of threads.
std::unique_ptr<Verifier> make_verifier(const VerifierConfig& config, std::unique_ptr<Backend> backend,
                                        std::unique_ptr<CaseReader> cases);

}  // namespace evk
