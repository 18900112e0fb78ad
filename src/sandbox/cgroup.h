// A control group for one child: memory and processes of all its descendants together.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace evk {

class Cgroup {
 public:
  Cgroup() = default;
  Cgroup(Cgroup&& other) noexcept;
  Cgroup& operator=(Cgroup&& other) noexcept;
  ~Cgroup();  // kills what is left, removes the folders

  // Makes a group with these limits under cgroup v1 or v2. What cannot be limited is left out: see the two
  // below.
  static Cgroup make(std::uint64_t memory_bytes, unsigned processes);
  bool limits_memory() const { return !memory_dir_.empty(); }
  bool limits_processes() const { return !processes_dir_.empty(); }
  // Moves a process in. Descendants follow by themselves.
  bool add(pid_t pid) const;
  bool memory_limit_hit() const;
  bool process_limit_hit() const;

 private:
  std::string memory_dir_, processes_dir_;  // equal under v2
  bool v2_ = false;
};

}  // namespace evk
