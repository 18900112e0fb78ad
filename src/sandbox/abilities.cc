#include "sandbox/abilities.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "sandbox/cgroup.h"
#include "sandbox/launch.h"
#include "sandbox/seccomp_filter.h"

namespace evk {
namespace {

constexpr std::uint64_t kAllNamespaces =
    CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
constexpr std::uint32_t kUidBase = 61'440,
                        kUidCount = 3'000;  // below `nobody`, above what distributions hand out
constexpr std::uint32_t kUidInNamespace = 1'000;

struct Trial {
  bool started = false;
  int error = 0;
  launch::Report report;
  bool worked() const { return started && report.failed == launch::Stage::kNone; }
};

// Takes a child through all that precedes the start of its program.
Trial try_start(const Abilities& wanted) {
  Trial trial;
  int go[2], status[2];
  if (pipe2(go, O_CLOEXEC) != 0) return trial;
  if (pipe2(status, O_CLOEXEC) != 0) {
    close(go[0]);
    close(go[1]);
    return trial;
  }
  const std::uint32_t uid = child_uid(wanted);
  const std::string scratch = fmt::format("size=65536,mode=0700,uid={},gid={}", uid, uid);
  const int keep[2] = {std::min(go[0], status[1]), std::max(go[0], status[1])};
  launch::LaunchPlan plan{};
  plan.go_fd = go[0];
  plan.status_fd = status[1];
  plan.keep = keep;
  plan.kept = 2;
  plan.probe = true;
  plan.own_mounts = wanted.own_mounts;
  plan.own_pids = wanted.own_pids;
  plan.set_ids = wanted.own_uid || wanted.user_namespace;
  plan.uid = plan.gid = uid;
  plan.in_dir = wanted.own_mounts ? "/in" : "/";
  plan.scratch_dir = wanted.own_mounts ? "/scratch" : "/";
  plan.mount_base = wanted.mount_base.c_str();
  plan.base_only_private = wanted.base_only_private;
  plan.root_options = "size=65536,mode=0755";
  plan.scratch_options = scratch.c_str();
  const long pid = syscall(SYS_clone, wanted.clone_flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) _exit(launch::run_init(plan));
  trial.error = errno;
  close(go[0]);
  close(status[1]);
  if (pid > 0) {
    const bool mapped = !wanted.user_namespace || write_id_maps(static_cast<pid_t>(pid), uid).has_value();
    if (mapped && write(go[1], "g", 1) == 1) {
      trial.started = read(status[0], &trial.report, sizeof trial.report) == sizeof trial.report;
    }
    close(go[1]);
    while (waitpid(static_cast<pid_t>(pid), nullptr, __WALL) < 0 && errno == EINTR) {
    }
  } else {
    close(go[1]);
  }
  close(status[0]);
  return trial;
}

// Directories that are mount points of their own, from /proc/self/mountinfo (field 5).
std::vector<std::string> mount_points() {
  std::vector<std::string> points;
  std::ifstream in("/proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string skip, point;
    words >> skip >> skip >> skip >> skip >> point;
    struct stat info {};
    if (point != "/" && stat(point.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) points.push_back(point);
  }
  return points;
}

// In a chroot only a mount point can be made private, so that nothing we mount is seen outside.
bool settle_mount_base(Abilities& wanted, Trial& trial) {
  trial = try_start(wanted);
  if (trial.worked()) return true;
  if (!trial.started || trial.report.failed != launch::Stage::kMakePrivate) return false;
  wanted.base_only_private = true;
  for (const std::string& point : mount_points()) {
    wanted.mount_base = point;
    if (try_start(wanted).worked()) return true;
  }
  return false;
}

std::string why(const Trial& trial) {
  if (!trial.started) return fmt::format("new namespaces are refused ({})", std::strerror(trial.error));
  return fmt::format("could not {} ({})", launch::stage_name(trial.report.failed),
                     std::strerror(trial.report.error));
}

void settle_namespaces(Abilities& found) {
  const bool root = geteuid() == 0;
  Trial first;
  for (const bool with_user : root ? std::vector{false, true} : std::vector{true}) {
    Abilities wanted = found;
    wanted.clone_flags = kAllNamespaces | (with_user ? CLONE_NEWUSER : 0);
    wanted.own_mounts = wanted.own_pids = true;
    wanted.user_namespace = with_user;
    wanted.own_uid = root && !with_user;
    Trial trial;
    if (settle_mount_base(wanted, trial)) {
      found = std::move(wanted);
      for (const char* name : {"mount namespace", "pid namespace", "network namespace", "ipc namespace",
                               "uts namespace", "cgroup namespace"}) {
        found.report.in_force.emplace_back(name);
      }
      if (with_user) found.report.in_force.emplace_back("user namespace");
      return;
    }
    if (first.error == 0 && !first.started) first = trial;
  }
  found.report.missing.push_back("mount, pid, network, ipc, uts namespaces: " + why(first) +
                                 "; in a chroot, mount /proc into it");
  found.own_uid = root;
  if (root && !try_start(found).worked()) found.own_uid = false;
}

void settle_rest(Abilities& found) {
  SandboxReport& report = found.report;
  if (found.own_uid) {
    report.in_force.emplace_back("unprivileged uid of its own");
  } else if (geteuid() == 0) {
    report.missing.emplace_back(
        "unprivileged uid: the process may not change its uid; run it as a normal user");
  } else {
    report.in_force.emplace_back("unprivileged uid");
  }
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, 1 /* LANDLOCK_CREATE_RULESET_VERSION */);
  found.landlock_abi = abi > 0 ? static_cast<int>(abi) : 0;
  if (abi > 0) {
    report.in_force.push_back(fmt::format("Landlock ABI {}", abi));
  } else {
    report.missing.emplace_back("Landlock: the kernel lacks it (5.13 or newer with lsm=landlock has it)");
  }
  if (const auto filter = seccomp_program(SystemCalls::kProgram, false); filter) {
    report.in_force.emplace_back("seccomp filter");
  } else {
    report.missing.push_back("seccomp filter: " + filter.error().message);
  }
  report.in_force.emplace_back("rlimits");
  report.in_force.emplace_back("no_new_privs");
  const Cgroup group = Cgroup::make(64 << 20, 16);
  if (group.limits_memory()) {
    report.in_force.emplace_back("cgroup memory limit");
  } else {
    report.missing.emplace_back(
        "cgroup memory limit: no writable memory controller; each process is limited by its address space "
        "alone");
  }
  if (group.limits_processes()) {
    report.in_force.emplace_back("cgroup process limit");
  } else {
    report.missing.emplace_back(
        "cgroup process limit: no writable pids controller; RLIMIT_NPROC counts by uid");
  }
}

Abilities find_abilities() {
  Abilities found;
  settle_namespaces(found);
  settle_rest(found);
  return found;
}

bool write_text(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  out.flush();
  return out.good();
}

}  // namespace

const Abilities& abilities() {
  static const Abilities found = find_abilities();
  return found;
}

const SandboxReport& sandbox_report() { return abilities().report; }

std::uint32_t child_uid(const Abilities& abilities) {
  if (abilities.user_namespace) return kUidInNamespace;
  if (!abilities.own_uid) return getuid();
  // Different for children that live at once, so that each is limited and signalled by itself.
  static std::atomic<std::uint32_t> next{0};
  return kUidBase + (static_cast<std::uint32_t>(getpid()) * 37 + next++) % kUidCount;
}

Status write_id_maps(pid_t pid, std::uint32_t inside) {
  const std::string dir = fmt::format("/proc/{}/", pid);
  write_text(dir + "setgroups", "deny");  // absent on kernels that do not ask for it
  if (!write_text(dir + "uid_map", fmt::format("{} {} 1\n", inside, geteuid())) ||
      !write_text(dir + "gid_map", fmt::format("{} {} 1\n", inside, getegid()))) {
    return failure("the id maps of a user namespace could not be written; mount /proc");
  }
  return {};
}

}  // namespace evk
