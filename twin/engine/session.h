// Runs one launch of one program and says what happened: outputs, findings, simulated time.
//
// Two ways in, one engine behind them, equal results bit for bit:
//   DirectRun   program and engine in this process (npu-twin, tests)
//   RingSession the engine here, the program in a child that holds only a ring (the verifier)
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "twin/abi/abi.h"
#include "twin/engine/device.h"

namespace evk::twin {

// A tensor of the launch, in the order of the kernel's arguments.
struct LaunchTensor {
  std::string name;
  abi::DType dtype = abi::DType::kF32;
  std::vector<std::int64_t> shape;
  // Inputs: contents, contiguous. Outputs: what they hold before the launch, which then counts as written; or
  // nothing.
  std::vector<std::byte> data;
  // What the allocation has beyond the contents, which a kernel may touch: none where the rule is strict.
  std::uint64_t padding_bytes = 0;
};

struct Launch {
  std::string op;                    // kernel function and OpDef, snake case: "softmax"
  std::vector<LaunchTensor> inputs;  // forward inputs, then parameters and buffers
  std::vector<LaunchTensor> outputs;
  std::uint64_t poison = 0;  // seed of the words that fill outputs, workspace and on-chip memory first
  std::vector<std::uint32_t>
      block_order;           // empty = ascending; else a permutation applied modulo the block dim
  bool move_data = true;     // false: checks and clocks only ("timing only"), no tensor contents
  bool tiling_only = false;  // stop after the host tiling
  std::uint64_t records_max = 400'000'000;  // more is a runaway program
  std::uint64_t gm_bytes_max = 6ull << 30;  // inputs, outputs and workspace together
};

// What is wrong with the program, at a source line of it.
struct Finding {
  std::string
      code;  // stable: "ub_overflow", "gm_read_out_of_bounds", "queue_empty", ... (docs/twin.md lists all)
  std::string message;  // one line: what happened, with numbers
  std::string remedy;   // one line: what to change; may be empty
  std::string file;     // of the candidate, "" if unknown
  int line = 0;
  std::string other_file;  // of the earlier access, if two are involved
  int other_line = 0;
  int block = -1;
  std::uint64_t count = 1;  // how often; the first is described
  bool note = false;        // a note does not fail the run
};

// Simulated times and loads. Field names follow msprof's PipeUtilization.csv.
struct RunProfile {
  double total_ns = 0;  // kernel time without launch
  double launch_ns = 0;
  std::uint64_t total_cycles = 0;
  std::uint32_t block_dim = 0;
  // Busy time of the average active block, by pipe, and its share of the block's time.
  double vec_ratio = 0, scalar_ratio = 0, mte1_ratio = 0, mte2_ratio = 0, mte3_ratio = 0, mac_ratio = 0,
         fixpipe_ratio = 0;
  std::uint64_t gm_read_bytes = 0, gm_write_bytes = 0, dma_count = 0;
  std::uint64_t vector_instructions = 0, scalar_accesses = 0, inserted_syncs = 0;
  std::uint32_t ub_peak_bytes = 0;
  double bank_conflict_ratio = 0;  // extra vector cycles by UB bank conflicts / vector cycles
  double block_imbalance = 0;      // slowest block / mean block - 1
  // Cycles by source line, most expensive first, at most 20: {"file:line", pipe name, busy cycles, stalled
  // cycles}.
  struct Line {
    std::string where;
    std::string pipe;
    double busy = 0;
    double stalled = 0;
  };
  std::vector<Line> lines;
};

enum class RunEnd {
  kComplete,      // every block ended; see findings for faults on the way
  kTilingFailed,  // the host tiling refused or crashed
  kAborted,       // the program ended early (crash, exit, kill) or broke the protocol
  kTimedOut,      // the deadline passed
  kRunaway,       // records_max reached
};

struct RunReport {
  RunEnd end = RunEnd::kAborted;
  std::vector<Finding> findings;                // faults first, then notes
  std::vector<std::vector<std::byte>> outputs;  // as many as Launch::outputs; whole only if end == kComplete
  RunProfile profile;
  std::vector<std::uint64_t> unwritten_bytes;  // of each output: bytes that no copy or SetValue wrote
  std::uint64_t tiling_key = 0;
  std::uint64_t workspace_bytes = 0;
  std::string printed;        // device printf, at most 64 KiB
  std::string last_location;  // of the last record, for crash reports
  std::uint64_t records = 0;
  std::string trace_hash;  // of the instruction stream of all blocks, for determinism checks

  bool faulted() const;  // any finding that is not a note
};

// The engine's side of a ring. The child is started by the caller with `program_fd()` as its descriptor 3.
// One session = one launch. Not thread-safe; several sessions may live at once in several threads.
class RingSession {
 public:
  // Maps the ring and puts the launch's description (shapes, dtypes, soc, no contents) where the program
  // reads it.
  static Result<std::unique_ptr<RingSession>> create(const Device& device, Launch launch);
  virtual ~RingSession() = default;
  // Shared memory of ring and description. Owned by the session.
  virtual int program_fd() const = 0;
  // Executes what the program sends until it exits, ends early or the deadline passes. `alive` is asked while
  // the ring is idle, and says whether the child still runs. The caller reaps the child.
  virtual RunReport serve(std::chrono::steady_clock::time_point deadline,
                          const std::function<bool()>& alive) = 0;
};

// Loads the shared object and runs it here. For trusted programs only: it can do all that this process can.
Result<RunReport> run_direct(const Device& device, const Launch& launch, const std::string& shared_object);

// How a candidate is compiled against the twin's headers. Paths are absolute.
struct BuildRecipe {
  std::string include_dir;  // twin/include
  std::vector<std::string>
      kernel_flags;  // for op_kernel/*.cpp and *.asc: language, optimisation, forced includes
  std::vector<std::string> host_flags;  // for op_host/*.cpp
  std::vector<std::string> link_flags;  // objects -> shared object
  std::string kernel_prelude;  // header to precompile for kernels (its .gch goes beside a copy of it)
  std::string host_prelude;
  std::string program;  // the runner executable, `npu-program FD SHARED_OBJECT`
};
// `twin_dir` is the folder that holds include/ and devices/; `program` the runner's path.
BuildRecipe build_recipe(const std::string& twin_dir, const std::string& program);

}  // namespace evk::twin
