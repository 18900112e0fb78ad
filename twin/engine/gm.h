// Global memory of one launch: each tensor and the workspace at a virtual address of its own, far from the
// next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "twin/engine/session.h"

namespace evk::twin {

// Which bytes of a tensor were written: exact, at one bit a byte where a page is written in part.
class WrittenMap {
 public:
  explicit WrittenMap(std::uint64_t bytes = 0) : bytes_(bytes), unwritten_(bytes) {}
  // REQUIRES: lo <= hi <= the tensor's bytes.
  void mark(std::uint64_t lo, std::uint64_t hi);
  std::uint64_t unwritten() const { return unwritten_; }

 private:
  static constexpr std::uint64_t kPageBytes = 4096;
  using Bits = std::array<std::uint64_t, kPageBytes / 64>;
  struct Page {
    std::uint32_t written = 0;
    std::unique_ptr<Bits> bits;  // while it is written in part
  };
  void mark_part(Page& page, std::uint64_t lo, std::uint64_t hi);
  std::uint64_t bytes_, unwritten_;
  std::vector<Page> pages_;  // empty until something is written
};

struct GmTensor {
  enum class Kind { kInput, kOutput, kWorkspace };
  std::string name;
  Kind kind = Kind::kInput;
  std::size_t index = 0;  // among the tensors of the launch
  std::uint64_t base = 0, bytes = 0;
  std::uint64_t content_bytes = 0;  // of `bytes`; the rest is padding
  WrittenMap written{};             // of outputs; padding counts as written
  std::vector<std::byte> data;      // empty in timing-only runs, and of the workspace
};

class GlobalMemory {
 public:
  GlobalMemory(bool move_data, std::uint64_t poison) : move_data_(move_data), poison_(poison) {}

  // Adds a tensor of `bytes` and what its allocation has beyond them: its data, or poison if it has none. The
  // index.
  std::size_t add(std::string name, GmTensor::Kind kind, std::uint64_t bytes, std::vector<std::byte> data,
                  std::uint64_t padding = 0);

  // The tensor that [addr, addr + bytes) lies in whole; null if there is none. `nearest` then names the
  // tensor that addr lies in or follows, if any.
  GmTensor* find(std::uint64_t addr, std::uint64_t bytes, const GmTensor** nearest = nullptr);
  // Where [addr, addr + bytes) of `tensor` is; null in timing-only runs. REQUIRES: find() gave the tensor.
  std::byte* at(GmTensor& tensor, std::uint64_t addr, std::uint64_t bytes);
  std::vector<GmTensor>& tensors() { return tensors_; }

 private:
  // The workspace may be large and hardly used: its pages are poisoned when they are first touched.
  struct LazyMemory {
    struct Free {
      void operator()(std::byte* p) const { std::free(p); }
    };
    std::unique_ptr<std::byte, Free> bytes;
    std::vector<bool> poisoned;
  };

  std::vector<GmTensor> tensors_;
  LazyMemory workspace_;
  bool move_data_;
  std::uint64_t poison_;
  std::uint64_t next_ = 0x10'0000'0000ULL;
};

// Fills with words that no honest result holds: NaNs with random payloads and huge values of both signs.
void fill_with_poison(std::byte* data, std::size_t bytes, std::uint64_t seed);

}  // namespace evk::twin
