// Executes the records of one launch, in order: owns every memory of the device, its clocks and its findings.
// Not thread-safe; several engines may live in several threads. Nothing in a record is trusted.
#pragma once

#include <memory>

#include "twin/engine/session.h"

namespace evk::twin {

class Engine {
 public:
  // Lays out GM and fills outputs and on-chip memories with poison. Fails if the launch needs more GM than it
  // may.
  static Result<std::unique_ptr<Engine>> create(const Device& device, Launch launch);
  virtual ~Engine() = default;
  // Virtual GM addresses, fixed after create, for the launch's description.
  virtual std::uint64_t input_addr(std::size_t i) const = 0;
  virtual std::uint64_t output_addr(std::size_t j) const = 0;

  struct Answer {
    std::uint64_t value = 0;
    const std::byte* bulk = nullptr;  // owned by the engine, until the next execute()
    std::uint32_t bulk_bytes = 0;
    bool stop = false;  // the program should be ended: it ran away, or broke the protocol
  };
  // Executes one record; `bulk` lies beside it.
  virtual Answer execute(const abi::Record& record, const std::byte* bulk, std::uint32_t bulk_bytes) = 0;
  // Ends the launch and says what happened. `end` is how the program's side ended.
  virtual RunReport finish(RunEnd end) = 0;
};

}  // namespace evk::twin
