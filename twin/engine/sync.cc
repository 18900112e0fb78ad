// Buffers, queues, flags and barriers: what orders the pipes of one core. A queue is exactly flags: EnQue
// sets the flag that DeQue waits for, FreeTensor the one that the next AllocTensor of the same buffer waits
// for.
#include <fmt/format.h>

#include <algorithm>

#include "twin/engine/core.h"

namespace evk::twin {
namespace {

using abi::Op;

constexpr std::size_t kBuffersMax = 1024;                             // more than any program declares
constexpr std::size_t kBuffersOfKernel = 64, kBuffersOfPosition = 8;  // the device's limits

bool is_pipe(std::uint64_t p) { return p < abi::kPipes; }
const char* pipe_name(int p) {
  static constexpr const char* kNames[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
  return kNames[p];
}
const char* space_name(abi::Space s) {
  static constexpr const char* kNames[] = {"no memory",      "GM", "UB", "L1", "L0A", "L0B", "L0C",
                                           "the bias table", "FB"};
  return kNames[static_cast<std::size_t>(s)];
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

LineCost& Core::line_cost() {
  const std::size_t at = loc_ < Findings::kLocationsMax ? loc_ : 0;
  if (lines_.size() <= at) lines_.resize(at + 1);
  return lines_[at];
}

void Core::scalar(double cycles) {
  block_->ready[kS] += cycles;
  block_->done[kS] = block_->ready[kS];
  block_->totals.busy[kS] += cycles;
  line_cost().busy += cycles;
}

double Core::run_on(int pipe, double cycles, double latency) {
  const auto p = static_cast<std::size_t>(pipe);
  Block& b = *block_;
  b.ready[kS] += cost_->issue;
  b.totals.busy[kS] += cost_->issue;
  const double start = std::max(b.ready[p], b.ready[kS]);
  LineCost& line = line_cost();
  line.busy += cycles;
  line.stalled += start - b.ready[kS];
  line.pipe = pipe;
  b.ready[p] = start + cycles;
  b.done[p] = std::max(b.done[p], start + cycles + latency);
  b.totals.busy[p] += cycles;
  return start;
}

// Ends the pipe's epoch: what it did so far can be waited for by the flag that is returned.
Flag Core::release(int pipe) {
  const auto p = static_cast<std::size_t>(pipe);
  Flag flag{block_->clock[p], std::max(block_->done[p], block_->ready[p])};
  flag.clock[p] = block_->epoch[p]++;
  return flag;
}

void Core::acquire(int pipe, const Flag& flag) {
  const auto p = static_cast<std::size_t>(pipe);
  join(block_->clock[p], flag.clock);
  block_->ready[p] = std::max(block_->ready[p], flag.at + cost_->flag);
}

void Core::set_flag(int source, int destination, std::uint64_t id) {
  FlagRegister& f = block_->flag(source, destination, id);
  if (f.pending > 0 && !findings_.again("flag_set_twice", loc_, f.loc))
    fault("flag_set_twice",
          fmt::format("flag {}_{} {} is set again before it was waited for", pipe_name(source),
                      pipe_name(destination), id),
          "wait for it first, or use another event id", f.loc);
  f.flag = release(source);
  f.pending = 1;
  f.loc = loc_;
}

void Core::wait_flag(int source, int destination, std::uint64_t id) {
  FlagRegister& f = block_->flag(source, destination, id);
  if (f.pending == 0)
    return fault("wait_without_set",
                 fmt::format("waits for flag {}_{} {} that nothing set: the device would hang here",
                             pipe_name(source), pipe_name(destination), id),
                 "set the flag on the source pipe first");
  f.pending = 0;
  acquire(destination, f.flag);
}

void Core::flag(const abi::Record& r) {
  if (!is_pipe(r.a[0]) || !is_pipe(r.a[1]))
    return fault("flag_invalid", "a flag between pipes that do not exist", "use the HardEvent names");
  if (r.a[2] >= kEventIds)
    return fault("flag_invalid", fmt::format("event id {} does not exist", static_cast<std::int64_t>(r.a[2])),
                 "event ids are 0 to 7; release those that are no longer needed");
  scalar(cost_->flag);
  const int source = static_cast<int>(r.a[0]), destination = static_cast<int>(r.a[1]);
  r.op == Op::kSetFlag ? set_flag(source, destination, r.a[2]) : wait_flag(source, destination, r.a[2]);
}

// The instructions that follow on the pipe start when those before are complete.
void Core::barrier(std::uint64_t pipe) {
  scalar(cost_->issue);
  if (pipe == static_cast<std::uint64_t>(abi::Pipe::kAll)) return barrier_all();
  if (!is_pipe(pipe) || pipe == kS)
    return fault("flag_invalid", "PipeBarrier of a pipe that has none",
                 "name PIPE_V, PIPE_MTE2, PIPE_ALL, ...");
  acquire(static_cast<int>(pipe), release(static_cast<int>(pipe)));
}

void Core::barrier_all() {
  Clock all{};
  double at = 0;
  for (int p = 0; p < abi::kPipes; ++p) {
    const Flag flag = release(p);
    join(all, flag.clock);
    at = std::max(at, flag.at);
  }
  for (std::size_t p = 0; p < abi::kPipes; ++p) {
    block_->clock[p] = all;
    block_->ready[p] = std::max(block_->ready[p], at);
  }
  block_->done[kS] = block_->ready[kS];
}

void Core::sync_all(bool vectors_only) {
  const bool part = vectors_only && abi::has_aic(kind_);
  const int cores = abi::has_aic(kind_) ? device_.aic_cores : device_.aiv_cores;
  if (block_dim_ > static_cast<std::uint32_t>(cores) && !findings_.again("sync_all_too_many_blocks", loc_))
    fault("sync_all_too_many_blocks",
          fmt::format("SyncAll of {} blocks on {} cores: those that wait for a core never arrive", block_dim_,
                      cores),
          "launch at most as many blocks as there are cores");
  sync_cores(part);
}

void Core::buffer_init(const abi::Record& r) {
  const abi::Operand& o = r.operand[0];
  if (r.operands < 1 || !is_pipe(r.a[1]) || !is_pipe(r.a[2]) || r.a[0] > 0xffff ||
      block_->buffers.size() >= kBuffersMax)
    return fault("bad_record", "too many buffers, or a pipe that does not exist");
  scalar(cost_->queue);
  const std::uint64_t size = bytes_of_space(o.space), end = o.addr + o.bytes;
  if (end > size || end < o.addr)
    fault("ub_overflow", fmt::format("buffers need {} bytes, {} has {}", end, space_name(o.space), size),
          "use smaller tiles or fewer buffers");
  else if (o.space == abi::Space::kUb && end > device_.ub_usable_bytes)
    note("ub_reserved_tail", fmt::format("buffers reach {} bytes; the last {} of UB are reserved", end,
                                         size - device_.ub_usable_bytes));
  if (o.space == abi::Space::kUb)
    block_->totals.ub_peak =
        std::max<std::uint32_t>(block_->totals.ub_peak, static_cast<std::uint32_t>(std::min(end, size)));
  Buffer buffer;
  buffer.space = o.space;
  buffer.addr = o.addr;
  buffer.bytes = o.bytes;
  buffer.queue = static_cast<std::uint16_t>(r.a[0]);
  buffer.position = static_cast<std::uint8_t>(r.a[4]);
  block_->buffers[o.buf] = buffer;
  if (++block_->buffers_of_pipe > kBuffersOfKernel && !findings_.again("too_many_buffers", loc_))
    fault("too_many_buffers", fmt::format("a kernel may have {} buffers", kBuffersOfKernel),
          "cut one TBuf into parts, or use fewer buffers in a queue");
  if (buffer.queue) block_->queues[buffer.queue] = {static_cast<int>(r.a[1]), static_cast<int>(r.a[2])};
}

void Core::queue_alloc(Buffer& buffer, int source) {
  if (buffer.was_freed) acquire(source, buffer.empty);
  buffer.state = Buffer::State::kAllocated;
  const auto taken = std::count_if(block_->buffers.begin(), block_->buffers.end(), [&](const auto& e) {
    return e.second.queue && e.second.position == buffer.position && e.second.state != Buffer::State::kFree;
  });
  if (static_cast<std::size_t>(taken) > kBuffersOfPosition &&
      !findings_.again("queue_too_many_tensors", loc_))
    fault("queue_too_many_tensors",
          fmt::format("{} tensors of one position are in use at once; the device has events for {}", taken,
                      kBuffersOfPosition),
          "free tensors earlier, or use a TBuf");
}

void Core::queue_op(const abi::Record& r) {
  const auto found = r.operands < 1 ? block_->buffers.end() : block_->buffers.find(r.operand[0].buf);
  const auto queue = block_->queues.find(r.a[0]);
  if (found == block_->buffers.end() || queue == block_->queues.end() || found->second.queue != r.a[0])
    return fault("queue_wrong_tensor", "a queue is given a tensor that is not one of its own",
                 "EnQue and FreeTensor take tensors of the same queue");
  Buffer& b = found->second;
  const auto [source, destination] = std::pair(queue->second.source, queue->second.destination);
  const auto expect = [&](bool ok, const char* what, const char* remedy) {
    if (ok || findings_.again("queue_wrong_state", loc_, b.loc)) return;
    fault("queue_wrong_state", fmt::format("{} of a tensor that is {}", what, state_name(b.state)), remedy,
          b.loc);
  };
  using State = Buffer::State;
  scalar(cost_->queue);
  switch (r.op) {
    case Op::kQueAlloc:
      expect(b.state == State::kFree, "AllocTensor", "free the tensor first");
      queue_alloc(b, source);
      break;
    case Op::kQueEnque:
      expect(b.state == State::kAllocated, "EnQue",
             "EnQue takes a tensor that AllocTensor gave and that is not enqueued yet");
      b.full = release(source);
      b.state = State::kEnqueued;
      break;
    case Op::kQueDeque:
      expect(b.state == State::kEnqueued, "DeQue", "EnQue the tensor first");
      acquire(destination, b.full);
      b.state = State::kDequeued;
      break;
    default:
      expect(b.state != State::kFree && b.state != State::kEnqueued, "FreeTensor",
             "free each tensor once, after DeQue");
      b.empty = release(destination);
      b.was_freed = true;
      b.state = State::kFree;
  }
  b.loc = loc_;
}

void Core::queue_stall(const abi::Record& r) {
  if (r.a[1] == 0)
    return fault("queue_stalled", "AllocTensor finds no free tensor in the queue: the device would hang here",
                 "free tensors in the same loop that allocates them");
  fault("queue_stalled", "DeQue finds no tensor in the queue: the device would hang here",
        "EnQue before DeQue");
}

void Core::sync(const abi::Record& r) {
  switch (r.op) {
    case Op::kPipeInit:
      block_->buffers_of_pipe = 0;
      return scalar(cost_->queue);
    case Op::kPipeReset:
      block_->buffers_of_pipe = 0;
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
      return queue_stall(r);
    case Op::kSetFlag:
    case Op::kWaitFlag:
      return flag(r);
    case Op::kPipeBarrier:
      return barrier(r.a[0]);
    case Op::kSyncAll:
      return sync_all(r.a[0] == 1);
    case Op::kCrossSet:
      return cross_set(r);
    case Op::kCrossWait:
      return cross_wait(r);
    case Op::kDataCache:
      block_->cache.clear();
      return scalar(cost_->issue);
    case Op::kDataSync:
      return scalar(cost_->issue);
    default:
      return fault("unsupported_instruction",
                   fmt::format("the twin has no synchronisation number {}", static_cast<int>(r.op)));
  }
}

// What is left over when a block ends: it may break the kernel that runs next on the core.
void Core::leaks() {
  for (const auto& [id, b] : block_->buffers)
    if (b.queue && b.state != Buffer::State::kFree) {
      loc_ = b.loc;
      note("queue_leak",
           fmt::format("a tensor of a queue is {} and not freed when the block ends", state_name(b.state)),
           "FreeTensor what AllocTensor or DeQue gave");
      break;
    }
  for (int i = 0; i < abi::kPipes * abi::kPipes * kEventIds; ++i) {
    const FlagRegister& f = block_->flags[static_cast<std::size_t>(i)];
    if (f.pending == 0) continue;
    loc_ = f.loc;
    note("flag_left_set",
         fmt::format("flag {}_{} {} is set and never waited for", pipe_name(i / kEventIds / abi::kPipes),
                     pipe_name(i / kEventIds % abi::kPipes), i % kEventIds),
         "wait for every flag that is set");
    break;
  }
}

}  // namespace evk::twin
