#include "twin/program/runner.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "evk_host/op_def.h"

struct EvkTwinBlock {
  std::uint32_t block_idx, block_num, sub_block_idx, sub_block_num, core_type;
};

namespace evk::twin {
namespace {

using abi::Op;
using abi::Record;

constexpr std::size_t kStackBytes = 256 * 1024;
constexpr std::size_t kArgumentsMax = 24;

// One block as a fiber: it runs until it ends or meets SyncAll.
struct Fiber {
  ucontext_t context{};
  std::byte* stack = nullptr;
  EvkTwinBlock block{};
  std::uint16_t buffers = 0, queues = 0;
  bool started = false, ended = false;
};

// All state of the one launch that this process runs.
struct Program {
  RingPort* port = nullptr;
  Ring* ring = nullptr;
  std::vector<ops::OpDef*> ops;
  std::unordered_map<std::uint64_t, std::uint32_t> locations;
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> location_ids;
  std::string last_place;
  gert::TilingContext tiling;
  std::vector<std::unique_ptr<Fiber>> fibers;
  Fiber* current = nullptr;
  ucontext_t scheduler{};
  void (*kernel)(...) = nullptr;
  std::uint64_t arguments[kArgumentsMax] = {};
};

Program g;

void emit(Op op, std::uint64_t a0 = 0, std::uint64_t a1 = 0, const void* bulk = nullptr,
          std::uint32_t bytes = 0) {
  Record r;
  r.op = op;
  r.a[0] = a0;
  r.a[1] = a1;
  g.port->emit(r, bulk, bytes);
}

// "code|file:line|message|remedy"
void finding(const std::string& code, const std::string& place, const std::string& message,
             const std::string& remedy) {
  const std::string text = code + "|" + place + "|" + message + "|" + remedy;
  emit(Op::kHostFinding, 0, text.size(), text.data(), static_cast<std::uint32_t>(text.size()));
}

[[noreturn]] void refuse(const std::string& code, const std::string& message, const std::string& remedy) {
  finding(code, "", message, remedy);
  ::_exit(0);
}

void on_crash(int signal) {
  const char* what = signal == SIGFPE   ? "an integer division by zero"
                     : signal == SIGILL ? "an illegal instruction"
                                        : "an access to memory that does not exist for a kernel";
  finding(signal == SIGFPE ? "crash_arithmetic" : "crash_memory", g.last_place,
          std::string("the program crashed: ") + what + ", after the call at this line",
          "reach GM through GlobalTensor and DataCopy only; check array bounds, recursion and divisors");
  ::_exit(0);
}

void catch_crashes() {
  static std::byte stack[64 * 1024];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  ::sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK | SA_RESETHAND;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::sigaction(signal, &action, nullptr);
}

ge::DataType dtype_of(abi::DType t) {
  switch (t) {
    case abi::DType::kF32:
      return ge::DT_FLOAT;
    case abi::DType::kF16:
      return ge::DT_FLOAT16;
    case abi::DType::kBf16:
      return ge::DT_BF16;
    case abi::DType::kF64:
      return ge::DT_DOUBLE;
    case abi::DType::kI8:
      return ge::DT_INT8;
    case abi::DType::kU8:
      return ge::DT_UINT8;
    case abi::DType::kI16:
      return ge::DT_INT16;
    case abi::DType::kU16:
      return ge::DT_UINT16;
    case abi::DType::kI32:
      return ge::DT_INT32;
    case abi::DType::kU32:
      return ge::DT_UINT32;
    case abi::DType::kI64:
      return ge::DT_INT64;
    case abi::DType::kU64:
      return ge::DT_UINT64;
    case abi::DType::kBool:
      return ge::DT_BOOL;
    default:
      return ge::DT_UNDEFINED;
  }
}

gert::Tensor tensor_of(const RingTensor& t) {
  gert::Tensor tensor;
  for (std::uint32_t i = 0; i < t.rank && i < kRankMax; ++i) tensor.shape.shape.AppendDim(t.size[i]);
  tensor.dtype = dtype_of(t.dtype);
  return tensor;
}

// The device finds an operator by its registration: chip, number and types of tensors must fit the launch.
void check_registration(const ops::OpDef& op, const RingLaunch& launch) {
  bool chip = false;
  for (const auto& soc : op.core.socs) chip = chip || soc == "ascend910b" || soc == "ascend910_93";
  if (!chip)
    refuse("registration_soc", "the operator is not registered for this chip",
           "call AICore().AddConfig(\"ascend910b\")");
  if (op.inputs.size() != launch.inputs || op.outputs.size() != launch.outputs)
    refuse("registration_tensors",
           "the operator registers " + std::to_string(op.inputs.size()) + " inputs and " +
               std::to_string(op.outputs.size()) + " outputs, the task has " + std::to_string(launch.inputs) +
               " and " + std::to_string(launch.outputs),
           "register every input and output of the task, in its order");
  std::size_t i = 0;
  for (const auto* list : {&op.inputs, &op.outputs})
    for (const auto& param : *list) {
      const ge::DataType wanted = dtype_of(launch.tensor[i++].dtype);
      bool found = false;
      for (const auto t : param.dtypes) found = found || t == wanted;
      if (!found)
        refuse("registration_dtype", "tensor " + param.name + " is not registered for the task's data type",
               "list the data type in DataType({...})");
    }
  if (!op.core.tiling)
    refuse("registration_tiling", "the operator has no tiling function", "call AICore().SetTiling(...)");
}

void run_tiling() {
  const RingLaunch& launch = g.ring->launch;
  if (g.ops.empty())
    refuse("registration_missing", "no operator is registered", "end op_host with OP_ADD(...)");
  const ops::OpDef& op = *g.ops.front();
  check_registration(op, launch);
  gert::TilingContext& context = g.tiling;
  context.name = op.name;
  for (std::uint32_t i = 0; i < launch.inputs + launch.outputs; ++i) {
    const gert::Tensor tensor = tensor_of(launch.tensor[i]);
    (i < launch.inputs ? context.inputs : context.outputs).push_back(tensor);
    gert::CompileTimeTensorDesc desc;
    desc.dtype = tensor.dtype;
    (i < launch.inputs ? context.input_descs : context.output_descs).push_back(desc);
  }
  for (const auto& attr : op.attrs) context.attrs.values.push_back(attr.value);
  context.platform = {launch.aiv_cores, launch.aic_cores, launch.ub_bytes, launch.l1_bytes, launch.l0a_bytes,
                      launch.l0b_bytes, launch.l0c_bytes, 192ull << 20,    64ull << 30,     launch.soc};
  const ge::graphStatus status = op.core.tiling(&context);
  Record r;
  r.op = Op::kTilingResult;
  r.a[0] = context.block_dim;
  r.a[1] = context.tiling_key;
  for (const std::size_t bytes : context.workspaces) r.a[2] += bytes;
  r.a[3] = context.tiling.size;
  r.a[4] = status;
  const std::uint64_t workspace = g.port->ask(r, nullptr, 0, nullptr, 0);
  std::size_t n = 0;
  for (std::uint32_t i = 0; i < launch.inputs + launch.outputs; ++i)
    g.arguments[n++] = launch.tensor[i].gm_addr;
  g.arguments[n++] = workspace;
  g.arguments[n++] = reinterpret_cast<std::uint64_t>(context.tiling.bytes.data());
}

void fiber_main() {
  const auto& a = g.arguments;
  g.kernel(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14],
           a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23]);
  emit(Op::kBlockEnd);
  g.current->ended = true;
  ::swapcontext(&g.current->context, &g.scheduler);
}

void resume(Fiber& fiber) {
  g.current = &fiber;
  if (fiber.started) {
    emit(Op::kBlockSwitch, fiber.block.block_idx);
  } else {
    fiber.started = true;
    fiber.stack = static_cast<std::byte*>(
        ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0));
    ::mprotect(fiber.stack, 4096, PROT_NONE);
    ::getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = &g.scheduler;
    ::makecontext(&fiber.context, fiber_main, 0);
    emit(Op::kBlockBegin, fiber.block.block_idx);
  }
  ::swapcontext(&g.scheduler, &fiber.context);
  if (fiber.ended) {
    ::munmap(fiber.stack, kStackBytes);
    fiber.stack = nullptr;
  }
}

std::vector<std::uint32_t> block_order(std::uint32_t blocks) {
  const RingLaunch& launch = g.ring->launch;
  std::vector<std::uint32_t> order;
  std::vector<bool> seen(blocks, false);
  const auto add = [&](std::uint32_t i) {
    if (!seen[i]) order.push_back(i);
    seen[i] = true;
  };
  for (std::uint32_t i = 0; i < launch.order_size && i < kOrderMax; ++i) add(launch.order[i] % blocks);
  for (std::uint32_t i = 0; i < blocks; ++i) add(i);
  return order;
}

// Each round runs every block that has not ended up to its end or its next SyncAll.
void run_blocks() {
  const std::uint32_t blocks = g.tiling.block_dim;
  for (const std::uint32_t index : block_order(blocks)) {
    auto fiber = std::make_unique<Fiber>();
    fiber->block = {index, blocks, 0, 1, 0};
    g.fibers.push_back(std::move(fiber));
  }
  std::size_t left = blocks;
  while (left > 0) {
    std::size_t ended = 0;
    for (auto& fiber : g.fibers)
      if (!fiber->ended) {
        resume(*fiber);
        ended += fiber->ended;
      }
    if (ended > 0 && ended < left) {
      finding("sync_all_mismatch", g.last_place,
              "some blocks meet SyncAll and others end without it: the device would hang here",
              "let every block call SyncAll equally often");
      ::_exit(0);
    }
    left -= ended;
  }
}

}  // namespace

void run_program(Ring& ring, const std::string& shared_object) {
  RingPort port(ring);
  g.port = &port;
  g.ring = &ring;
  catch_crashes();
  emit(Op::kHello, abi::kAbiVersion);
  void* object = ::dlopen(shared_object.c_str(), RTLD_LOCAL | RTLD_NOW);
  if (!object)
    refuse("load_failed", std::string("the program cannot be loaded: ") + ::dlerror(),
           "define every function that is called");
  const std::string op = ring.launch.op;
  g.kernel = reinterpret_cast<void (*)(...)>(::dlsym(object, op.c_str()));
  if (!g.kernel)
    refuse("kernel_missing", "there is no kernel function " + op,
           "define extern \"C\" __global__ __aicore__ void " + op + "(...)");
  run_tiling();
  if (!ring.launch.tiling_only) run_blocks();
  emit(Op::kExit);
  ::_exit(0);
}

}  // namespace evk::twin

// What candidates call.
extern "C" {

using evk::twin::g;

__attribute__((visibility("default"))) void evk_twin_emit(const evk::twin::abi::Record* record,
                                                          const void* bulk, std::uint32_t bulk_bytes) {
  g.port->emit(*record, bulk, bulk_bytes);
}

__attribute__((visibility("default"))) std::uint64_t evk_twin_ask(const evk::twin::abi::Record* record,
                                                                  const void* bulk, std::uint32_t bulk_bytes,
                                                                  void* out, std::uint32_t out_bytes) {
  return g.port->ask(*record, bulk, bulk_bytes, out, out_bytes);
}

// Ids are given in order of first use. The address of the file's name is a fast key; equal names at two
// addresses share an id.
__attribute__((visibility("default"))) std::uint32_t evk_twin_location(const char* file, std::uint32_t line) {
  const std::uint64_t key = reinterpret_cast<std::uint64_t>(file) * 0x9e3779b97f4a7c15ull ^ line;
  const auto found = g.locations.find(key);
  if (found != g.locations.end()) return found->second;
  auto [at, is_new] =
      g.location_ids.try_emplace({file, line}, static_cast<std::uint32_t>(g.location_ids.size()) + 1);
  g.locations[key] = at->second;
  g.last_place = std::string(file) + ":" + std::to_string(line);
  if (is_new)
    evk::twin::emit(evk::twin::abi::Op::kLocation, at->second, g.last_place.size(), g.last_place.data(),
                    static_cast<std::uint32_t>(g.last_place.size()));
  return at->second;
}

__attribute__((visibility("default"))) EvkTwinBlock* evk_twin_block() { return &g.current->block; }
__attribute__((visibility("default"))) void evk_twin_end_program() { ::_exit(0); }
__attribute__((visibility("default"))) std::uint16_t evk_twin_new_buffer() { return ++g.current->buffers; }
__attribute__((visibility("default"))) std::uint16_t evk_twin_new_queue() { return ++g.current->queues; }
__attribute__((visibility("default"))) std::uint64_t evk_twin_tiling_key() { return g.tiling.tiling_key; }

__attribute__((visibility("default"))) void evk_twin_sync_all() {
  evk::twin::emit(evk::twin::abi::Op::kSyncAll);
  evk::twin::Fiber* self = g.current;
  ::swapcontext(&self->context, &g.scheduler);
}

__attribute__((visibility("default"))) void evk_twin_say(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  const int n = std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (n > 0)
    evk::twin::emit(
        evk::twin::abi::Op::kPrint, static_cast<std::uint64_t>(n), 0, text,
        static_cast<std::uint32_t>(std::min<std::size_t>(static_cast<std::size_t>(n), sizeof text - 1)));
}

__attribute__((visibility("default"))) void evk_twin_assert_failed(const char* what, std::uint32_t) {
  evk::twin::finding("assert_failed", g.last_place, std::string("the kernel's own check failed: ") + what,
                     "");
  ::_exit(0);
}

__attribute__((visibility("default"))) void evk_twin_register_op(ops::OpDef* op) { g.ops.push_back(op); }
}
