#include "generate/command_generator.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

extern char** environ;

namespace evk {
namespace {

using Clock = std::chrono::steady_clock;

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

std::string system_text(int number) { return std::generic_category().message(number); }

tl::unexpected<Error> again(const CommandConfig& config, const std::string& what) {
  return failure(fmt::format("command \"{}\": {}", config.command, what), Retry::kSameCall);
}

// A child in a process group of its own. What is left of the group ends with this object.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill_group();
    if (!reaped_) wait();
  }
  void kill_group() const { ::kill(-pid_, SIGKILL); }
  // The wait status of the leader.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
    return status;
  }
  // The status, if the leader ends before `end`.
  bool ends_before(Clock::time_point end, int& status) {
    while (true) {
      const pid_t got = ::waitpid(pid_, &status, WNOHANG);
      if (got == pid_) return reaped_ = true;
      if (Clock::now() >= end) return false;
      ::usleep(2000);
    }
  }

 private:
  pid_t pid_;
  bool reaped_ = false;
};

// Both ends of a stream socket: unlike a pipe's, a write to its closed end can be told not to raise a signal.
bool make_pair(Descriptor& ours, Descriptor& theirs) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  ours = Descriptor(ends[0]);
  theirs = Descriptor(ends[1]);
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  return true;
}

int spawn_shell(const std::string& command, int in, int out, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::string shell = "/bin/sh", flag = "-c", text = command;
  std::array<char*, 4> arguments = {shell.data(), flag.data(), text.data(), nullptr};
  const int failed = ::posix_spawn(&pid, shell.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return failed;
}

// Sends `prompt` and collects the answer until the other side closes its output.
class Talk {
 public:
  Talk(Descriptor to, Descriptor from, const std::string& prompt, std::size_t bytes_max)
      : to_(std::move(to)), from_(std::move(from)), prompt_(prompt), bytes_max_(bytes_max) {}

  // Empty if all went well, else what went wrong.
  std::string run(Clock::time_point end) {
    while (from_.is_open()) {
      std::array<pollfd, 2> wanted = {pollfd{from_.get(), POLLIN, 0}, pollfd{to_.get(), POLLOUT, 0}};
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
      if (left <= 0) return "the deadline passed";
      const int ready =
          ::poll(wanted.data(), to_.is_open() ? 2 : 1, static_cast<int>(std::min<long>(left, 1000)));
      if (ready < 0 && errno != EINTR) return system_text(errno);
      if (ready <= 0) continue;
      if (to_.is_open() && wanted[1].revents != 0) send();
      if (wanted[0].revents != 0) receive();
      if (answer_.size() > bytes_max_) return fmt::format("its answer is larger than {} bytes", bytes_max_);
    }
    return {};
  }
  std::string take_answer() { return std::move(answer_); }

 private:
  // A program that does not read its whole input is not at fault.
  void send() {
    const auto rest = std::string_view(prompt_).substr(sent_);
    const auto n = ::send(to_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (n > 0) sent_ += static_cast<std::size_t>(n);
    if ((n < 0 && errno != EAGAIN && errno != EINTR) || sent_ == prompt_.size()) to_.close();
  }
  void receive() {
    std::array<char, 65536> bytes;
    const auto n = ::read(from_.get(), bytes.data(), bytes.size());
    if (n > 0) answer_.append(bytes.data(), static_cast<std::size_t>(n));
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) from_.close();
  }

  Descriptor to_, from_;
  const std::string& prompt_;
  std::size_t bytes_max_, sent_ = 0;
  std::string answer_;
};

}  // namespace

Result<Answer> CommandGenerator::generate(const GenerateRequest& request) {
  const auto end = Clock::now() + config_.deadline;
  Descriptor to, their_in, from, their_out;
  if (!make_pair(to, their_in) || !make_pair(from, their_out)) return again(config_, system_text(errno));
  pid_t pid = 0;
  if (const int failed = spawn_shell(config_.command, their_in.get(), their_out.get(), pid))
    return again(config_, system_text(failed));
  Child child(pid);
  their_in.close();
  their_out.close();
  Talk talk(std::move(to), std::move(from), request.prompt, config_.answer_bytes_max);
  if (const std::string wrong = talk.run(end); !wrong.empty()) return again(config_, wrong);
  int status = 0;
  if (!child.ends_before(end, status)) return again(config_, "the deadline passed");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return again(config_, WIFEXITED(status) ? fmt::format("it ended with status {}", WEXITSTATUS(status))
                                            : fmt::format("it ended by signal {}", WTERMSIG(status)));
  Answer answer;
  answer.text = talk.take_answer();
  answer.model = config_.command;
  answer.calls = 1;
  if (answer.text.empty()) return again(config_, "it answered nothing");
  return answer;
}

}  // namespace evk
