#include "sandbox/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "sandbox/abilities.h"
#include "sandbox/cgroup.h"
#include "sandbox/launch.h"
#include "sandbox/seccomp_filter.h"

namespace evk {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kCollectedMax = 64, kPassedMax = 60;
constexpr int kNumberMax = 255;

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { reset(); }
  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

struct Pipe {
  Fd read, write;
};

tl::unexpected<Error> system_failure(const std::string& what) {
  return failure(fmt::format("sandbox: {}: {}", what, std::strerror(errno)), Retry::kSameCall);
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_failure("pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

Result<Fd> make_memory_file(const std::string& content) {
  Fd fd(memfd_create("evk", MFD_CLOEXEC));
  if (fd.get() < 0) return system_failure("memfd_create");
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t wrote =
        pwrite(fd.get(), content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (wrote <= 0) return system_failure("write of the input");
    done += static_cast<std::size_t>(wrote);
  }
  return fd;
}

std::string whole_file(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return {};
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

bool is_plain_relative(const std::string& path) {
  const std::filesystem::path p(path);
  if (path.empty() || p.is_absolute()) return false;
  return std::none_of(p.begin(), p.end(),
                      [](const auto& part) { return part == ".." || part == "." || part.empty(); });
}

Status check_spec(const ChildSpec& spec) {
  if (spec.argv.empty() || !(spec.argv[0].starts_with('/') || spec.argv[0].starts_with("@in/"))) {
    return failure("sandbox: the program's path must be absolute");
  }
  if (spec.descriptors.size() > kPassedMax || spec.collect.size() > kCollectedMax) {
    return failure("sandbox: too many descriptors or files to collect");
  }
  for (const PassedFd& passed : spec.descriptors) {
    if (passed.number < 3 || passed.number > kNumberMax)
      return failure(
          fmt::format("sandbox: descriptor number {} is not in [3, {}]", passed.number, kNumberMax));
  }
  for (const PlacedFile& file : spec.files) {
    if (!is_plain_relative(file.path))
      return failure(fmt::format("sandbox: '{}' is not a plain relative path", file.path));
  }
  for (const std::string& path : spec.collect) {
    if (!is_plain_relative(path) || path.find('/') != std::string::npos)
      return failure(fmt::format("sandbox: cannot collect '{}'", path));
  }
  return {};
}

// One visible path may need several entries: each symbolic link on the way, and where they lead.
class VisiblePaths {
 public:
  struct Entry {
    std::string link_text;
    bool directory = false;
  };

  Status add(const std::string& path, int depth = 0) {
    if (!path.starts_with('/') || depth > 16)
      return failure(fmt::format("sandbox: visible path '{}' is not absolute or loops", path));
    std::filesystem::path walked("/");
    const std::filesystem::path whole = std::filesystem::path(path).lexically_normal();
    for (auto part = std::next(whole.begin()); part != whole.end(); ++part) {
      if (part->empty()) continue;
      walked /= *part;
      std::error_code error;
      if (!std::filesystem::is_symlink(walked, error)) continue;
      const std::filesystem::path target = std::filesystem::read_symlink(walked, error);
      entries_[walked.string()].link_text = target.string();
      std::filesystem::path rest = target.is_absolute() ? target : walked.parent_path() / target;
      for (auto next = std::next(part); next != whole.end(); ++next) rest /= *next;
      return add(rest.lexically_normal().string(), depth + 1);
    }
    struct stat info {};
    if (stat(walked.c_str(), &info) != 0)
      return failure(fmt::format("sandbox: visible path {} does not exist", path), Retry::kAfterFix);
    entries_[walked.string()].directory = S_ISDIR(info.st_mode);
    return {};
  }

  // In an order in which parents come first; what lies in a folder that is visible anyway is left out.
  std::vector<std::pair<std::string, Entry>> ordered() const {
    std::vector<std::pair<std::string, Entry>> out;
    std::string covered;
    for (const auto& [path, entry] : entries_) {  // a folder sorts before what it holds
      if (!covered.empty() && path.starts_with(covered + "/")) continue;
      out.emplace_back(path, entry);
      if (entry.directory) covered = path;
    }
    return out;
  }

 private:
  std::map<std::string, Entry> entries_;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// Owns every string and array that a LaunchPlan points to.
class Preparation {
 public:
  Status prepare(const ChildSpec& spec, const Abilities& can) {
    uid_ = child_uid(can);
    EVK_TRY_STATUS(make_folders(spec, can));
    EVK_TRY_STATUS(prepare_visible(spec));
    for (const std::string& word : spec.argv) argv_text_.push_back(with_folders(word));
    for (const std::string& word : spec.env) env_text_.push_back(with_folders(word));
    for (const std::string& word : argv_text_) argv_.push_back(word.c_str());
    for (const std::string& word : env_text_) env_.push_back(word.c_str());
    argv_.push_back(nullptr);
    env_.push_back(nullptr);
    std::uint64_t placed_bytes = 1 << 20;
    for (const PlacedFile& file : spec.files) {
      placed_.push_back({file.path.c_str(), file.bytes.data(), file.bytes.size()});
      placed_bytes += (file.bytes.size() + 4095) / 4096 * 4096;
    }
    root_options_ = fmt::format("size={},nr_inodes=4096,mode=0755", placed_bytes);
    scratch_options_ = fmt::format("size={},nr_inodes=4096,mode=0700,uid={},gid={}",
                                   std::max<std::uint64_t>(spec.scratch_bytes, 4096), uid_, uid_);
    prepare_limits(spec.limits, can);
    EVK_TRY(filter_, seccomp_program(spec.system_calls, spec.limits.processes > 1));
    return {};
  }

  ~Preparation() {
    std::error_code ignored;
    if (!host_dir_.empty()) std::filesystem::remove_all(host_dir_, ignored);
  }

  launch::LaunchPlan plan(const Abilities& can) {
    launch::LaunchPlan plan{};
    plan.argv = argv_.data();
    plan.env = env_.data();
    plan.own_mounts = can.own_mounts;
    plan.own_pids = can.own_pids;
    plan.set_ids = can.own_uid || can.user_namespace;
    plan.uid = plan.gid = uid_;
    plan.in_dir = in_dir_.c_str();
    plan.scratch_dir = scratch_dir_.c_str();
    plan.mount_base = can.mount_base.c_str();
    plan.base_only_private = can.base_only_private;
    plan.root_options = root_options_.c_str();
    plan.scratch_options = scratch_options_.c_str();
    plan.binds = binds_.data();
    plan.bind_count = binds_.size();
    plan.trees = trees_.data();
    plan.placed = placed_.data();
    plan.placed_count = placed_.size();
    plan.limits = limits_.data();
    plan.limit_count = limits_.size();
    plan.landlock_abi = can.landlock_abi;
    plan.filter = filter_->data();
    plan.filter_size = filter_->size();
    return plan;
  }

  std::uint32_t uid() const { return uid_; }
  std::string bind_name(int index) const {
    return index >= 0 && static_cast<std::size_t>(index) < binds_.size()
               ? binds_[static_cast<std::size_t>(index)].source
               : "";
  }

 private:
  // Without a mount namespace the two folders lie on the host, and Landlock alone hides the rest.
  Status make_folders(const ChildSpec& spec, const Abilities& can) {
    if (can.own_mounts) return {};
    std::string name = (std::filesystem::temp_directory_path() / "evokernel-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return system_failure("mkdtemp");
    host_dir_ = name;
    in_dir_ = host_dir_ + "/in";
    scratch_dir_ = host_dir_ + "/tmp";
    std::error_code error;
    for (const std::string& dir : {in_dir_, scratch_dir_}) std::filesystem::create_directory(dir, error);
    for (const PlacedFile& file : spec.files) {
      const std::filesystem::path path = std::filesystem::path(in_dir_) / file.path;
      std::filesystem::create_directories(path.parent_path(), error);
      EVK_TRY(Fd copy, make_memory_file(file.bytes));
      const Fd out(open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0755));
      if (out.get() < 0 || ::write(out.get(), file.bytes.data(), file.bytes.size()) !=
                               static_cast<ssize_t>(file.bytes.size())) {
        return system_failure("write of " + file.path);
      }
    }
    if (chmod(host_dir_.c_str(), 0755) != 0) return system_failure("chmod");
    if (can.own_uid && chown(scratch_dir_.c_str(), uid_, uid_) != 0) return system_failure("chown");
    return {};
  }

  Status prepare_visible(const ChildSpec& spec) {
    VisiblePaths visible;
    EVK_TRY_STATUS(visible.add("/dev/null"));
    for (const std::string& path : spec.read_only_paths) EVK_TRY_STATUS(visible.add(path));
    visible_ = visible.ordered();
    for (const auto& [path, entry] : visible_) {
      binds_.push_back({path.c_str(), path.c_str() + 1,
                        entry.link_text.empty() ? nullptr : entry.link_text.c_str(), entry.directory});
    }
    trees_.assign(binds_.size(), -1);
    return {};
  }

  void prepare_limits(const ChildLimits& limits, const Abilities& can) {
    limits_ = {{RLIMIT_AS, limits.address_space_bytes, limits.address_space_bytes},
               {RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 1},
               {RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes},
               {RLIMIT_STACK, limits.stack_bytes, limits.stack_bytes},
               {RLIMIT_NOFILE, limits.open_files, limits.open_files},
               {RLIMIT_MEMLOCK, 0, 0},
               {RLIMIT_MSGQUEUE, 0, 0},
               {RLIMIT_CORE, 0, 0}};
    // It counts by uid, so it is set only where the uid is the child's own. One more for the init of its
    // world.
    if (can.own_uid || can.user_namespace)
      limits_.push_back({RLIMIT_NPROC, limits.processes + 1, limits.processes + 1});
  }

  std::string with_folders(const std::string& text) const {
    return replaced(replaced(text, "@in", in_dir_), "@tmp", scratch_dir_);
  }

  std::uint32_t uid_ = 0;
  std::string in_dir_ = "/in", scratch_dir_ = "/scratch", host_dir_;
  std::vector<std::string> argv_text_, env_text_;
  std::vector<const char*> argv_, env_;
  std::vector<std::pair<std::string, VisiblePaths::Entry>> visible_;
  std::vector<launch::Bind> binds_;
  std::vector<int> trees_;
  std::vector<launch::Placed> placed_;
  std::vector<launch::Limit> limits_;
  std::string root_options_, scratch_options_;
  const std::vector<sock_filter>* filter_ = nullptr;
};

class RunningChild final : public Child {
 public:
  explicit RunningChild(const ChildSpec& spec) : limits_(spec.limits), collect_count_(spec.collect.size()) {}

  ~RunningChild() override {
    if (pid_ > 0 && !end_) {
      kill();
      finish();
    }
  }

  Status launch(const ChildSpec& spec) {
    const Abilities& can = abilities();
    EVK_TRY_STATUS(preparation_.prepare(spec, can));
    EVK_TRY(Pipe out, make_pipe());
    EVK_TRY(Pipe err, make_pipe());
    EVK_TRY(Pipe go, make_pipe());
    EVK_TRY(Pipe status, make_pipe());
    EVK_TRY(Fd in, make_memory_file(spec.input));
    for (std::size_t i = 0; i < spec.collect.size(); ++i) {
      EVK_TRY(Fd file, make_memory_file(""));
      collected_.push_back(std::move(file));
    }
    // The init of the child's world counts too, and so does each thread of a compiler's helpers.
    group_ = Cgroup::make(limits_.memory_bytes, limits_.processes + 2);

    launch::LaunchPlan plan = preparation_.plan(can);
    plan.go_fd = go.read.get();
    plan.status_fd = status.write.get();
    plan.stdin_fd = in.get();
    plan.stdout_fd = out.write.get();
    plan.stderr_fd = err.write.get();
    std::vector<int> from, to;
    for (const PassedFd& passed : spec.descriptors) {
      from.push_back(passed.fd);
      to.push_back(passed.number);
    }
    plan.pass_from = from.data();
    plan.pass_to = to.data();
    plan.passed = from.size();
    std::vector<launch::Collected> collected;
    for (std::size_t i = 0; i < spec.collect.size(); ++i)
      collected.push_back({spec.collect[i].c_str(), collected_[i].get()});
    plan.collected = collected.data();
    plan.collected_count = collected.size();
    std::vector<int> keep = from;
    keep.insert(keep.end(), {plan.go_fd, plan.status_fd, plan.stdin_fd, plan.stdout_fd, plan.stderr_fd});
    for (const Fd& file : collected_) keep.push_back(file.get());
    std::sort(keep.begin(), keep.end());
    keep.erase(std::unique(keep.begin(), keep.end()), keep.end());
    plan.keep = keep.data();
    plan.kept = keep.size();

    EVK_TRY_STATUS(clone_init(plan, can));
    deadline_ = Clock::now() + limits_.wall;
    if (can.user_namespace) EVK_TRY_STATUS(write_id_maps(pid_, preparation_.uid()));
    if (!group_.add(pid_)) return system_failure("join of the control group");
    if (write(go.write.get(), "g", 1) != 1) return system_failure("start signal");
    out_ = std::move(out.read);
    err_ = std::move(err.read);
    status_ = std::move(status.read);
    fcntl(out_.get(), F_SETFL, O_NONBLOCK);
    fcntl(err_.get(), F_SETFL, O_NONBLOCK);
    fcntl(status_.get(), F_SETFL, O_NONBLOCK);
    return {};
  }

  bool alive() override {
    if (end_) return false;
    pump();
    if (Clock::now() >= deadline_) stop_for(LimitHit::kWall);
    if (!init_ended(0)) return true;
    finish();
    return false;
  }

  void kill() override {
    if (end_ || stopped_) return;
    by_caller_ = true;
    stop();
  }

  Result<ChildEnd> wait() override {
    while (!end_) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
      std::array<pollfd, 3> watched = {pollfd{pidfd_.get(), POLLIN, 0},
                                       pollfd{out_open_ ? out_.get() : -1, POLLIN, 0},
                                       pollfd{err_open_ ? err_.get() : -1, POLLIN, 0}};
      poll(watched.data(), watched.size(), static_cast<int>(std::clamp<long long>(left + 1, 0, 1000)));
      alive();
    }
    return *end_;
  }

 private:
  Status clone_init(launch::LaunchPlan& plan, const Abilities& can) {
    int pidfd = -1;
    const long pid =
        syscall(SYS_clone, can.clone_flags | CLONE_PIDFD | SIGCHLD, nullptr, &pidfd, nullptr, nullptr);
    if (pid == 0) _exit(launch::run_init(plan));
    if (pid < 0) return system_failure("clone");
    pid_ = static_cast<pid_t>(pid);
    pidfd_ = Fd(pidfd);
    return {};
  }

  bool init_ended(int timeout_ms) {
    pollfd watched{pidfd_.get(), POLLIN, 0};
    return poll(&watched, 1, timeout_ms) > 0;
  }

  void stop() {
    stopped_ = true;
    // The end of its init is the end of every process of the child's world.
    syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
  }

  void stop_for(LimitHit limit) {
    if (stopped_) return;
    limit_ = limit;
    stop();
  }

  void pump() {
    out_open_ = out_open_ && pump(out_, output_);
    err_open_ = err_open_ && pump(err_, errors_);
  }

  // False at the end of the stream.
  bool pump(const Fd& from, std::string& to) {
    char buffer[16384];
    for (;;) {
      const ssize_t got = read(from.get(), buffer, sizeof buffer);
      if (got < 0) return errno == EAGAIN || errno == EINTR;
      if (got == 0) return false;
      const std::size_t room = limits_.output_bytes - std::min<std::size_t>(to.size(), limits_.output_bytes);
      to.append(buffer, std::min(room, static_cast<std::size_t>(got)));
      if (static_cast<std::size_t>(got) > room) {
        stop_for(LimitHit::kOutput);
        return true;
      }
    }
  }

  void sweep() const {
    const Abilities& can = abilities();
    if (can.own_pids || !can.own_uid) return;
    const long pid = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (pid == 0) _exit(launch::run_sweep(preparation_.uid()));
    while (pid > 0 && waitpid(static_cast<pid_t>(pid), nullptr, __WALL) < 0 && errno == EINTR) {
    }
  }

  void finish() {
    rusage used{};
    int status = 0;
    while (wait4(pid_, &status, __WALL, &used) < 0 && errno == EINTR) {
    }
    sweep();
    pump();
    launch::Report report;
    const bool reported = status_.get() >= 0 && read(status_.get(), &report, sizeof report) == sizeof report;
    if (reported && report.failed != launch::Stage::kNone) {
      end_ = start_failure(report);
      return;
    }
    ChildEnd end;
    end.output = std::move(output_);
    end.errors = std::move(errors_);
    end.killed_by_caller = by_caller_;
    end.cpu_seconds = static_cast<double>(report.cpu_us) / 1e6;
    const double init_seconds = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                                static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    end.cpu_seconds = std::max(end.cpu_seconds, init_seconds);
    end.memory_peak_bytes = static_cast<std::uint64_t>(report.memory_peak_kib) * 1024;
    end.limit = limit_;
    decode(reported ? report.wait_status : status, reported, end);
    for (std::size_t i = 0; i < collect_count_; ++i) {
      end.found.push_back((report.found >> i & 1) != 0);
      end.collected.push_back(end.found.back() ? whole_file(collected_[i].get()) : std::string());
    }
    if (!reported && !stopped_ && end.limit == LimitHit::kNone) {
      end_ = failure("sandbox: the child's world ended without a report", Retry::kSameCall);
      return;
    }
    end_ = std::move(end);
  }

  void decode(int status, bool reported, ChildEnd& end) const {
    if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
    if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
    if (end.limit != LimitHit::kNone || by_caller_) return;
    if (end.signal == 0 && end.exit_code == 0) return;
    if (group_.memory_limit_hit()) {
      end.limit = LimitHit::kMemory;
    } else if (end.signal == SIGXCPU ||
               (reported && end.signal == SIGKILL && end.cpu_seconds >= limits_.cpu_seconds)) {
      end.limit = LimitHit::kCpu;
    } else if (end.signal == SIGXFSZ) {
      end.limit = LimitHit::kFiles;
    } else if (group_.process_limit_hit()) {
      end.limit = LimitHit::kProcesses;
    }
  }

  Result<ChildEnd> start_failure(const launch::Report& report) const {
    const bool path = report.failed == launch::Stage::kOpenTree || report.failed == launch::Stage::kBind;
    return failure(
        fmt::format("sandbox: could not {}{}: {}", launch::stage_name(report.failed),
                    path ? " " + preparation_.bind_name(report.detail) : "", std::strerror(report.error)),
        Retry::kAfterFix);
  }

  const ChildLimits limits_;
  const std::size_t collect_count_;
  Preparation preparation_;
  Cgroup group_;
  std::vector<Fd> collected_;
  pid_t pid_ = -1;
  Fd pidfd_, out_, err_, status_;
  bool out_open_ = true, err_open_ = true;
  Clock::time_point deadline_;
  bool stopped_ = false, by_caller_ = false;
  LimitHit limit_ = LimitHit::kNone;
  std::string output_, errors_;
  std::optional<Result<ChildEnd>> end_;
};

}  // namespace

std::string_view name_of(LimitHit limit) {
  switch (limit) {
    case LimitHit::kNone:
      return "none";
    case LimitHit::kWall:
      return "wall";
    case LimitHit::kCpu:
      return "cpu";
    case LimitHit::kMemory:
      return "memory";
    case LimitHit::kFiles:
      return "files";
    case LimitHit::kProcesses:
      return "processes";
    case LimitHit::kOutput:
      return "output";
  }
  return "none";
}

Result<std::unique_ptr<Child>> Child::start(const ChildSpec& spec) {
  EVK_TRY_STATUS(check_spec(spec));
  auto child = std::make_unique<RunningChild>(spec);
  EVK_TRY_STATUS(child->launch(spec));
  return child;
}

Result<ChildEnd> run_child(const ChildSpec& spec) {
  EVK_TRY(std::unique_ptr<Child> child, Child::start(spec));
  return child->wait();
}

std::vector<std::string> runtime_paths() {
  std::vector<std::string> paths;
  for (const char* path : {"/lib", "/lib64", "/usr/lib"}) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) paths.emplace_back(path);
  }
  return paths;
}

std::vector<std::string> toolchain_paths() {
  std::vector<std::string> paths = runtime_paths();
  for (const char* path : {"/usr", "/bin", "/etc/alternatives"}) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) paths.emplace_back(path);
  }
  return paths;
}

}  // namespace evk
