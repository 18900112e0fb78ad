// What a device must offer so that a candidate can be judged: build it, run it, say what happened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/candidate.h"
#include "core/task.h"
#include "core/verdict.h"

namespace evk {

struct Built {
  std::string library;  // bytes of the shared object
  std::string hash;     // of those bytes
};

struct BuildFailed {
  std::vector<Finding>
      findings;     // "compile.error", "compile.missing_file", "compile.link_error", "object.symbol", ...
  std::string log;  // what the compiler said, paths scrubbed, at most 16 KiB
};

using BuildOutcome = std::variant<Built, BuildFailed>;

struct BackendTensor {
  std::string name;
  TensorType type;
  std::vector<std::byte>
      data;  // contents of inputs, contiguous; of outputs what they hold first, or none: poison then
  std::uint64_t padding_bytes = 0;  // that its allocation has beyond its contents
};

struct RunRequest {
  std::string op;                     // name of the kernel function
  std::vector<BackendTensor> inputs;  // forward inputs, then parameters and buffers
  std::vector<BackendTensor> outputs;
  std::uint64_t poison = 0;      // decides what outputs and scratch memories hold before the launch
  bool reversed_blocks = false;  // run the blocks in descending order
  bool move_data = true;         // false: only checks and clocks
};

enum class RunResultKind {
  kComplete,  // every block ended and nothing was found at fault
  kFaulted,   // findings say why
  kStopped,   // a limit was hit
};

struct RunResult {
  RunResultKind kind = RunResultKind::kFaulted;
  std::string limit;              // "time", "memory", "files", "processes", "output", "instructions"
  std::vector<Finding> findings;  // that decide; codes "twin.*" and "run.*"
  std::vector<Finding> notes;     // that do not
  std::vector<std::vector<std::byte>> outputs;  // whole if complete
  std::vector<std::uint64_t> unwritten_bytes;   // of each output, also when no data move
  double latency_ns = 0;                        // kernel and launch
  bool simulated = true;
  Profile profile;
  std::uint64_t cycles = 0;
  std::string trace_hash;  // equal for equal executions
  std::string printed;     // by the kernel, at most 64 KiB
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Compiles and checks the object. Equal sources give equal outcomes. Safe from several threads.
  virtual Result<BuildOutcome> build(const Candidate& candidate) = 0;
  // Runs once. An Error is never the candidate's fault. Safe from several threads.
  virtual Result<RunResult> run(const Built& built, const RunRequest& request) = 0;
  // No kernel that moves so many bytes of global memory takes less.
  virtual double floor_ns(std::uint64_t gm_bytes) const = 0;
  // Changes whenever equal candidates could get other verdicts: device, headers, flags, limits.
  virtual std::string fingerprint() const = 0;
};

}  // namespace evk
