// State of the one launch that this process runs. For runner.cc and calls.cc.
#pragma once

#include <ucontext.h>

#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ascendc/port.h"
#include "evk_host/op_def.h"
#include "twin/abi/cross_core.h"
#include "twin/program/globals.h"
#include "twin/program/launch.h"

namespace evk::twin {

// What a core waits for.
struct Waiting {
  enum class For { kNothing, kSyncAll, kFlag, kMessage } what = For::kNothing;
  bool vectors_only = false;         // of SyncAll
  std::uint64_t mode = 0, flag = 0;  // of a flag
  std::uint32_t loc = 0;
};
// A set between cores carries nothing here.
struct Nothing {
  void join(const Nothing&) {}
};

// One core: it runs until it ends or waits for another.
struct Fiber {
  ucontext_t context{};
  std::byte* stack = nullptr;
  EvkTwinBlock block{};
  std::vector<std::byte> globals;  // while it waits
  std::uint16_t buffers = 0, queues = 0;
  std::uint32_t group =
      0;  // the launch's block that it belongs to: one core, or a cube core and its vector cores
  Waiting waiting;
  std::array<std::uint32_t, 2> syncs{};  // SyncAll's reached: of all cores, of vector cores only
  bool started = false, ended = false;
};

// Places in the candidate's source, with ids in order of first use. The cache finds a place by the address of
// its file's name; equal names at two addresses share an id.
class Locations {
 public:
  struct Place {
    std::uint32_t id = 0;
    bool is_new = false;
  };
  Place find(const char* file, std::uint32_t line) {
    Entry& entry = cache_[(reinterpret_cast<std::uintptr_t>(file) + line * 0x9e3779b1u) % cache_.size()];
    if (entry.file == file && entry.line == line) return {entry.id, false};
    const auto [at, is_new] = ids_.try_emplace({file, line}, static_cast<std::uint32_t>(ids_.size()) + 1);
    entry = {file, line, at->second};
    if (is_new) texts_.push_back(std::string(file) + ":" + std::to_string(line));
    return {at->second, is_new};
  }
  // "file:line"; empty for id 0.
  const std::string& text(std::uint32_t id) const {
    static const std::string none;
    return id == 0 || id > texts_.size() ? none : texts_[id - 1];
  }

 private:
  struct Entry {
    const char* file = nullptr;
    std::uint32_t line = 0, id = 0;
  };
  std::array<Entry, 1024> cache_;
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> ids_;
  std::vector<std::string> texts_;
};

// What the contexts of the host side point to.
struct HostSide {
  std::vector<gert::Tensor> tensors;  // inputs, then outputs
  std::vector<gert::CompileTimeTensorDesc> descs;
  std::vector<gert::RuntimeAttrs::Value> attrs;
  std::vector<std::uint64_t> tiling_bytes, compile_info;
};

// Of a host function that may launch several kernels, of which one session runs one.
struct Bridge {
  bool in_force = false;
  int wanted = 0;    // the launch that runs; -1: none
  int launches = 0;  // met so far
};

struct Program {
  const LaunchDescription& launch;
  abi::Port& port;
  std::string object_path;
  std::vector<std::unique_ptr<std::byte[]>> allocations;  // of registrations
  std::vector<ops::OpData*> ops;
  ops::TilingFunc tiling_function = nullptr;  // registered apart from an operator
  ops::TilingParseFunc parse_function = nullptr;
  Locations locations;
  std::uint32_t last_loc = 0;
  std::uint32_t scalar_work = 0;  // basic blocks of kernel code since the last record
  HostSide host_side;
  Bridge bridge;
  std::vector<gert::RuntimeAttrs::Value> given_attrs;  // in place of the registered defaults
  gert::TilingContext tiling;
  ucontext_t home{};       // of run_program(): where an ended launch returns to
  ucontext_t scheduler{};  // where a block goes that ends or waits
  Fiber host;              // load, tiling, and the scheduler
  std::vector<std::unique_ptr<Fiber>> blocks;
  Globals globals;
  std::vector<std::byte> first_globals;  // what each block begins with
  std::vector<std::byte*> free_stacks, all_stacks;
  Fiber* current = nullptr;
  void* object = nullptr;           // of dlopen
  void* kernel = nullptr;           // of an operator project
  void (*invoke)(void*) = nullptr;  // what a block runs
  void* closure = nullptr;
  std::uint32_t blocks_launched = 0;
  // What the kernel declares, for all tiling keys or for one, and what its calls suggest.
  std::optional<abi::KernelKind> declared_kind, guessed_kind;
  std::map<std::uint64_t, abi::KernelKind> kind_of_key;
  abi::KernelKind kind = abi::KernelKind::kAiv;
  abi::CrossFlags<Nothing> cross;
  // Products that vector cores hand to the cube core of their block.
  std::map<std::uint32_t, std::deque<std::vector<std::byte>>> messages;
  std::uint64_t system_workspace = 0;
  std::array<std::uint64_t, kTensorsMax + 2> arguments{};
  std::byte* tiling_page = nullptr;
};

// The running launch. REQUIRES: below run_program().
Program& program();

void emit(abi::Op op, std::uint64_t a0 = 0, std::uint64_t a1 = 0, const void* bulk = nullptr,
          std::uint32_t bytes = 0, std::uint32_t loc = 0);
// Reports what the program's side itself found wrong, at the last place that was met if `here`.
void finding(const std::string& code, const std::string& message, const std::string& remedy, bool here);
[[noreturn]] void refuse(const std::string& code, const std::string& message, const std::string& remedy);
// Whether the launch that is now asked for is the one that this session runs. Counts it.
bool may_launch();
// Tiling and blocks of a registered operator, with the tensors of `call`.
void launch_operator(const ops::OpData& op, const std::string& kernel, const LaunchDescription& call);
// Runs a launch of a direct-launch file up to the end of its blocks.
// `kind` is what the launched function says of itself, or -1.
void launch_directly(std::uint32_t blocks, int kind, void (*invoke)(void*), void* closure);
// SyncAll and flags between cores (cores.cc): they let other cores run until this one may go on.
void sync_all(std::uint32_t loc, bool vectors_only);
void cross_set(std::uint64_t mode, int pipe, std::uint64_t flag, std::uint32_t loc);
void cross_wait(std::uint64_t mode, std::uint64_t flag, std::uint32_t loc);
// Products for the cube core of the block; see ascendc/matmul.h.
bool send_message(std::vector<std::byte> message);
bool receive_message(std::vector<std::byte>& message, std::uint32_t loc);
// Ends the running core.
[[noreturn]] void end_core();
// What the library's own calls need of the workspace, in kernels that use Matmul beside vector cores.
inline constexpr std::uint64_t kSystemWorkspaceBytes = 16ull << 20;
// Whether a core that waits may go on.
bool may_go_on(const Fiber& fiber);
// Reports that no core can go on, and ends the program.
[[noreturn]] void end_in_deadlock();

}  // namespace evk::twin
