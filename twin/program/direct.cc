// Program and engine in one process: each record is a function call.
#include <algorithm>
#include <cstring>

#include "twin/program/describe.h"
#include "twin/program/runner.h"

namespace evk::twin {
namespace {

class DirectPort final : public abi::Port {
 public:
  explicit DirectPort(Engine& engine) : engine_(engine) {}
  void emit(const abi::Record& record, const void* bulk, std::uint32_t bulk_bytes) override {
    run(record, bulk, bulk_bytes);
  }
  std::uint64_t ask(const abi::Record& record, const void* bulk, std::uint32_t bulk_bytes, void* out,
                    std::uint32_t out_bytes) override {
    const Engine::Answer answer = run(record, bulk, bulk_bytes);
    if (out && answer.bulk) std::memcpy(out, answer.bulk, std::min(out_bytes, answer.bulk_bytes));
    return answer.value;
  }

 private:
  Engine::Answer run(const abi::Record& record, const void* bulk, std::uint32_t bulk_bytes) {
    const Engine::Answer answer = engine_.execute(record, static_cast<const std::byte*>(bulk), bulk_bytes);
    if (answer.stop) leave_program();
    return answer;
  }
  Engine& engine_;
};

}  // namespace

Result<RunReport> run_direct(const Device& device, const Launch& launch, const std::string& shared_object) {
  EVK_TRY(const auto engine, Engine::create(device, launch));
  auto description = std::make_unique<LaunchDescription>();
  EVK_TRY_STATUS(describe(device, launch, *engine, *description));
  DirectPort port(*engine);
  run_program(*description, port, shared_object);
  return engine->finish(RunEnd::kComplete);  // the engine decides whether it was
}

}  // namespace evk::twin
