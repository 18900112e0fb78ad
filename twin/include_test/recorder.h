// Stands in for the runner: keeps every record that the headers emit. One per test, not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "kernel_operator.h"

namespace evk::twin::testing {

// Thrown where the device would hang or abort.
struct Ended {};

struct Recorder {
  std::vector<abi::Record> records;
  std::uint64_t answer = 0;  // to every question
  std::uint64_t tiling_key = 0;
  std::string said;    // formats that were printed
  std::string failed;  // of the assertion that failed
  EvkTwinBlock block{2, 8, 0, 1, 0, 0, nullptr, {~0ull, ~0ull}};
  std::uint16_t buffers = 0, queues = 0;

  // Records of one kind, in order.
  std::vector<abi::Record> of(abi::Op op) const;
  // The kinds of all records but the declarations of buffers.
  std::vector<abi::Op> ops() const;
};

// The recorder in force; each test starts with a fresh one.
Recorder& recorder();
Recorder& fresh_recorder();

}  // namespace evk::twin::testing
