#include "backend/model_child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "sandbox/child.h"

namespace evk {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLineMax = 8 << 20;

ChildSpec spec_of(const ModelChildConfig& config, int channel) {
  ChildSpec spec;
  spec.argv = {config.python, "-I", config.probe_folder + "/bridge.py", "3"};
  spec.env = {"PATH=/usr/bin:/bin", "HOME=@tmp", "LANG=C.UTF-8", "OMP_NUM_THREADS=1",
              "OPENBLAS_NUM_THREADS=1"};
  spec.read_only_paths = toolchain_paths();
  spec.read_only_paths.push_back(config.probe_folder);
  std::error_code error;
  for (const char* path : {"/dev/urandom", "/proc/cpuinfo", "/sys/devices/system/cpu"})
    if (fs::exists(path, error)) spec.read_only_paths.emplace_back(path);
  const fs::path prefix = fs::canonical(config.python, error).parent_path().parent_path();
  if (prefix != "/usr" && prefix.has_relative_path() && fs::is_directory(prefix, error))
    spec.read_only_paths.push_back(prefix);
  spec.descriptors = {{channel, 3}};
  spec.system_calls = SystemCalls::kCompiler;
  spec.limits.wall = config.wall * 20;
  spec.limits.cpu_seconds = 120;
  spec.limits.address_space_bytes = 6ull << 30;
  spec.limits.memory_bytes = 3ull << 30;
  spec.limits.file_bytes = 1 << 20;
  spec.limits.open_files = 256;
  spec.limits.processes = 32;
  return spec;
}

class SocketChild final : public ModelChild {
 public:
  SocketChild(std::unique_ptr<Child> child, int fd, std::chrono::milliseconds wall)
      : child_(std::move(child)), fd_(fd), wall_(wall) {}
  ~SocketChild() override {
    child_->kill();
    ::close(fd_);
  }
  SocketChild(const SocketChild&) = delete;
  SocketChild& operator=(const SocketChild&) = delete;

  void send(const std::string& line) override {
    const std::string text = line + "\n";
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t n = ::send(fd_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (n <= 0 && (errno == EAGAIN || errno == EINTR) && wait(POLLOUT)) continue;
      if (n <= 0) return;  // it ended: the next receive() says so
      at += static_cast<std::size_t>(n);
    }
  }

  std::string receive() override {
    std::size_t end = 0;
    while ((end = buffer_.find('\n')) == std::string::npos) {
      char piece[65536];
      const ssize_t n = ::recv(fd_, piece, sizeof piece, 0);
      if (n < 0 && (errno == EAGAIN || errno == EINTR) && wait(POLLIN)) continue;
      if (n <= 0 || buffer_.size() > kLineMax) return "";
      buffer_.append(piece, static_cast<std::size_t>(n));
    }
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return line;
  }

 private:
  bool wait(short events) {
    const auto deadline = std::chrono::steady_clock::now() + wall_;
    while (std::chrono::steady_clock::now() < deadline) {
      pollfd wanted{fd_, events, 0};
      if (::poll(&wanted, 1, 50) > 0) return true;
      if (!child_->alive()) return false;
    }
    return false;
  }

  std::unique_ptr<Child> child_;
  const int fd_;
  const std::chrono::milliseconds wall_;
  std::string buffer_;
};

}  // namespace

Result<std::unique_ptr<ModelChild>> ModelChild::start(const ModelChildConfig& config) {
  std::error_code error;
  if (!fs::is_regular_file(config.python, error))
    return failure(
        fmt::format("there is no Python at {}; apt-get install python3-torch libopenblas0-pthread, "
                    "or set EVOKERNEL_PYTHON",
                    config.python),
        Retry::kAfterFix);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return failure("cannot make a socket pair; raise the limit of open files", Retry::kSameCall);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  auto child = Child::start(spec_of(config, ends[1]));
  ::close(ends[1]);
  if (!child) {
    ::close(ends[0]);
    return tl::unexpected(std::move(child).error());
  }
  return std::make_unique<SocketChild>(*std::move(child), ends[0], config.wall);
}

}  // namespace evk
