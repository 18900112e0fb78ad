// What a verifier is made with.
#pragma once

#include <cstddef>
#include <string>

#include "verify/screen.h"

namespace evk {

enum class ToleranceKind { kStrict, kPaper };  // which comparison decides; the other is reported beside it

struct VerifierConfig {
  ToleranceKind tolerance = ToleranceKind::kStrict;
  ScreenLimits screen;
  std::string secret;               // mixed into every draw: poison, order of rows, positions
  std::size_t verdicts_max = 4096;  // remembered, by task and candidate
};

}  // namespace evk
