// What candidates call.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "ascendc/launch.h"
#include "twin/program/program.h"
#include "twin/program/runner.h"

using evk::twin::program;
namespace abi = evk::twin::abi;

namespace {

// The record with the scalar work that was done since the last one.
abi::Record with_work(const abi::Record& record) {
  abi::Record r = record;
  r.scalar_work = program().scalar_work;
  program().scalar_work = 0;
  return r;
}

}  // namespace

extern "C" {

// Called at the start of each basic block of a kernel's code: the compiler inserts it.
void __sanitizer_cov_trace_pc() { ++program().scalar_work; }

void evk_twin_emit(const abi::Record* record, const void* bulk, std::uint32_t bulk_bytes) {
  program().port.emit(with_work(*record), bulk, bulk_bytes);
}

std::uint64_t evk_twin_ask(const abi::Record* record, const void* bulk, std::uint32_t bulk_bytes, void* out,
                           std::uint32_t out_bytes) {
  if (program().launch.no_data && record->op == abi::Op::kGetValue) {
    program().port.emit(with_work(*record), nullptr, 0);
    return 0;  // what the engine answers when no data move
  }
  return program().port.ask(with_work(*record), bulk, bulk_bytes, out, out_bytes);
}

std::uint32_t evk_twin_location(const char* file, std::uint32_t line) {
  const auto place = program().locations.find(file, line);
  program().last_loc = place.id;
  if (place.is_new) {
    const std::string& text = program().locations.text(place.id);
    evk::twin::emit(abi::Op::kLocation, place.id, text.size(), text.data(),
                    static_cast<std::uint32_t>(text.size()));
  }
  return place.id;
}

EvkTwinBlock* evk_twin_block() { return &program().current->block; }
void evk_twin_end_program() { evk::twin::leave_program(); }
std::uint16_t evk_twin_new_buffer() { return ++program().current->buffers; }
std::uint16_t evk_twin_new_queue() { return ++program().current->queues; }
std::uint64_t evk_twin_tiling_key() { return program().tiling.tiling_key; }

void evk_twin_sync_all(std::uint32_t loc, bool vectors_only) {
  evk::twin::sync_all(loc, vectors_only && abi::has_aic(program().kind));
}
void evk_twin_cross_set(std::uint64_t mode, int pipe, std::uint64_t flag, std::uint32_t loc) {
  evk::twin::cross_set(mode, pipe, flag, loc);
}
void evk_twin_cross_wait(std::uint64_t mode, std::uint64_t flag, std::uint32_t loc) {
  evk::twin::cross_wait(mode, flag, loc);
}

bool evk_twin_send(const void* what, std::uint32_t bytes) {
  const auto* begin = static_cast<const std::byte*>(what);
  return evk::twin::send_message({begin, begin + bytes});
}
bool evk_twin_receive(void* what, std::uint32_t bytes, std::uint32_t loc) {
  std::vector<std::byte> message;
  if (!evk::twin::receive_message(message, loc)) return false;
  std::memcpy(what, message.data(), std::min<std::size_t>(bytes, message.size()));
  return true;
}
bool evk_twin_has_vectors() { return abi::aivs_of(program().kind) > 0; }
void evk_twin_end_core() { evk::twin::end_core(); }
std::uint64_t evk_twin_system_workspace() { return program().system_workspace; }
std::uint64_t evk_twin_system_workspace_bytes() {
  return program().guessed_kind == abi::KernelKind::kMix12 ? evk::twin::kSystemWorkspaceBytes : 0;
}

void evk_twin_say(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  const int n = std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (n <= 0) return;
  const auto bytes = static_cast<std::uint32_t>(std::strlen(text));
  evk::twin::emit(abi::Op::kPrint, bytes, 0, text, bytes);
}

void evk_twin_assert_failed(const char* what, std::uint32_t) {
  evk::twin::finding("assert_failed", std::string("the kernel's own check failed: ") + what, "", true);
  evk::twin::leave_program();
}

void* evk_twin_allocate(std::size_t bytes) {
  program().allocations.push_back(std::make_unique<std::byte[]>(bytes));
  return program().allocations.back().get();
}
void evk_twin_register_op(ops::OpData* op) { program().ops.push_back(op); }
void evk_twin_register_tiling(ops::TilingFunc tiling, ops::TilingParseFunc parse) {
  if (tiling) program().tiling_function = tiling;
  if (parse) program().parse_function = parse;
}
void evk_twin_launch(std::uint32_t blocks, int kind, void (*invoke)(void*), void* closure) {
  evk::twin::launch_directly(blocks, kind, invoke, closure);
}
bool evk_twin_kernel_kind(int kind, bool guess) {
  if (kind < 0 || static_cast<std::uint64_t>(kind) >= abi::kKernelKinds) return true;
  auto& known = guess ? program().guessed_kind : program().declared_kind;
  const auto said = static_cast<abi::KernelKind>(kind);
  if (!known || !guess || said > *known) known = said;
  return true;
}
bool evk_twin_kernel_kind_of_key(std::uint64_t key, int kind) {
  if (kind >= 0 && static_cast<std::uint64_t>(kind) < abi::kKernelKinds)
    program().kind_of_key[key] = static_cast<abi::KernelKind>(kind);
  return true;
}
fe::PlatFormInfos* evk_twin_platform() { return &program().tiling.platform; }
}
