#include "sandbox/cgroup.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <utility>

namespace evk {
namespace {

bool write_text(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  out.flush();
  return out.good();
}

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string fresh_name() {
  static std::atomic<unsigned> next{0};
  return fmt::format("evokernel-{}-{}", getpid(), next++);
}

// The path of this process within a hierarchy: lines "id:controllers:path" of /proc/self/cgroup.
std::string own_path(const std::string& controller) {
  std::istringstream lines(read_text("/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    if (names.find("," + controller + ",") != std::string::npos) return line.substr(second + 1);
  }
  return "/";
}

// A new folder in `root`, preferably beneath the group that this process is in.
std::string make_dir(const std::string& root, const std::string& controller, const std::string& name) {
  for (const std::string& base : {root + own_path(controller), root}) {
    const std::string dir = base + (base.ends_with('/') ? "" : "/") + name;
    if (mkdir(dir.c_str(), 0755) == 0) return dir;
  }
  return {};
}

void remove_group(const std::string& dir) {
  if (dir.empty()) return;
  // Members that are being torn down keep the folder busy for a moment.
  for (int attempt = 0; attempt < 100 && rmdir(dir.c_str()) != 0; ++attempt) {
    std::istringstream members(read_text(dir + "/cgroup.procs"));
    for (pid_t pid = 0; members >> pid;) {
      if (pid > 1) ::kill(pid, SIGKILL);
    }
    usleep(2000);
  }
}

// The number after `key` in a file of "key number" lines.
std::uint64_t keyed_count(const std::string& path, const std::string& key) {
  std::istringstream words(read_text(path));
  std::uint64_t value = 0;
  for (std::string word; words >> word >> value;) {
    if (word == key) return value;
  }
  return 0;
}

}  // namespace

Cgroup::Cgroup(Cgroup&& other) noexcept { *this = std::move(other); }

Cgroup& Cgroup::operator=(Cgroup&& other) noexcept {
  std::swap(memory_dir_, other.memory_dir_);
  std::swap(processes_dir_, other.processes_dir_);
  std::swap(v2_, other.v2_);
  return *this;
}

Cgroup::~Cgroup() {
  remove_group(memory_dir_);
  if (processes_dir_ != memory_dir_) remove_group(processes_dir_);
}

Cgroup Cgroup::make(std::uint64_t memory_bytes, unsigned processes) {
  Cgroup group;
  const std::string name = fresh_name();
  const std::string memory = std::to_string(memory_bytes), tasks = std::to_string(processes);
  if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0) {
    const std::string dir = make_dir("/sys/fs/cgroup", "", name);
    group.v2_ = true;
    if (dir.empty()) return group;
    if (write_text(dir + "/memory.max", memory)) {
      group.memory_dir_ = dir;
      write_text(dir + "/memory.swap.max", "0");  // absent where the machine has no swap
    }
    if (write_text(dir + "/pids.max", tasks)) group.processes_dir_ = dir;
    if (!group.limits_memory() && !group.limits_processes()) rmdir(dir.c_str());
    return group;
  }
  group.memory_dir_ = make_dir("/sys/fs/cgroup/memory", "memory", name);
  if (group.limits_memory() && !write_text(group.memory_dir_ + "/memory.limit_in_bytes", memory)) {
    remove_group(std::exchange(group.memory_dir_, {}));
  }
  if (group.limits_memory()) write_text(group.memory_dir_ + "/memory.memsw.limit_in_bytes", memory);
  group.processes_dir_ = make_dir("/sys/fs/cgroup/pids", "pids", name);
  if (group.limits_processes() && !write_text(group.processes_dir_ + "/pids.max", tasks)) {
    remove_group(std::exchange(group.processes_dir_, {}));
  }
  return group;
}

bool Cgroup::add(pid_t pid) const {
  const std::string text = std::to_string(pid);
  bool fine = !limits_memory() || write_text(memory_dir_ + "/cgroup.procs", text);
  if (limits_processes() && processes_dir_ != memory_dir_)
    fine = write_text(processes_dir_ + "/cgroup.procs", text) && fine;
  return fine;
}

bool Cgroup::memory_limit_hit() const {
  if (!limits_memory()) return false;
  return keyed_count(memory_dir_ + (v2_ ? "/memory.events" : "/memory.oom_control"), "oom_kill") > 0;
}

bool Cgroup::process_limit_hit() const {
  return limits_processes() && keyed_count(processes_dir_ + "/pids.events", "max") > 0;
}

}  // namespace evk
