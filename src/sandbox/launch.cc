#include "sandbox/launch.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace evk::launch {
namespace {

constexpr char kInDir[] = "in";
constexpr char kScratchDir[] = "scratch";

// A failure on the way, handed up by value: there is nothing to unwind.
struct Step {
  Stage stage = Stage::kNone;
  int error = 0;
  int detail = 0;
  explicit operator bool() const { return stage != Stage::kNone; }
};

Step failed(Stage stage, std::size_t detail = 0) { return {stage, errno, static_cast<int>(detail)}; }

void close_all_but(const int* keep, std::size_t kept) {
  unsigned from = 0;
  for (std::size_t i = 0; i < kept; ++i) {
    const unsigned fd = static_cast<unsigned>(keep[i]);
    if (fd > from) syscall(SYS_close_range, from, fd - 1, 0);
    from = fd + 1;
  }
  syscall(SYS_close_range, from, ~0u, 0);
}

bool make_parents(int dir, const char* path) {
  char part[4096];
  const std::size_t size = std::strlen(path);
  if (size >= sizeof part) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memcpy(part, path, size + 1);
  for (std::size_t i = 1; i < size; ++i) {
    if (part[i] != '/') continue;
    part[i] = '\0';
    if (mkdirat(dir, part, 0755) != 0 && errno != EEXIST) return false;
    part[i] = '/';
  }
  return true;
}

bool write_whole(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t wrote = write(fd, bytes, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes += wrote;
    size -= static_cast<std::size_t>(wrote);
  }
  return true;
}

Step open_trees(const LaunchPlan& plan) {
  for (std::size_t i = 0; i < plan.bind_count; ++i) {
    plan.trees[i] = -1;
    if (plan.binds[i].link_text != nullptr) continue;
    const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
    plan.trees[i] = static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, plan.binds[i].source, flags));
    if (plan.trees[i] < 0) return failed(Stage::kOpenTree, i);
    // Device nodes keep working where they are bound by themselves; everything is read-only and without
    // set-uid.
    const bool device = std::strncmp(plan.binds[i].source, "/dev/", 5) == 0;
    mount_attr attributes{};
    attributes.attr_set = device ? MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC
                                 : MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    attributes.propagation = MS_PRIVATE;
    if (syscall(SYS_mount_setattr, plan.trees[i], "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
                sizeof attributes) != 0) {
      return failed(Stage::kOpenTree, i);
    }
  }
  return {};
}

Step bind_all(const LaunchPlan& plan) {
  for (std::size_t i = 0; i < plan.bind_count; ++i) {
    const Bind& bind = plan.binds[i];
    if (!make_parents(AT_FDCWD, bind.target)) return failed(Stage::kBind, i);
    if (bind.link_text != nullptr) {
      if (symlink(bind.link_text, bind.target) != 0 && errno != EEXIST) return failed(Stage::kBind, i);
      continue;
    }
    if (bind.directory) {
      if (mkdir(bind.target, 0755) != 0 && errno != EEXIST) return failed(Stage::kBind, i);
    } else {
      const int fd = open(bind.target, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
      if (fd < 0 && errno != EROFS) return failed(Stage::kBind, i);
      if (fd >= 0) close(fd);
    }
    if (syscall(SYS_move_mount, plan.trees[i], "", AT_FDCWD, bind.target, MOVE_MOUNT_F_EMPTY_PATH) != 0) {
      return failed(Stage::kBind, i);
    }
    close(plan.trees[i]);
  }
  return {};
}

Step place_files(const LaunchPlan& plan, int dir) {
  for (std::size_t i = 0; i < plan.placed_count; ++i) {
    const Placed& file = plan.placed[i];
    if (!make_parents(dir, file.path)) return failed(Stage::kPlace, i);
    const int fd = openat(dir, file.path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0555);
    if (fd < 0 || !write_whole(fd, file.bytes, file.size)) return failed(Stage::kPlace, i);
    close(fd);
  }
  return {};
}

// Without this, detaching the old root would be seen outside.
bool make_private(const LaunchPlan& plan) {
  if (!plan.base_only_private) return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  return mount(nullptr, plan.mount_base, nullptr, MS_PRIVATE, nullptr) == 0;
}

bool enter_root() {
  // Stacks the old root upon the new one, then takes it away. In a chroot the root is no mount point and
  // cannot be exchanged; chroot does, since the capability that leads out of it is dropped next.
  if (syscall(SYS_pivot_root, ".", ".") == 0) return umount2(".", MNT_DETACH) == 0 && chdir("/") == 0;
  return chroot(".") == 0 && chdir("/") == 0;
}

Step build_root(const LaunchPlan& plan) {
  if (!make_private(plan)) return failed(Stage::kMakePrivate);
  if (const Step step = open_trees(plan)) return step;
  if (mount("tmpfs", plan.mount_base, "tmpfs", MS_NOSUID | MS_NODEV, plan.root_options) != 0)
    return failed(Stage::kMountRoot);
  if (chdir(plan.mount_base) != 0) return failed(Stage::kMountRoot);
  if (const Step step = bind_all(plan)) return step;
  if ((mkdir(kInDir, 0755) != 0 && errno != EEXIST)) return failed(Stage::kPlace);
  const int in = open(kInDir, O_DIRECTORY | O_PATH | O_CLOEXEC);
  if (in < 0) return failed(Stage::kPlace);
  if (const Step step = place_files(plan, in)) return step;
  close(in);
  if (mkdir(kScratchDir, 0755) != 0 && errno != EEXIST) return failed(Stage::kScratch);
  if (mount("tmpfs", kScratchDir, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, plan.scratch_options) != 0)
    return failed(Stage::kScratch);
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  if (syscall(SYS_mount_setattr, AT_FDCWD, ".", 0, &attributes, sizeof attributes) != 0)
    return failed(Stage::kReadOnly);
  if (!enter_root()) return failed(Stage::kPivot);
  return {};
}

Step drop_privileges(const LaunchPlan& plan) {
  if (plan.set_ids) {
    // Raw calls: the C library's would signal threads that this copy does not have. In a user namespace
    // without a mapping for groups, setgroups is refused and there are none to shed.
    syscall(SYS_setgroups, 0, nullptr);
    if (syscall(SYS_setresgid, plan.gid, plan.gid, plan.gid) != 0) return failed(Stage::kIds);
    if (syscall(SYS_setresuid, plan.uid, plan.uid, plan.uid) != 0) return failed(Stage::kIds);
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) != 0) return failed(Stage::kIds);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed(Stage::kIds);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  // A change of ids clears it, so it is set last.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  return {};
}

struct LandlockRuleset {  // the fields of ABI 6; older kernels take a prefix
  std::uint64_t fs = 0, net = 0, scoped = 0;
};

std::uint64_t landlock_fs_rights(int abi) {
  std::uint64_t rights = (std::uint64_t{1} << 13) - 1;
  if (abi >= 2) rights |= std::uint64_t{1} << 13;  // linking across folders
  if (abi >= 3) rights |= std::uint64_t{1} << 14;  // truncating
  if (abi >= 5) rights |= std::uint64_t{1} << 15;  // ioctl of devices
  return rights;
}

bool landlock_allow(int ruleset, const char* path, std::uint64_t rights) {
  const int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT;
  struct stat info {};
  if (fstat(fd, &info) == 0 && !S_ISDIR(info.st_mode)) {
    rights &= LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
              (std::uint64_t{1} << 14) | (std::uint64_t{1} << 15);
  }
  landlock_path_beneath_attr rule{rights, fd};
  const bool fine = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
  close(fd);
  return fine;
}

Step apply_landlock(const LaunchPlan& plan) {
  if (plan.landlock_abi <= 0) return {};
  LandlockRuleset attributes;
  attributes.fs = landlock_fs_rights(plan.landlock_abi);
  attributes.net = plan.landlock_abi >= 4 ? 3 : 0;     // bind and connect of TCP
  attributes.scoped = plan.landlock_abi >= 6 ? 3 : 0;  // abstract sockets and signals
  const std::size_t size = plan.landlock_abi >= 6 ? 24 : plan.landlock_abi >= 4 ? 16 : 8;
  const int ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0));
  if (ruleset < 0) return failed(Stage::kLandlock);
  constexpr std::uint64_t kRead =
      LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
  bool fine = true;
  for (std::size_t i = 0; i < plan.bind_count && fine; ++i) {
    const bool device = std::strncmp(plan.binds[i].source, "/dev/", 5) == 0;
    if (plan.binds[i].link_text != nullptr) continue;
    fine =
        landlock_allow(ruleset, plan.binds[i].source, device ? kRead | LANDLOCK_ACCESS_FS_WRITE_FILE : kRead);
  }
  fine = fine && landlock_allow(ruleset, plan.in_dir, kRead) &&
         landlock_allow(ruleset, plan.scratch_dir, attributes.fs);
  fine = fine && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  if (!fine) return failed(Stage::kLandlock);
  close(ruleset);
  return {};
}

Step place_descriptors(const LaunchPlan& plan) {
  // First out of the way of every number that is wanted, then into place.
  int moved[64];
  if (plan.passed + 3 > 64) return failed(Stage::kDescriptors);
  const int standard[3] = {plan.stdin_fd, plan.stdout_fd, plan.stderr_fd};
  for (std::size_t i = 0; i < plan.passed + 3; ++i) {
    moved[i] = fcntl(i < 3 ? standard[i] : plan.pass_from[i - 3], F_DUPFD_CLOEXEC, 512);
    if (moved[i] < 0) return failed(Stage::kDescriptors, i);
  }
  for (std::size_t i = 0; i < plan.passed + 3; ++i) {
    const int number = i < 3 ? static_cast<int>(i) : plan.pass_to[i - 3];
    if (dup2(moved[i], number) < 0) return failed(Stage::kDescriptors, i);
  }
  return {};
}

Step set_limits(const LaunchPlan& plan) {
  for (std::size_t i = 0; i < plan.limit_count; ++i) {
    const rlimit value{plan.limits[i].soft, plan.limits[i].hard};
    if (setrlimit(static_cast<__rlimit_resource>(plan.limits[i].resource), &value) != 0)
      return failed(Stage::kLimits, i);
  }
  return {};
}

// Every descriptor but those that the program is to have closes at exec.
Step become_program(const LaunchPlan& plan) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (const Step step = place_descriptors(plan)) return step;
  if (const Step step = apply_landlock(plan)) return step;
  if (const Step step = set_limits(plan)) return step;
  if (plan.filter_size > 0) {
    const sock_fprog program{static_cast<unsigned short>(plan.filter_size),
                             const_cast<sock_filter*>(plan.filter)};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) return failed(Stage::kSeccomp);
  }
  execve(plan.argv[0], const_cast<char* const*>(plan.argv), const_cast<char* const*>(plan.env));
  return failed(Stage::kExec);
}

bool copy_out(int from, int to) {
  char buffer[65536];
  for (;;) {
    const ssize_t got = read(from, buffer, sizeof buffer);
    if (got == 0) return true;
    if (got < 0 || !write_whole(to, buffer, static_cast<std::size_t>(got))) return false;
  }
}

// Only plain files: a link or a pipe that the program planted is not followed.
std::uint64_t collect(const LaunchPlan& plan) {
  std::uint64_t found = 0;
  const int dir = open(plan.scratch_dir, O_DIRECTORY | O_PATH | O_CLOEXEC);
  for (std::size_t i = 0; i < plan.collected_count && i < 64 && dir >= 0; ++i) {
    const int fd = openat(dir, plan.collected[i].path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat info {};
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && copy_out(fd, plan.collected[i].fd))
      found |= std::uint64_t{1} << i;
    if (fd >= 0) close(fd);
  }
  return found;
}

// The end of `program`; every orphan that ends meanwhile is reaped on the way.
int await(pid_t program) {
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, __WALL);
    if (pid == program) return status;
    if (pid < 0 && errno != EINTR) return SIGKILL;
  }
}

void end_descendants(const LaunchPlan& plan, pid_t program) {
  // In a world of its own, or under a uid that nobody else has, it reaches the child's processes alone.
  if (plan.own_pids || plan.set_ids) {
    syscall(SYS_kill, -1, SIGKILL);
  } else {
    syscall(SYS_kill, -program, SIGKILL);
  }
  while (waitpid(-1, nullptr, __WALL) > 0 || errno == EINTR) {
  }
}

void measure(Report& report) {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  report.cpu_us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000 + used.ru_utime.tv_usec +
                  used.ru_stime.tv_usec;
  report.memory_peak_kib = used.ru_maxrss;
}

int give_up(int status_fd, const Step& step) {
  Report report;
  report.failed = step.stage;
  report.error = step.error;
  report.detail = step.detail;
  write_whole(status_fd, reinterpret_cast<const char*>(&report), sizeof report);
  return 127;
}

}  // namespace

const char* stage_name(Stage stage) {
  switch (stage) {
    case Stage::kNone:
      return "none";
    case Stage::kMakePrivate:
      return "make the mounts private";
    case Stage::kOpenTree:
      return "open a visible path";
    case Stage::kMountRoot:
      return "mount the root";
    case Stage::kBind:
      return "bind a visible path";
    case Stage::kPlace:
      return "place a file";
    case Stage::kScratch:
      return "mount the scratch folder";
    case Stage::kReadOnly:
      return "make the root read-only";
    case Stage::kPivot:
      return "enter the root";
    case Stage::kIds:
      return "drop privileges";
    case Stage::kFork:
      return "fork";
    case Stage::kDescriptors:
      return "place descriptors";
    case Stage::kLimits:
      return "set limits";
    case Stage::kLandlock:
      return "apply Landlock";
    case Stage::kSeccomp:
      return "apply the system call filter";
    case Stage::kExec:
      return "start the program";
    case Stage::kCollect:
      return "collect files";
  }
  return "unknown";
}

int run_sweep(uid_t uid) {
  if (uid == 0 || syscall(SYS_setresuid, uid, uid, uid) != 0) return 1;
  // Until nobody is left to be reached: the first round may meet what is just being born.
  const timespec pause{0, 1'000'000};
  for (int round = 0; round < 500 && syscall(SYS_kill, -1, SIGKILL) == 0; ++round) nanosleep(&pause, nullptr);
  return 0;
}

int run_init(const LaunchPlan& plan) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  close_all_but(plan.keep, plan.kept);
  char go = 0;
  if (read(plan.go_fd, &go, 1) != 1) return 126;  // the parent gave up
  umask(0022);
  if (plan.own_mounts) {
    if (const Step step = build_root(plan)) return give_up(plan.status_fd, step);
  }
  if (!plan.own_pids) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  if (const Step step = drop_privileges(plan)) return give_up(plan.status_fd, step);
  if (chdir(plan.scratch_dir) != 0) return give_up(plan.status_fd, failed(Stage::kScratch));
  if (plan.probe) return give_up(plan.status_fd, {});

  const pid_t program = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (program < 0) return give_up(plan.status_fd, failed(Stage::kFork));
  if (program == 0) {
    // The program's descriptors may take the number of the status pipe; a message on it says that exec did
    // not happen.
    const int status_fd = fcntl(plan.status_fd, F_DUPFD_CLOEXEC, 640);
    return give_up(status_fd, become_program(plan));
  }

  Report report;
  report.wait_status = await(program);
  end_descendants(plan, program);
  measure(report);
  report.found = collect(plan);
  write_whole(plan.status_fd, reinterpret_cast<const char*>(&report), sizeof report);
  return 0;
}

}  // namespace evk::launch
