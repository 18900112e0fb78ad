// Published measurements of the chips against what the twin says of the same work. Each case is a stream of
// instructions written for it, executed by the engine without data; the one device file of its chip serves
// all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "twin/engine/device.h"

namespace evk::twin {

struct CalibrationRow {
  std::string group, name, unit;
  std::string device;
  double published = 0, tolerance = 0;  // tolerance as a share of the published figure
  std::optional<double> simulated;      // none: the twin cannot express the case
  std::string reason;                   // why not, or what stands between the figures

  // Simulated over published, minus one. REQUIRES: simulated.
  double deviation() const { return *simulated / published - 1; }
  bool misses() const { return simulated && (deviation() > tolerance || deviation() < -tolerance); }
};

// Runs every case that was measured on `device`; empty if there is none. Takes seconds.
Result<std::vector<CalibrationRow>> calibrate(const Device& device);
// Names of the devices that have cases.
std::vector<std::string> calibrated_devices();

}  // namespace evk::twin
