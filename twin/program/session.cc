// The engine's side of the ring.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "twin/engine/engine.h"
#include "twin/program/ring.h"

namespace evk::twin {
namespace {

constexpr int kSpins = 400;
constexpr int kIdleWaitMs = 5;

template <std::size_t N>
void copy_text(char (&into)[N], const std::string& text) {
  std::strncpy(into, text.c_str(), N - 1);
}

Status describe(const LaunchTensor& t, std::uint64_t addr, RingTensor& into) {
  if (t.shape.size() > kRankMax)
    return failure(
        fmt::format("tensor {} has rank {}; at most {} are possible", t.name, t.shape.size(), kRankMax));
  copy_text(into.name, t.name);
  into.dtype = t.dtype;
  into.rank = static_cast<std::uint32_t>(t.shape.size());
  std::copy(t.shape.begin(), t.shape.end(), into.size);
  into.gm_addr = addr;
  return {};
}

class Session final : public RingSession {
 public:
  Session(std::unique_ptr<Engine> engine, int fd, Ring* ring)
      : engine_(std::move(engine)), fd_(fd), ring_(ring) {}
  ~Session() override {
    ::munmap(ring_, sizeof(Ring));
    ::close(fd_);
  }
  int program_fd() const override { return fd_; }

  RunReport serve(std::chrono::steady_clock::time_point deadline,
                  const std::function<bool()>& alive) override {
    RunEnd end = RunEnd::kAborted;
    while (true) {
      if (!wait_for_record(deadline, alive, end)) break;
      if (!take_record()) {
        end = RunEnd::kComplete;  // the engine decides whether it was
        break;
      }
    }
    ring_->stop.store(1);
    futex_wake(ring_->answered);
    futex_wake(ring_->tail);
    return engine_->finish(end);
  }

 private:
  // False if no record will come: the deadline passed, or the child is dead and the ring is empty.
  bool wait_for_record(std::chrono::steady_clock::time_point deadline, const std::function<bool()>& alive,
                       RunEnd& end) {
    for (int i = 0; i < kSpins; ++i)
      if (ring_->head.load(std::memory_order_acquire) != tail_)
        return (++taken_ & 0xffff) != 0 || in_time(deadline, end);
    while (true) {
      if (!in_time(deadline, end)) return false;
      ring_->consumer_waits.store(1);
      const std::uint32_t head = ring_->head.load();
      if (head != tail_) return true;
      futex_wait(ring_->head, head, kIdleWaitMs);
      ring_->consumer_waits.store(0);
      if (ring_->head.load(std::memory_order_acquire) != tail_) return true;
      if (!alive() && ring_->head.load(std::memory_order_acquire) == tail_) return false;
    }
  }

  bool in_time(std::chrono::steady_clock::time_point deadline, RunEnd& end) const {
    if (std::chrono::steady_clock::now() < deadline) return true;
    end = RunEnd::kTimedOut;
    return false;
  }

  // Executes the next record. False when the engine wants no more.
  bool take_record() {
    const RingSlot slot = ring_->slot[tail_ % kSlots];  // a copy: the program may write on
    std::uint32_t bulk_bytes = std::min<std::uint32_t>(slot.bulk_bytes, abi::kBulkBytes);
    if (bulk_bytes) std::memcpy(bulk_.data(), ring_->bulk, bulk_bytes);
    const Engine::Answer answer =
        engine_->execute(slot.record, bulk_bytes ? bulk_.data() : nullptr, bulk_bytes);
    ++tail_;
    ring_->tail.store(tail_, std::memory_order_release);
    if (ring_->producer_waits.load(std::memory_order_relaxed)) futex_wake(ring_->tail);
    if (answer.stop) return false;
    if (slot.wants_answer) {
      ring_->answer = answer.value;
      ring_->answer_bytes = std::min<std::uint32_t>(answer.bulk_bytes, abi::kBulkBytes);
      if (answer.bulk) std::memcpy(ring_->answer_bulk, answer.bulk, ring_->answer_bytes);
      ring_->answered.store(tail_, std::memory_order_release);
      if (ring_->answer_waits.load()) futex_wake(ring_->answered);
    }
    return true;
  }

  std::unique_ptr<Engine> engine_;
  int fd_;
  Ring* ring_;
  std::uint32_t tail_ = 0;
  std::uint64_t taken_ = 0;
  std::vector<std::byte> bulk_ = std::vector<std::byte>(abi::kBulkBytes);
};

Status fill_launch(const Device& device, const Launch& launch, const Engine& engine, RingLaunch& into) {
  if (launch.inputs.size() + launch.outputs.size() > kTensorsMax)
    return failure(fmt::format("{} tensors; at most {} are possible",
                               launch.inputs.size() + launch.outputs.size(), kTensorsMax));
  copy_text(into.op, launch.op);
  copy_text(into.soc, device.soc);
  into.inputs = static_cast<std::uint32_t>(launch.inputs.size());
  into.outputs = static_cast<std::uint32_t>(launch.outputs.size());
  for (std::size_t i = 0; i < launch.inputs.size(); ++i)
    EVK_TRY_STATUS(describe(launch.inputs[i], engine.input_addr(i), into.tensor[i]));
  for (std::size_t j = 0; j < launch.outputs.size(); ++j)
    EVK_TRY_STATUS(describe(launch.outputs[j], engine.output_addr(j), into.tensor[launch.inputs.size() + j]));
  into.order_size = static_cast<std::uint32_t>(std::min<std::size_t>(launch.block_order.size(), kOrderMax));
  std::copy_n(launch.block_order.begin(), into.order_size, into.order);
  into.aiv_cores = static_cast<std::uint32_t>(device.aiv_cores);
  into.aic_cores = static_cast<std::uint32_t>(device.aic_cores);
  into.ub_bytes = device.ub_usable_bytes;
  into.l1_bytes = device.l1_bytes;
  into.l0a_bytes = device.l0a_bytes;
  into.l0b_bytes = device.l0b_bytes;
  into.l0c_bytes = device.l0c_bytes;
  into.tiling_only = launch.tiling_only;
  return {};
}

Result<std::pair<int, Ring*>> map_ring() {
  const int fd = ::memfd_create("npu-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return failure("cannot create shared memory for a program", Retry::kSameCall);
  if (::ftruncate(fd, sizeof(Ring)) != 0 ||
      ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    ::close(fd);
    return failure("cannot size shared memory for a program", Retry::kSameCall);
  }
  void* at = ::mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) {
    ::close(fd);
    return failure("cannot map shared memory for a program", Retry::kSameCall);
  }
  return std::pair(fd, static_cast<Ring*>(at));
}

// The path of the runner beside the running executable.
std::string runner_path() {
  std::error_code ignored;
  return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "npu-program").string();
}

}  // namespace

Result<std::unique_ptr<RingSession>> RingSession::create(const Device& device, Launch launch) {
  EVK_TRY(const auto mapped, map_ring());
  const auto [fd, ring] = mapped;
  Launch shapes = launch;  // described without contents
  for (auto& input : shapes.inputs) input.data = {};
  auto engine = Engine::create(device, std::move(launch));
  const Status filled = engine ? fill_launch(device, shapes, **engine, ring->launch) : Status();
  if (engine && filled) return std::make_unique<Session>(*std::move(engine), fd, ring);
  ::munmap(ring, sizeof(Ring));
  ::close(fd);
  return tl::unexpected<Error>(engine ? filled.error() : engine.error());
}

Result<RunReport> run_direct(const Device& device, const Launch& launch, const std::string& shared_object) {
  EVK_TRY(const auto session, RingSession::create(device, launch));
  const std::string runner = runner_path();
  const pid_t child = ::fork();
  if (child < 0) return failure("cannot start a process", Retry::kSameCall);
  if (child == 0) {
    if (session->program_fd() == 3)
      ::fcntl(3, F_SETFD, 0);  // duplicating onto itself would keep it closing at exec
    else
      ::dup2(session->program_fd(), 3);
    ::execl(runner.c_str(), "npu-program", "3", shared_object.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  bool reaped = false;
  const auto alive = [&] {
    if (!reaped) reaped = ::waitpid(child, nullptr, WNOHANG) == child;
    return !reaped;
  };
  RunReport report = session->serve(std::chrono::steady_clock::now() + std::chrono::seconds(120), alive);
  ::kill(child, SIGKILL);
  if (!reaped) ::waitpid(child, nullptr, 0);
  return report;
}

BuildRecipe build_recipe(const std::string& twin_dir, const std::string& program) {
  BuildRecipe recipe;
  recipe.include_dir = twin_dir + "/include";
  const std::string root = std::filesystem::path(twin_dir).parent_path().string();
  const std::vector<std::string> common = {"-std=c++17",
                                           "-fPIC",
                                           "-w",
                                           "-pipe",
                                           "-fmax-errors=5",
                                           "-ftemplate-depth=256",
                                           "-fconstexpr-ops-limit=33554432",
                                           "-fdiagnostics-color=never",
                                           "-fno-diagnostics-show-caret",
                                           "-I" + recipe.include_dir,
                                           "-I" + root};
  recipe.kernel_flags = common;
  recipe.kernel_flags.insert(recipe.kernel_flags.end(), {"-O1", "-fno-exceptions", "-fno-rtti"});
  recipe.host_flags = common;
  recipe.host_flags.insert(recipe.host_flags.end(), {"-O0"});
  recipe.link_flags = {"-shared", "-fuse-ld=mold"};
  recipe.kernel_prelude = recipe.include_dir + "/evk_kernel_prelude.h";
  recipe.host_prelude = recipe.include_dir + "/evk_host_prelude.h";
  recipe.program = program;
  return recipe;
}

}  // namespace evk::twin
