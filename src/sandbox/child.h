// A child process under limits, for code that nobody trusts and for the compilers that read it.
//
//   ChildSpec spec;
//   spec.argv = {"/usr/bin/g++", "-c", "@in/kernel.cpp", "-o", "@tmp/kernel.o"};
//   spec.read_only_paths = toolchain_paths();
//   spec.files = {{"kernel.cpp", text}};
//   spec.collect = {"kernel.o"};
//   EVK_TRY(ChildEnd end, run_child(spec));
//
// What is in force where the machine allows it: namespaces of user, mount, network, pid, ipc and uts; a root
// made of nothing but the named paths; an unprivileged uid of its own; rlimits; no_new_privs; Landlock; a
// seccomp filter; a cgroup for memory and processes; death with its parent. sandbox_report() names what this
// machine lacks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace evk {

struct ChildLimits {
  std::chrono::milliseconds wall{30'000};
  unsigned cpu_seconds = 30;                       // of each process
  std::uint64_t address_space_bytes = 4ull << 30;  // of each process
  std::uint64_t memory_bytes = 2ull << 30;         // of all processes together; needs a writable cgroup
  std::uint64_t file_bytes = 64ull << 20;          // of each file written
  std::uint64_t stack_bytes = 64ull << 20;
  unsigned open_files = 64;
  unsigned processes = 1;                  // 1: the child cannot fork
  std::uint64_t output_bytes = 64 * 1024;  // kept of each of stdout and stderr; more ends the child
};

// What the child may ask of the kernel.
enum class SystemCalls {
  kProgram,   // an allow-list: memory, its own descriptors, reading what it sees, leaving
  kCompiler,  // also processes, threads and files of its own; no network, mounts, tracing or new namespaces
};

struct PassedFd {
  int fd = -1;      // here; stays the caller's
  int number = -1;  // there; at least 3
};

struct PlacedFile {
  std::string path;  // relative; read-only in the folder that "@in" names
  std::string bytes;
};

struct ChildSpec {
  std::vector<std::string> argv;  // argv[0] is absolute; "@in" and "@tmp" name the two folders of the child
  std::vector<std::string> env;   // "NAME=value"; nothing is inherited
  std::vector<PassedFd> descriptors;
  std::string input;                         // on its stdin
  std::vector<std::string> read_only_paths;  // absolute; all else does not exist for the child
  std::vector<PlacedFile> files;
  std::vector<std::string> collect;           // files of "@tmp" that are handed back if they exist
  std::uint64_t scratch_bytes = 16ull << 20;  // size of "@tmp", a private tmpfs
  SystemCalls system_calls = SystemCalls::kProgram;
  ChildLimits limits;
};

enum class LimitHit { kNone, kWall, kCpu, kMemory, kFiles, kProcesses, kOutput };
std::string_view name_of(LimitHit limit);  // "none", "wall", "cpu", ...

struct ChildEnd {
  int exit_code = 0;  // if it exited
  int signal = 0;     // that ended it; 0 if it exited
  LimitHit limit = LimitHit::kNone;
  bool killed_by_caller = false;
  std::string output, errors;          // stdout and stderr
  std::vector<std::string> collected;  // as ChildSpec::collect; empty where `found` is false
  std::vector<bool> found;
  double cpu_seconds = 0;               // user and system, of all its processes
  std::uint64_t memory_peak_bytes = 0;  // largest resident set of one process

  bool succeeded() const { return exit_code == 0 && signal == 0 && limit == LimitHit::kNone; }
};

// Starts on construction, is killed and reaped on destruction. One thread at a time; many children at once
// are fine. The child dies when the thread that started it ends.
class Child {
 public:
  // Fails if the machine cannot start it (no such program, no memory, no descriptors): never the candidate's
  // fault.
  static Result<std::unique_ptr<Child>> start(const ChildSpec& spec);
  virtual ~Child() = default;
  // Whether it still runs. Takes over what it has written and applies the wall and output limits, so ask
  // often.
  virtual bool alive() = 0;
  // Ends it and all its descendants.
  virtual void kill() = 0;
  // Waits for the end, or for the limit that brings it.
  virtual Result<ChildEnd> wait() = 0;
};

Result<ChildEnd> run_child(const ChildSpec& spec);

// What protects this machine from children, and what it lacks. Found once a process, by trying.
struct SandboxReport {
  std::vector<std::string> in_force;  // "mount namespace", "seccomp", ...
  std::vector<std::string> missing;   // "cgroup memory limit: /sys/fs/cgroup/memory is not writable", ...
};
const SandboxReport& sandbox_report();

// What a dynamically linked C++ program needs to see, beside itself; and what g++ needs to see.
std::vector<std::string> runtime_paths();
std::vector<std::string> toolchain_paths();

}  // namespace evk
