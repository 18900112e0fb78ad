// TPipe, TQue, TBuf: on-chip memory in order of allocation, and the queues between pipes. Which buffer is
// next is decided here, and told to the engine, which checks it.
#pragma once

#include "ascendc/sync.h"

namespace AscendC {
namespace evk_detail {

constexpr std::uint32_t kBuffersMax = 32;

// Not counted as the kernel's own scalar code: the engine charges queue operations as such.
#ifdef __clang__
#define EVK_LIBRARY_CODE __attribute__((noinline))
#else
#define EVK_LIBRARY_CODE __attribute__((noinline, no_sanitize_coverage))
#endif

struct QueueSlot {
  std::uint64_t addr = 0;
  std::uint32_t bytes = 0;
  std::uint16_t buffer = 0;
  enum State : std::uint8_t { kFree, kTaken, kEnqueued } state = kFree;
};

constexpr int source_pipe(TPosition p) {
  switch (p) {
    case TPosition::VECOUT:
    case TPosition::VECCALC:
      return PIPE_V;
    case TPosition::A2:
    case TPosition::B2:
    case TPosition::C2:
      return PIPE_MTE1;
    case TPosition::CO1:
      return PIPE_M;
    default:
      return PIPE_MTE2;
  }
}
constexpr int destination_pipe(TPosition p) {
  switch (p) {
    case TPosition::VECOUT:
      return PIPE_MTE3;
    case TPosition::A1:
    case TPosition::B1:
    case TPosition::C1:
      return PIPE_MTE1;
    case TPosition::A2:
    case TPosition::B2:
    case TPosition::C2:
      return PIPE_M;
    case TPosition::CO1:
      return PIPE_FIX;
    default:
      return PIPE_V;
  }
}

// What the queues of all template arguments share.
class QueueBase {
 public:
  EVK_LIBRARY_CODE void open(abi::Space space, int source, int destination, std::int32_t depth,
                             TPosition position) {
    space_ = space;
    source_ = source;
    destination_ = destination;
    depth_ = static_cast<std::uint64_t>(depth < 0 ? 0 : depth);
    position_ = static_cast<std::uint64_t>(position);
    count_ = next_ = head_ = tail_ = 0;
    id_ = evk_twin_new_queue();
  }
  EVK_LIBRARY_CODE void add(std::uint64_t addr, std::uint32_t bytes, Loc loc) {
    if (count_ >= kBuffersMax) evk_twin_assert_failed("a queue has at most 32 buffers", loc.id());
    QueueSlot& slot = slots_[count_];
    slot = {addr, bytes, evk_twin_new_buffer(), QueueSlot::kFree};
    abi::Record r = record(abi::Op::kBufInit, loc);
    r.operands = 1;
    r.operand[0] = {addr, bytes, slot.buffer, space_, abi::DType::kNone};
    r.a[0] = id_;
    r.a[1] = static_cast<std::uint64_t>(source_);
    r.a[2] = static_cast<std::uint64_t>(destination_);
    r.a[3] = depth_;
    r.a[4] = position_;
    r.a[5] = count_++;
    emit(r);
  }
  EVK_LIBRARY_CODE QueueSlot& take(Loc loc) {
    for (std::uint32_t i = 0; i < count_; ++i) {
      QueueSlot& slot = slots_[(next_ + i) % count_];
      if (slot.state != QueueSlot::kFree) continue;
      next_ = (next_ + i + 1) % count_;
      slot.state = QueueSlot::kTaken;
      tell(abi::Op::kQueAlloc, slot.buffer, loc);
      return slot;
    }
    stall(0, loc);
  }
  // False, and the tensor is not in the queue, if the queue already holds `depth` tensors.
  EVK_LIBRARY_CODE bool enqueue(std::uint16_t buffer, Loc loc) {
    if (tail_ - head_ >= (depth_ > 0 ? depth_ : 1) || tail_ - head_ >= kBuffersMax) return false;
    tell(abi::Op::kQueEnque, buffer, loc);
    QueueSlot* slot = find(buffer);
    if (!slot) return true;  // the engine refuses a tensor of another queue
    slot->state = QueueSlot::kEnqueued;
    order_[tail_++ % kBuffersMax] = slot;
    return true;
  }
  EVK_LIBRARY_CODE QueueSlot& dequeue(Loc loc) {
    if (head_ == tail_) stall(1, loc);
    QueueSlot& slot = *order_[head_++ % kBuffersMax];
    slot.state = QueueSlot::kTaken;
    tell(abi::Op::kQueDeque, slot.buffer, loc);
    return slot;
  }
  EVK_LIBRARY_CODE void free(std::uint16_t buffer, Loc loc) {
    tell(abi::Op::kQueFree, buffer, loc);
    if (QueueSlot* slot = find(buffer)) slot->state = QueueSlot::kFree;
  }
  bool has_enqueued() const { return head_ != tail_; }
  bool has_free() const {
    for (std::uint32_t i = 0; i < count_; ++i)
      if (slots_[i].state == QueueSlot::kFree) return true;
    return false;
  }
  std::uint32_t enqueued() const { return tail_ - head_; }
  abi::Space space() const { return space_; }

 private:
  void tell(abi::Op op, std::uint16_t buffer, Loc loc) const {
    abi::Record r = record(op, loc);
    r.operands = 1;
    r.operand[0].buf = buffer;
    r.a[0] = id_;
    emit(r);
  }
  [[noreturn]] void stall(std::uint64_t why, Loc loc) const {
    abi::Record r = record(abi::Op::kQueStall, loc);
    r.a[0] = id_;
    r.a[1] = why;
    emit(r);
    evk_twin_end_program();
  }
  QueueSlot* find(std::uint16_t buffer) {
    for (std::uint32_t i = 0; i < count_; ++i)
      if (slots_[i].buffer == buffer) return &slots_[i];
    return nullptr;
  }

  QueueSlot slots_[kBuffersMax];
  QueueSlot* order_[kBuffersMax] = {};
  std::uint32_t count_ = 0, next_ = 0, head_ = 0, tail_ = 0;
  std::uint16_t id_ = 0;
  abi::Space space_ = abi::Space::kUb;
  int source_ = 0, destination_ = 0;
  std::uint64_t depth_ = 0, position_ = 0;
};

}  // namespace evk_detail

template <TPosition src, TPosition dst, std::int32_t depth, auto mask = 0>
class TQueBind {
 public:
  template <typename T>
  LocalTensor<T> AllocTensor(EVK_LOC) {
    return tensor<T>(queue_.take(EVK_HERE));
  }
  // The forms that fill a tensor of the caller's.
  template <typename T>
  void AllocTensor(LocalTensor<T>& t, EVK_LOC) {
    t = tensor<T>(queue_.take(EVK_HERE));
  }
  template <typename T>
  void DeQue(LocalTensor<T>& t, EVK_LOC) {
    t = tensor<T>(queue_.dequeue(EVK_HERE));
  }
  template <typename T>
  bool EnQue(const LocalTensor<T>& t, EVK_LOC) {
    return queue_.enqueue(t.buffer(), EVK_HERE);
  }
  template <typename T>
  LocalTensor<T> DeQue(EVK_LOC) {
    return tensor<T>(queue_.dequeue(EVK_HERE));
  }
  template <typename T>
  void FreeTensor(const LocalTensor<T>& t, EVK_LOC) {
    queue_.free(t.buffer(), EVK_HERE);
  }
  bool HasTensorInQue() const { return queue_.has_enqueued(); }
  bool VacantInQue() const { return queue_.enqueued() < static_cast<std::uint32_t>(depth > 0 ? depth : 1); }
  bool HasIdleBuffer() const { return queue_.has_free(); }
  std::int32_t GetTensorCountInQue() const { return static_cast<std::int32_t>(queue_.enqueued()); }
  void FreeAllEvent() {}
  evk_detail::QueueBase& base() { return queue_; }
  static constexpr evk_detail::abi::Space space() {
    return evk_detail::space_of(src == TPosition::GM ? dst : src);
  }
  static constexpr int source() { return evk_detail::source_pipe(src); }
  static constexpr int destination() { return evk_detail::destination_pipe(dst); }

 private:
  template <typename T>
  LocalTensor<T> tensor(const evk_detail::QueueSlot& slot) const {
    return {queue_.space(), slot.addr, slot.bytes, slot.buffer};
  }
  evk_detail::QueueBase queue_;
};

template <TPosition pos, std::int32_t depth, auto mask = 0>
class TQue : public TQueBind<pos, pos, depth, mask> {};

template <TPosition pos = TPosition::VECCALC>
class TBuf {
 public:
  template <typename T>
  LocalTensor<T> Get() const {
    return {evk_detail::space_of(pos), addr_, bytes_, buffer_};
  }
  template <typename T>
  LocalTensor<T> Get(std::uint32_t elements) const {
    return {evk_detail::space_of(pos), addr_, elements * static_cast<std::uint32_t>(sizeof(T)), buffer_};
  }
  template <typename T>
  LocalTensor<T> GetWithOffset(std::uint32_t elements, std::uint32_t offset_bytes) const {
    return {evk_detail::space_of(pos), addr_ + offset_bytes, elements * static_cast<std::uint32_t>(sizeof(T)),
            buffer_};
  }
  std::uint32_t GetBufLen() const { return bytes_; }
  void place(std::uint64_t addr, std::uint32_t bytes, evk_detail::Loc loc) {
    addr_ = addr;
    bytes_ = bytes;
    buffer_ = evk_twin_new_buffer();
    evk_detail::abi::Record r = evk_detail::record(evk_detail::abi::Op::kBufInit, loc);
    r.operands = 1;
    r.operand[0] = {addr, bytes, buffer_, evk_detail::space_of(pos), evk_detail::abi::DType::kNone};
    r.a[4] = static_cast<std::uint64_t>(pos);
    evk_detail::emit(r);
  }

 private:
  std::uint64_t addr_ = 0;
  std::uint32_t bytes_ = 0;
  std::uint16_t buffer_ = 0;
};

class TPipe {
 public:
  explicit TPipe(EVK_LOC) : file_(evk_file), line_(evk_line) {
    evk_detail::emit(evk_detail::record(evk_detail::abi::Op::kPipeInit, EVK_HERE));
    evk_twin_block()->pipe = this;
  }
  // The device joins all pipes when a TPipe ends: what comes after may use its memory anew.
  ~TPipe() {
    evk_detail::barrier(PIPE_ALL, {file_, line_});
    if (evk_twin_block()->pipe == this) evk_twin_block()->pipe = nullptr;
  }
  TPipe(const TPipe&) = delete;
  TPipe& operator=(const TPipe&) = delete;

  template <TPosition src, TPosition dst, std::int32_t depth, auto mask>
  bool InitBuffer(TQueBind<src, dst, depth, mask>& queue, std::uint8_t count, std::uint32_t bytes, EVK_LOC) {
    using Queue = TQueBind<src, dst, depth, mask>;
    queue.base().open(Queue::space(), Queue::source(), Queue::destination(), depth, src);
    for (std::uint8_t i = 0; i < count; ++i)
      queue.base().add(reserve(Queue::space(), bytes), rounded(bytes), EVK_HERE);
    return true;
  }
  template <TPosition pos>
  bool InitBuffer(TBuf<pos>& buffer, std::uint32_t bytes, EVK_LOC) {
    buffer.place(reserve(evk_detail::space_of(pos), bytes), rounded(bytes), EVK_HERE);
    return true;
  }
  // A part of the memory that TBufPool hands out by itself; with `shared`, the memory of another pool.
  template <class Pool>
  bool InitBufPool(Pool& pool, std::uint32_t bytes, EVK_LOC) {
    pool.place(reserve(Pool::space(), bytes), rounded(bytes), EVK_HERE);
    return true;
  }
  template <class Pool, class Shared, std::enable_if_t<std::is_class_v<Shared>, int> = 0>
  bool InitBufPool(Pool& pool, std::uint32_t bytes, Shared& shared, EVK_LOC) {
    return shared.share(pool, rounded(bytes), EVK_HERE);
  }
  // Memory at a fixed place, whoever has it.
  template <TPosition pos, typename T>
  LocalTensor<T> GetAbsAddr(std::int32_t offset_bytes, std::int32_t elements) const {
    return {evk_detail::space_of(pos), static_cast<std::uint64_t>(offset_bytes),
            static_cast<std::uint32_t>(elements) * static_cast<std::uint32_t>(sizeof(T)), 0};
  }
  void Reset(EVK_LOC) {
    for (auto& used : used_) used = 0;
    evk_detail::emit(evk_detail::record(evk_detail::abi::Op::kPipeReset, EVK_HERE));
  }
  void Destroy(EVK_LOC) { Reset(evk_file, evk_line); }
  void Init(EVK_LOC) { Reset(evk_file, evk_line); }
  template <HardEvent event>
  TEventID AllocEventID() {
    std::uint8_t& taken = events_[static_cast<int>(event)];
    for (TEventID id = 0; id < 8; ++id)
      if (!(taken >> id & 1)) {
        taken = static_cast<std::uint8_t>(taken | 1 << id);
        return id;
      }
    return 8;  // the engine refuses it: no more than eight exist
  }
  template <HardEvent event>
  void ReleaseEventID(TEventID id) {
    events_[static_cast<int>(event)] =
        static_cast<std::uint8_t>(events_[static_cast<int>(event)] & ~(1 << id));
  }
  TEventID FetchEventID(HardEvent event) {
    const std::uint8_t taken = events_[static_cast<int>(event)];
    for (TEventID id = 0; id < 8; ++id)
      if (!(taken >> id & 1)) return id;
    return 0;
  }
  template <HardEvent event>
  TEventID FetchEventID() {
    return FetchEventID(event);
  }

  // Bytes of a memory that buffers have taken.
  std::uint64_t used(evk_detail::abi::Space space) const { return used_[static_cast<int>(space)]; }

 private:
  static std::uint32_t rounded(std::uint32_t bytes) { return (bytes + 31) / 32 * 32; }
  std::uint64_t reserve(evk_detail::abi::Space space, std::uint32_t bytes) {
    std::uint64_t& used = used_[static_cast<int>(space)];
    const std::uint64_t addr = used;
    used += rounded(bytes);
    return addr;
  }
  const char* file_;
  int line_;
  std::uint64_t used_[9] = {};
  std::uint8_t events_[256] = {};
};

// A part of on-chip memory whose buffers come and go together. Pools may share memory: what they hold at one
// time is the kernel's affair.
template <TPosition position, std::uint32_t buffers = 4>
class TBufPool {
 public:
  template <TPosition src, TPosition dst, std::int32_t depth, auto mask>
  bool InitBuffer(TQueBind<src, dst, depth, mask>& queue, std::uint8_t count, std::uint32_t bytes, EVK_LOC) {
    using Queue = TQueBind<src, dst, depth, mask>;
    queue.base().open(Queue::space(), Queue::source(), Queue::destination(), depth, src);
    for (std::uint8_t i = 0; i < count; ++i)
      queue.base().add(take(bytes, EVK_HERE), rounded(bytes), EVK_HERE);
    return true;
  }
  template <TPosition pos>
  bool InitBuffer(TBuf<pos>& buffer, std::uint32_t bytes, EVK_LOC) {
    buffer.place(take(bytes, EVK_HERE), rounded(bytes), EVK_HERE);
    return true;
  }
  template <class Pool>
  bool InitBufPool(Pool& pool, std::uint32_t bytes, EVK_LOC) {
    pool.place(take(bytes, EVK_HERE), rounded(bytes), EVK_HERE);
    return true;
  }
  template <class Pool, class Shared, std::enable_if_t<std::is_class_v<Shared>, int> = 0>
  bool InitBufPool(Pool& pool, std::uint32_t bytes, Shared& shared, EVK_LOC) {
    return shared.share(pool, rounded(bytes), EVK_HERE);
  }
  // What another pool may use after it begins anew: all pipes have ended.
  void Reset(EVK_LOC) {
    evk_detail::barrier(PIPE_ALL, EVK_HERE);
    used_ = 0;
  }
  void place(std::uint64_t addr, std::uint32_t bytes, evk_detail::Loc) {
    addr_ = addr;
    bytes_ = bytes;
    used_ = 0;
  }
  template <class Pool>
  bool share(Pool& pool, std::uint32_t bytes, evk_detail::Loc loc) const {
    if (bytes > bytes_)
      evk_twin_assert_failed("a pool is larger than the pool whose memory it shares", loc.id());
    pool.place(addr_, bytes, loc);
    return true;
  }
  static constexpr evk_detail::abi::Space space() { return evk_detail::space_of(position); }

 private:
  static std::uint32_t rounded(std::uint32_t bytes) { return (bytes + 31) / 32 * 32; }
  std::uint64_t take(std::uint32_t bytes, evk_detail::Loc loc) {
    if (rounded(bytes) > bytes_ - used_)
      evk_twin_assert_failed("a pool hands out more memory than it has", loc.id());
    used_ += rounded(bytes);
    return addr_ + used_ - rounded(bytes);
  }
  std::uint64_t addr_ = 0;
  std::uint32_t bytes_ = 0, used_ = 0;
};

// On-chip memory by bump allocation, for kernels without TPipe. No synchronisation is inserted.
enum class Hardware : std::uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };
template <Hardware memory = Hardware::UB>
class LocalMemAllocator {
 public:
  template <TPosition position, typename T, std::uint32_t elements>
  LocalTensor<T> Alloc() {
    return at<T>(position, elements);
  }
  template <TPosition position, typename T>
  LocalTensor<T> Alloc(std::uint32_t elements) {
    return at<T>(position, elements);
  }
  template <typename T>
  LocalTensor<T> Alloc(std::uint32_t elements) {
    return at<T>(place(), elements);
  }
  std::uint32_t GetCurAddr() const { return used_; }

 private:
  static constexpr TPosition place() {
    return memory == Hardware::L1     ? TPosition::A1
           : memory == Hardware::L0A  ? TPosition::A2
           : memory == Hardware::L0B  ? TPosition::B2
           : memory == Hardware::L0C  ? TPosition::CO1
           : memory == Hardware::BIAS ? TPosition::C2
                                      : TPosition::VECCALC;
  }
  template <typename T>
  LocalTensor<T> at(TPosition position, std::uint32_t elements) {
    const LocalTensor<T> tensor(position, used_, elements);
    used_ += (elements * static_cast<std::uint32_t>(sizeof(T)) + 31) / 32 * 32;
    return tensor;
  }
  std::uint32_t used_ = 0;
};

inline TPipe* GetTPipePtr() { return static_cast<TPipe*>(evk_twin_block()->pipe); }

}  // namespace AscendC
