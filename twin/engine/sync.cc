// Buffers, queues, flags and barriers: what orders the pipes of one core. A queue is exactly flags: EnQue
// sets the flag that DeQue waits for, FreeTensor the one that the next AllocTensor of the same buffer waits
// for.
#include <fmt/format.h>

#include <algorithm>

#include "twin/engine/core.h"

namespace evk::twin {
namespace {

using abi::Op;

constexpr std::size_t kBuffersMax = 1024, kFlagsMax = 64;
constexpr int kS = 0;

bool is_pipe(std::uint64_t p) { return p < abi::kPipes; }
const char* pipe_name(int p) {
  static constexpr const char* kNames[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
  return kNames[p];
}
const char* state_name(Buffer::State s) {
  switch (s) {
    case Buffer::State::kFree:
      return "free";
    case Buffer::State::kAllocated:
      return "allocated";
    case Buffer::State::kEnqueued:
      return "enqueued";
    case Buffer::State::kDequeued:
      return "dequeued";
  }
  return "free";
}

}  // namespace

void Core::scalar(double cycles) {
  block_->ready[kS] += cycles;
  block_->done[kS] = block_->ready[kS];
  block_->busy[kS] += cycles;
  auto& line = block_->lines[loc_];
  line.busy += cycles;
}

void Core::run_on(int pipe, double cycles) {
  const auto p = static_cast<std::size_t>(pipe);
  Block& b = *block_;
  b.ready[kS] += cost_->issue();
  b.busy[kS] += cost_->issue();
  const double start = std::max(b.ready[p], b.ready[kS]);
  auto& line = b.lines[loc_];
  line.busy += cycles;
  line.stalled += start - b.ready[kS];
  line.pipe = pipe;
  b.ready[p] = b.done[p] = start + cycles;
  b.busy[p] += cycles;
}

// Ends the pipe's epoch: what it did so far can be waited for by the flag that is returned.
Flag Core::release(int pipe) {
  const auto p = static_cast<std::size_t>(pipe);
  const Flag flag{block_->clock[p], block_->done[p]};
  ++block_->clock[p][p];
  return flag;
}

void Core::acquire(int pipe, const Flag& flag) {
  const auto p = static_cast<std::size_t>(pipe);
  join(block_->clock[p], flag.clock);
  block_->ready[p] = std::max(block_->ready[p], flag.at + cost_->at("s.flag_cycles"));
}

void Core::set_flag(int source, int destination, std::uint64_t id) {
  auto& pending = block_->flags[{source, destination, id}];
  if (pending.size() >= kFlagsMax) return;
  if (!pending.empty())
    fault("flag_set_twice",
          fmt::format("flag {}_{} {} is set again before it was waited for", pipe_name(source),
                      pipe_name(destination), id),
          "wait for it first, or use another event id");
  pending.push_back(release(source));
}

void Core::wait_flag(int source, int destination, std::uint64_t id) {
  auto& pending = block_->flags[{source, destination, id}];
  if (pending.empty())
    return fault("wait_without_set",
                 fmt::format("waits for flag {}_{} {} that nothing set: the device would hang here",
                             pipe_name(source), pipe_name(destination), id),
                 "set the flag on the source pipe first");
  acquire(destination, pending.front());
  pending.erase(pending.begin());
}

void Core::barrier_all() {
  Clock all{};
  double at = 0;
  for (std::size_t p = 0; p < abi::kPipes; ++p) {
    join(all, block_->clock[p]);
    at = std::max(at, std::max(block_->done[p], block_->ready[kS]));
  }
  for (std::size_t p = 0; p < abi::kPipes; ++p) {
    block_->clock[p] = all;
    ++block_->clock[p][p];
    block_->ready[p] = std::max(block_->ready[p], at);
  }
  block_->done[kS] = block_->ready[kS];
}

// The last block to arrive takes all on: they leave together.
void Core::sync_all() {
  barrier_all();
  ++block_->phase;
  const auto arrived = [&](const auto& entry) { return entry.second->phase >= block_->phase; };
  if (blocks_.size() < block_dim_ || !std::all_of(blocks_.begin(), blocks_.end(), arrived)) return;
  double at = 0;
  for (const auto& [index, b] : blocks_) at = std::max(at, b->end_cycle());
  at += cost_->at("launch.sync_all_cycles");
  for (const auto& [index, b] : blocks_) b->ready.fill(at);
}

void Core::buffer_init(const abi::Record& r) {
  const abi::Operand& o = r.operand[0];
  if (!is_pipe(r.a[1]) || !is_pipe(r.a[2]) || block_->buffers.size() >= kBuffersMax)
    return fault("bad_record", "too many buffers, or a pipe that does not exist");
  const std::uint64_t size = bytes_of_space(o.space), end = o.addr + o.bytes;
  if (end > size || end < o.addr)
    fault("ub_overflow", fmt::format("buffers need {} bytes, the memory has {}", end, size),
          "use smaller tiles or fewer buffers");
  else if (o.space == abi::Space::kUb && end > device_.ub_usable_bytes)
    note("ub_reserved_tail", fmt::format("buffers reach {} bytes; the last {} of UB are reserved", end,
                                         size - device_.ub_usable_bytes));
  if (o.space == abi::Space::kUb)
    block_->ub_peak =
        std::max<std::uint32_t>(block_->ub_peak, static_cast<std::uint32_t>(std::min(end, size)));
  Buffer buffer;
  buffer.space = o.space;
  buffer.addr = o.addr;
  buffer.bytes = o.bytes;
  buffer.queue = static_cast<std::uint16_t>(r.a[0]);
  block_->buffers[o.buf] = buffer;
  if (buffer.queue) {
    QueueInfo& queue = block_->queues[buffer.queue];
    queue.source = static_cast<int>(r.a[1]);
    queue.destination = static_cast<int>(r.a[2]);
    queue.buffers.push_back(o.buf);
  }
  scalar(cost_->at("s.queue_cycles"));
}

void Core::queue_op(const abi::Record& r) {
  const auto found = block_->buffers.find(r.operand[0].buf);
  const auto queue = block_->queues.find(r.a[0]);
  if (found == block_->buffers.end() || queue == block_->queues.end() || found->second.queue != r.a[0])
    return fault("queue_wrong_tensor", "a queue is given a tensor that is not one of its own",
                 "EnQue and FreeTensor take tensors of the same queue");
  Buffer& b = found->second;
  const auto [source, destination] = std::pair(queue->second.source, queue->second.destination);
  const auto expect = [&](Buffer::State state, const char* what, const char* remedy) {
    if (b.state != state)
      fault("queue_wrong_state", fmt::format("{} of a tensor that is {}", what, state_name(b.state)), remedy);
  };
  scalar(cost_->at("s.queue_cycles"));
  switch (r.op) {
    case Op::kQueAlloc:
      expect(Buffer::State::kFree, "AllocTensor", "free the tensor first");
      if (b.was_freed) acquire(source, b.empty);
      b.state = Buffer::State::kAllocated;
      return;
    case Op::kQueEnque:
      expect(Buffer::State::kAllocated, "EnQue",
             "EnQue takes a tensor that AllocTensor gave and that is not enqueued yet");
      b.full = release(source);
      b.state = Buffer::State::kEnqueued;
      return;
    case Op::kQueDeque:
      expect(Buffer::State::kEnqueued, "DeQue", "EnQue the tensor first");
      acquire(destination, b.full);
      b.state = Buffer::State::kDequeued;
      return;
    default:
      if (b.state == Buffer::State::kFree || b.state == Buffer::State::kEnqueued)
        fault("queue_wrong_state", fmt::format("FreeTensor of a tensor that is {}", state_name(b.state)),
              "free each tensor once, after DeQue");
      b.empty = release(destination);
      b.was_freed = true;
      b.state = Buffer::State::kFree;
  }
}

void Core::sync(const abi::Record& r) {
  switch (r.op) {
    case Op::kPipeInit:
      return scalar(cost_->at("s.queue_cycles"));
    case Op::kPipeReset:
      block_->buffers.clear();
      block_->queues.clear();
      return barrier_all();
    case Op::kBufInit:
      return buffer_init(r);
    case Op::kQueAlloc:
    case Op::kQueEnque:
    case Op::kQueDeque:
    case Op::kQueFree:
      return queue_op(r);
    case Op::kQueStall:
      return fault("queue_stalled",
                   r.a[1] == 0 ? "AllocTensor finds no free tensor in the queue: the device would hang here"
                               : "DeQue finds no tensor in the queue: the device would hang here",
                   r.a[1] == 0 ? "free tensors in the same loop that allocates them" : "EnQue before DeQue");
    case Op::kSetFlag:
    case Op::kWaitFlag:
      if (!is_pipe(r.a[0]) || !is_pipe(r.a[1]) || r.a[2] > 7)
        return fault("flag_invalid", fmt::format("event id {} or its pipes do not exist", r.a[2]),
                     "event ids are 0 to 7");
      scalar(cost_->at("s.flag_cycles"));
      if (r.op == Op::kSetFlag) return set_flag(static_cast<int>(r.a[0]), static_cast<int>(r.a[1]), r.a[2]);
      return wait_flag(static_cast<int>(r.a[0]), static_cast<int>(r.a[1]), r.a[2]);
    case Op::kPipeBarrier:
      scalar(cost_->issue());
      if (r.a[0] == static_cast<std::uint64_t>(abi::Pipe::kAll)) barrier_all();
      return;
    case Op::kSyncAll:
      return sync_all();
    case Op::kDataCache:
    case Op::kDataSync:
      return scalar(cost_->issue());
    default:
      return fault("unsupported_instruction",
                   fmt::format("the twin has no synchronisation number {}", static_cast<int>(r.op)));
  }
}

}  // namespace evk::twin
