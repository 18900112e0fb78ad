#include "twin/program/child.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace evk::twin {

Result<RunReport> run_in_child(const Device& device, Launch launch, const std::string& shared_object,
                               const std::string& program, std::chrono::milliseconds limit) {
  if (::access(program.c_str(), X_OK) != 0)
    return failure("the runner " + program + " is not there; build npu-program", Retry::kAfterFix);
  EVK_TRY(const auto session, RingSession::create(device, std::move(launch)));
  const pid_t child = ::fork();
  if (child < 0) return failure("cannot start a process", Retry::kSameCall);
  if (child == 0) {
    if (session->program_fd() == 3)
      ::fcntl(3, F_SETFD, 0);  // duplicating onto itself would keep it closing at exec
    else
      ::dup2(session->program_fd(), 3);
    ::execl(program.c_str(), "npu-program", "3", shared_object.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  bool reaped = false;
  const auto alive = [&] {
    if (!reaped) reaped = ::waitpid(child, nullptr, WNOHANG) == child;
    return !reaped;
  };
  RunReport report = session->serve(std::chrono::steady_clock::now() + limit, alive);
  if (!reaped) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return report;
}

}  // namespace evk::twin
