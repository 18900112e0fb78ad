#include "sandbox/seccomp_filter.h"

#include <fmt/format.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>

namespace evk {
namespace {

// What the loader, the C++ runtime and a program that computes ask for.
constexpr std::array kProgramCalls = {"read",
                                      "pread64",
                                      "readv",
                                      "write",
                                      "writev",
                                      "pwrite64",
                                      "close",
                                      "fstat",
                                      "newfstatat",
                                      "stat",
                                      "lstat",
                                      "statx",
                                      "lseek",
                                      "mmap",
                                      "munmap",
                                      "mremap",
                                      "mprotect",
                                      "madvise",
                                      "brk",
                                      "futex",
                                      "sched_yield",
                                      "nanosleep",
                                      "clock_nanosleep",
                                      "clock_gettime",
                                      "clock_getres",
                                      "gettimeofday",
                                      "time",
                                      "getcpu",
                                      "rt_sigaction",
                                      "rt_sigprocmask",
                                      "rt_sigreturn",
                                      "sigaltstack",
                                      "exit",
                                      "exit_group",
                                      "execve",
                                      "arch_prctl",
                                      "set_tid_address",
                                      "set_robust_list",
                                      "rseq",
                                      "getrandom",
                                      "open",
                                      "openat",
                                      "access",
                                      "faccessat",
                                      "faccessat2",
                                      "readlink",
                                      "readlinkat",
                                      "getpid",
                                      "gettid",
                                      "getuid",
                                      "geteuid",
                                      "getgid",
                                      "getegid",
                                      "uname",
                                      "getcwd",
                                      "getdents64",
                                      "fcntl",
                                      "dup",
                                      "dup2",
                                      "dup3",
                                      "sched_getaffinity",
                                      "getrlimit",
                                      "poll",
                                      "ppoll",
                                      "pipe2",
                                      "membarrier",
                                      "restart_syscall",
                                      "unlink",
                                      "mkdir",
                                      "ftruncate",
                                      "fadvise64",
                                      "tgkill"};
// Refused with an error rather than with death: libraries ask for these in passing.
constexpr std::array kRefusedCalls = {"ioctl",         "prctl",     "prlimit64",        "sysinfo",
                                      "getppid",       "setrlimit", "clone3",           "set_mempolicy",
                                      "get_mempolicy", "mbind",     "sched_setaffinity"};
constexpr std::array kForkCalls = {"fork", "vfork", "wait4", "waitid", "setsid", "kill"};
// Denied to compilers: ways out of the box, and parts of the kernel with a record of holes.
constexpr std::array kCompilerDenied = {"socket",
                                        "socketpair",
                                        "connect",
                                        "bind",
                                        "listen",
                                        "accept",
                                        "accept4",
                                        "sendto",
                                        "sendmsg",
                                        "sendmmsg",
                                        "ptrace",
                                        "process_vm_readv",
                                        "process_vm_writev",
                                        "mount",
                                        "umount2",
                                        "pivot_root",
                                        "chroot",
                                        "unshare",
                                        "setns",
                                        "open_tree",
                                        "move_mount",
                                        "fsopen",
                                        "fsmount",
                                        "fsconfig",
                                        "fspick",
                                        "mount_setattr",
                                        "bpf",
                                        "userfaultfd",
                                        "perf_event_open",
                                        "keyctl",
                                        "add_key",
                                        "request_key",
                                        "io_uring_setup",
                                        "io_uring_enter",
                                        "io_uring_register",
                                        "kexec_load",
                                        "kexec_file_load",
                                        "init_module",
                                        "finit_module",
                                        "delete_module",
                                        "reboot",
                                        "swapon",
                                        "swapoff",
                                        "acct",
                                        "quotactl",
                                        "syslog",
                                        "personality",
                                        "seccomp",
                                        "memfd_create",
                                        "memfd_secret",
                                        "name_to_handle_at",
                                        "open_by_handle_at",
                                        "iopl",
                                        "ioperm",
                                        "settimeofday",
                                        "clock_settime",
                                        "adjtimex",
                                        "shmget",
                                        "shmat",
                                        "msgget",
                                        "semget",
                                        "mq_open",
                                        "pidfd_getfd",
                                        "fanotify_init",
                                        "inotify_init",
                                        "inotify_init1",
                                        "lookup_dcookie",
                                        "vhangup",
                                        "nfsservctl",
                                        "sethostname",
                                        "setdomainname"};

constexpr std::uint64_t kNamespaceFlags = CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |
                                          CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
                                          0x80 /* CLONE_NEWTIME */;

using Context = std::unique_ptr<void, decltype(&seccomp_release)>;

template <std::size_t N>
bool add_all(void* context, std::uint32_t action, const std::array<const char*, N>& names) {
  for (const char* name : names) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR) continue;  // unknown to this libseccomp: the default action covers it
    if (seccomp_rule_add(context, action, number, 0) != 0) return false;
  }
  return true;
}

bool allow_plain_clone(void* context, std::uint32_t action, std::uint64_t mask, std::uint64_t value) {
  return seccomp_rule_add(context, action, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, mask, value)) == 0;
}

Context program_rules(bool may_fork) {
  Context context(seccomp_init(SCMP_ACT_KILL_PROCESS), seccomp_release);
  if (context == nullptr) return context;
  bool fine = add_all(context.get(), SCMP_ACT_ALLOW, kProgramCalls) &&
              add_all(context.get(), SCMP_ACT_ERRNO(EPERM), kRefusedCalls);
  if (may_fork) {
    fine = fine && add_all(context.get(), SCMP_ACT_ALLOW, kForkCalls) &&
           allow_plain_clone(context.get(), SCMP_ACT_ALLOW, kNamespaceFlags, 0);
  }
  if (!fine) context.reset();
  return context;
}

Context compiler_rules() {
  Context context(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  if (context == nullptr) return context;
  bool fine = add_all(context.get(), SCMP_ACT_ERRNO(EPERM), kCompilerDenied);
  // The flags of clone3 lie in memory, where no filter can look; the C library falls back to clone.
  fine = fine && seccomp_rule_add(context.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
  for (int bit = 0; bit < 64 && fine; ++bit) {
    const std::uint64_t flag = std::uint64_t{1} << bit;
    if ((kNamespaceFlags & flag & ~std::uint64_t{0xff}) != 0)
      fine = allow_plain_clone(context.get(), SCMP_ACT_ERRNO(EPERM), flag, flag);
  }
  if (!fine) context.reset();
  return context;
}

Result<std::vector<sock_filter>> compiled(const Context& context) {
  if (context == nullptr)
    return failure("libseccomp could not build a filter; install libseccomp 2.5 or newer");
  const int fd = memfd_create("evk-seccomp", MFD_CLOEXEC);
  if (fd < 0) return failure(fmt::format("memfd_create failed: {}", std::strerror(errno)), Retry::kSameCall);
  std::vector<sock_filter> program;
  struct stat info {};
  const bool exported = seccomp_export_bpf(context.get(), fd) == 0 && fstat(fd, &info) == 0;
  if (exported) {
    program.resize(static_cast<std::size_t>(info.st_size) / sizeof(sock_filter));
    if (pread(fd, program.data(), static_cast<std::size_t>(info.st_size), 0) != info.st_size) program.clear();
  }
  close(fd);
  if (program.empty()) return failure("libseccomp could not export its filter");
  return program;
}

}  // namespace

Result<const std::vector<sock_filter>*> seccomp_program(SystemCalls kind, bool may_fork) {
  static std::mutex mutex;
  static std::array<std::vector<sock_filter>, 3> programs;
  const std::size_t index = kind == SystemCalls::kCompiler ? 2 : may_fork ? 1 : 0;
  std::lock_guard lock(mutex);
  if (programs[index].empty()) {
    EVK_TRY(programs[index],
            compiled(kind == SystemCalls::kCompiler ? compiler_rules() : program_rules(may_fork)));
  }
  return &programs[index];
}

}  // namespace evk
