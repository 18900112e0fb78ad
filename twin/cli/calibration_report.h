// The calibration for people and for programs.
#pragma once

#include <vector>

#include "twin/cli/calibration.h"

namespace evk::twin {

// Prints the rows on stdout, as a table or as one object, "schema": 1; docs/twin.md describes it. False if a
// row is beyond its tolerance.
bool report_calibration(const std::vector<CalibrationRow>& rows, bool json);

}  // namespace evk::twin
