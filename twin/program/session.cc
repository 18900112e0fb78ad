// The engine's side of the ring.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "twin/program/describe.h"
#include "twin/program/ring.h"

namespace evk::twin {
namespace {

constexpr int kIdleWaitMs = 5;
constexpr std::uint32_t kPublishEvery = 256;

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
    RunEnd end = RunEnd::kComplete;  // if the engine ended it, it decides whether it was
    Next next = Next::kRecord;
    do next = wait_for_record(deadline, alive);
    while (next == Next::kRecord && take_record());
    if (next == Next::kNone) end = RunEnd::kAborted;
    if (next == Next::kLate) end = RunEnd::kTimedOut;
    ring_->stop.store(1);
    futex_wake(ring_->answered);
    futex_wake(ring_->tail);
    return engine_->finish(end);
  }

 private:
  enum class Next { kRecord, kNone, kLate };

  // Waits for the next record: none will come if the child is dead and the ring is empty.
  Next wait_for_record(std::chrono::steady_clock::time_point deadline, const std::function<bool()>& alive) {
    const auto late = [&] { return std::chrono::steady_clock::now() >= deadline; };
    if ((++taken_ & 0xff) == 0 && late()) return Next::kLate;
    if (has_record()) return Next::kRecord;
    publish_tail();
    if (spin_until([&] { return has_record(); })) return Next::kRecord;
    while (!late()) {
      ring_->consumer_waits.store(1);
      const std::uint32_t head = ring_->head.load();
      if (head == tail_) futex_wait(ring_->head, head, kIdleWaitMs);
      ring_->consumer_waits.store(0);
      if (has_record()) return Next::kRecord;
      if (!alive() && !has_record()) return Next::kNone;
    }
    return Next::kLate;
  }

  // True if at least one record waits. A head that claims more than the ring holds is clamped: the engine
  // then reads slots that nobody wrote, which harms nobody but the program.
  bool has_record() {
    if (available_ == 0) available_ = std::min(ring_->head.load(std::memory_order_acquire) - tail_, kSlots);
    return available_ > 0;
  }

  void publish_tail() {
    ring_->tail.store(tail_, std::memory_order_seq_cst);
    if (ring_->producer_waits.load()) futex_wake(ring_->tail);
  }

  // Executes the next record. False when the engine wants no more.
  bool take_record() {
    const RingSlot slot = ring_->slot[tail_ % kSlots];    // a copy: the program may write on
    std::atomic_signal_fence(std::memory_order_seq_cst);  // and the compiler may not read the ring again
    const std::uint32_t bulk_bytes = std::min<std::uint32_t>(slot.bulk_bytes, abi::kBulkBytes);
    if (bulk_bytes) std::memcpy(bulk_.data(), ring_->bulk, bulk_bytes);
    const Engine::Answer answer =
        engine_->execute(slot.record, bulk_bytes ? bulk_.data() : nullptr, bulk_bytes);
    ++tail_;
    --available_;
    if (tail_ % kPublishEvery == 0) publish_tail();
    if (answer.stop) return false;
    if (slot.wants_answer) give(answer);
    return true;
  }

  void give(const Engine::Answer& answer) {
    const std::uint32_t bytes = answer.bulk ? std::min<std::uint32_t>(answer.bulk_bytes, abi::kBulkBytes) : 0;
    ring_->answer = answer.value;
    ring_->answer_bytes = bytes;  // for the program to read; never read back here
    if (bytes) std::memcpy(ring_->answer_bulk, answer.bulk, bytes);
    publish_tail();
    ring_->answered.store(tail_, std::memory_order_seq_cst);
    if (ring_->answer_waits.load()) futex_wake(ring_->answered);
  }

  std::unique_ptr<Engine> engine_;
  int fd_;
  Ring* ring_;
  std::uint32_t tail_ = 0;
  std::uint32_t available_ = 0;  // records known to wait
  std::uint64_t taken_ = 0;
  std::vector<std::byte> bulk_ = std::vector<std::byte>(abi::kBulkBytes);
};

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

Launch without_contents(const Launch& launch) {
  Launch shapes;
  shapes.op = launch.op;
  for (const auto& t : launch.inputs) shapes.inputs.push_back({t.name, t.dtype, t.shape, {}});
  for (const auto& t : launch.outputs) shapes.outputs.push_back({t.name, t.dtype, t.shape, {}});
  shapes.block_order = launch.block_order;
  shapes.tiling_only = launch.tiling_only;
  shapes.move_data = launch.move_data;
  return shapes;
}

}  // namespace

Result<std::unique_ptr<RingSession>> RingSession::create(const Device& device, Launch launch) {
  EVK_TRY(const auto mapped, map_ring());
  const auto [fd, ring] = mapped;
  const Launch shapes = without_contents(launch);
  auto engine = Engine::create(device, std::move(launch));
  const Status filled = engine ? describe(device, shapes, **engine, ring->launch) : Status();
  if (engine && filled) return std::make_unique<Session>(*std::move(engine), fd, ring);
  ::munmap(ring, sizeof(Ring));
  ::close(fd);
  return tl::unexpected<Error>(engine ? filled.error() : engine.error());
}

}  // namespace evk::twin
