// One NPU chip as data: sizes, rates and cost tables of a `twin/devices/*.toml` file, each with its source
// there.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"

namespace evk::twin {

struct Device {
  std::string name;  // "ascend910b1"
  std::string soc;   // "Ascend910B1"
  double clock_ghz = 0;
  int aiv_cores = 0;  // vector cores
  int aic_cores = 0;  // cube cores
  // Bytes of each on-chip memory, and how much of UB a kernel may use (GetCoreMemSize answers this).
  std::uint32_t ub_bytes = 0, ub_usable_bytes = 0, l1_bytes = 0, l0a_bytes = 0, l0b_bytes = 0, l0c_bytes = 0,
                bt_bytes = 0;
  // Everything else, by dotted name ("v.head_cycles", "mte2.bytes_per_cycle"): what the cost model reads.
  std::map<std::string, double> number;

  // A cost constant. REQUIRES: the file has it (load_device checks the list that the cost model needs).
  double at(const std::string& dotted) const;
};

// Reads one device file. Fails on a missing or unknown key, a wrong type, or a value without a source; names
// the file and key.
Result<Device> load_device(const std::string& path);
// The file of a device by its name, looked for in `dir`; the error lists the names that exist.
Result<Device> find_device(const std::string& dir, const std::string& name);

}  // namespace evk::twin
