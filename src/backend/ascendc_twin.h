// The NPU twin as a backend: candidates are operator projects in Ascend C, compiled with g++ against the
// twin's headers and run over the strict transport. The child that runs a candidate holds a ring of
// instruction records and no data; the engine with memories, clock and findings lives here.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "backend/backend.h"

namespace evk {

struct AscendCTwinConfig {
  std::string device_file;  // twin/devices/<name>.toml
  std::string twin_dir;     // holds include/
  std::string program;      // the runner, npu-program
  std::string cache_dir;    // precompiled headers and objects; made if absent
  std::string compiler = "/usr/bin/g++";
  std::chrono::milliseconds compile_wall{45'000};
  unsigned compile_cpu_seconds = 30;  // of each process of the compiler
  std::chrono::milliseconds run_wall{30'000};
  unsigned run_cpu_seconds = 10;  // of the program's side
  std::uint64_t records_max = 400'000'000;
};

// $XDG_CACHE_HOME/evokernel, or ~/.cache/evokernel.
std::string default_backend_cache();

// Precompiles the headers unless the cache has them for this version. Fails if the device file, compiler,
// runner or cache folder is unusable; the message names it.
Result<std::unique_ptr<Backend>> make_ascendc_twin(const AscendCTwinConfig& config);

}  // namespace evk
