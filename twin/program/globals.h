// The writable variables of a loaded object. A device has one copy of them per core; a process has one in
// all, so that the runner gives each block its own by copying.
#pragma once

#include <cstddef>
#include <vector>

namespace evk::twin {

class Globals {
 public:
  Globals() = default;
  // Those of the object that holds `symbol`.
  explicit Globals(const void* symbol);
  bool empty() const { return parts_.empty(); }
  // What the variables hold now; empty if there are none.
  std::vector<std::byte> save() const;
  // REQUIRES: `saved` came from save() of this object.
  void restore(const std::vector<std::byte>& saved) const;

 private:
  struct Part {
    std::byte* begin;
    std::size_t bytes;
  };
  std::vector<Part> parts_;
};

}  // namespace evk::twin
