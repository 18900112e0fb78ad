#include "twin/program/runner.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

#include "ascendc/launch.h"
#include "twin/program/program.h"

namespace evk::twin {
namespace {

using abi::Op;
using abi::Record;

constexpr std::size_t kStackBytes = 256 * 1024, kHostStackBytes = 1024 * 1024, kGuardBytes = 4096;
constexpr std::uint32_t kBlockDimMax = 65535;
constexpr int kCrashSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

Program* g = nullptr;

std::byte* map_stack(std::size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) refuse("out_of_memory", "no memory for another block that waits", "use fewer blocks");
  ::mprotect(at, kGuardBytes, PROT_NONE);
  return static_cast<std::byte*>(at);
}

std::byte* take_stack() {
  if (g->free_stacks.empty()) {
    g->all_stacks.push_back(map_stack(kStackBytes));
    return g->all_stacks.back();
  }
  std::byte* stack = g->free_stacks.back();
  g->free_stacks.pop_back();
  return stack;
}

void start(Fiber& fiber, std::byte* stack, std::size_t bytes, void (*main)()) {
  fiber.started = true;
  fiber.stack = stack;
  ::getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stack;
  fiber.context.uc_stack.ss_size = bytes;
  fiber.context.uc_link = nullptr;  // no fiber returns: each ends by switching away
  ::makecontext(&fiber.context, main, 0);
}

// --- crashes

struct Crash {
  const char* code;
  const char* what;
  const char* remedy;
};

Crash crash_of(int signal) {
  switch (signal) {
    case SIGFPE:
      return {"crash_arithmetic", "an integer division by zero", "check divisors and tiling values"};
    case SIGABRT:
      return {"crash_abort", "it was aborted", "return a status from the tiling, or from the kernel"};
    case SIGILL:
      return {"crash_memory", "an illegal instruction",
              "check array bounds, and that functions return a value"};
    default:
      return {"crash_memory", "an access to memory that does not exist for a kernel",
              "reach GM through GlobalTensor and DataCopy only; check array bounds and recursion"};
  }
}

void on_crash(int signal) {
  const Crash crash = crash_of(signal);
  finding(crash.code, std::string("the program crashed: ") + crash.what + ", after the call at this place",
          crash.remedy, true);
  leave_program();
}

// Turns crashes into findings while it lives.
class CrashCatcher {
 public:
  CrashCatcher() {
    stack_t alternate{};
    alternate.ss_sp = stack_.data();
    alternate.ss_size = stack_.size();
    ::sigaltstack(&alternate, &old_stack_);
    struct sigaction action {};
    action.sa_handler = on_crash;
    action.sa_flags = SA_ONSTACK;
    for (std::size_t i = 0; i < old_.size(); ++i) ::sigaction(kCrashSignals[i], &action, &old_[i]);
  }
  ~CrashCatcher() {
    for (std::size_t i = 0; i < old_.size(); ++i) ::sigaction(kCrashSignals[i], &old_[i], nullptr);
    ::sigaltstack(&old_stack_, nullptr);
  }
  CrashCatcher(const CrashCatcher&) = delete;
  CrashCatcher& operator=(const CrashCatcher&) = delete;

 private:
  std::vector<std::byte> stack_ = std::vector<std::byte>(64 * 1024);
  stack_t old_stack_{};
  std::array<struct sigaction, std::size(kCrashSignals)> old_{};
};

// --- host side

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

gert::Tensor tensor_of(const TensorDescription& t) {
  gert::Tensor tensor;
  for (std::uint32_t i = 0; i < t.rank && i < kRankMax; ++i) tensor.shape.shape.AppendDim(t.size[i]);
  tensor.dtype = dtype_of(t.dtype);
  return tensor;
}

// The device finds an operator by its registration: chip, number and types of tensors must fit the launch.
void check_chip(const ops::OpData& op) {
  for (std::size_t i = 0; i < op.core.soc_count; ++i) {
    const std::string soc = op.core.socs[i];
    if (soc == "ascend910b" || soc == "ascend910_93") return;
  }
  refuse("registration_soc", "the operator is not registered for this chip",
         "call AICore().AddConfig(\"ascend910b\")");
}

void check_type(const ops::OpParamDef& param, ge::DataType wanted) {
  for (std::size_t i = 0; i < param.dtype_count; ++i)
    if (param.dtypes[i] == wanted) return;
  refuse("registration_dtype",
         std::string("tensor ") + param.name + " is not registered for the task's data type",
         "list the data type in DataType({...})");
}

void check_registration(const ops::OpData& op, const LaunchDescription& launch) {
  check_chip(op);
  if (op.input_count != launch.inputs || op.output_count != launch.outputs)
    refuse("registration_tensors",
           "the operator registers " + std::to_string(op.input_count) + " inputs and " +
               std::to_string(op.output_count) + " outputs, the task has " + std::to_string(launch.inputs) +
               " and " + std::to_string(launch.outputs),
           "register every input and output of the task, in its order");
  for (std::size_t i = 0; i < op.input_count; ++i) check_type(op.inputs[i], dtype_of(launch.tensor[i].dtype));
  for (std::size_t j = 0; j < op.output_count; ++j)
    check_type(op.outputs[j], dtype_of(launch.tensor[launch.inputs + j].dtype));
}

void fill_context(const ops::OpData* op, const LaunchDescription& launch) {
  HostSide& host = g->host_side;
  host = HostSide{};
  gert::TilingContext& context = g->tiling;
  const std::size_t inputs = launch.inputs, outputs = launch.outputs;
  for (std::size_t i = 0; i < inputs + outputs; ++i) {
    host.tensors.push_back(tensor_of(launch.tensor[i]));
    host.descs.emplace_back().dtype = host.tensors.back().dtype;
  }
  if (op)
    for (std::size_t i = 0; i < op->attr_count; ++i)
      host.attrs.push_back(i < g->given_attrs.size() ? g->given_attrs[i] : op->attrs[i].value);
  host.tiling_bytes.resize(gert::TilingContext::kTilingBytesMax / 8);
  host.compile_info.resize(gert::TilingParseContext::kCompileInfoBytesMax / 8);
  context.name = op ? op->name : launch.op;
  context.inputs = {host.tensors.data(), inputs};
  context.outputs = {host.tensors.data() + inputs, outputs};
  context.input_descs = {host.descs.data(), inputs};
  context.output_descs = {host.descs.data() + inputs, outputs};
  context.attrs.values = host.attrs.data();
  context.attrs.count = host.attrs.size();
  context.compile_info = host.compile_info.data();
  context.tiling = {host.tiling_bytes.data(), gert::TilingContext::kTilingBytesMax, 0};
}

// Host functions may throw as any C++ may, and must not.
ge::graphStatus call_tiling(ops::TilingFunc tiling) {
  gert::TilingContext& context = g->tiling;
  try {
    if (g->parse_function) {
      gert::TilingParseContext parse;
      parse.compile_info = g->host_side.compile_info.data();
      parse.platform = &context.platform;
      parse.name = context.name;
      if (const ge::graphStatus status = g->parse_function(&parse); status != ge::GRAPH_SUCCESS)
        return status;
    }
    return tiling(&context);
  } catch (...) {
    refuse("tiling_exception", "the tiling function throws", "return ge::GRAPH_FAILED instead");
  }
}

// Kernels read the tiling data through a pointer, and none may write them.
std::uint64_t read_only_copy(const gert::TilingData& tiling) {
  const std::size_t bytes = tiling.GetCapacity();
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) refuse("out_of_memory", "no memory for the tiling data", "");
  g->tiling_page = static_cast<std::byte*>(at);
  std::memcpy(at, tiling.GetData(), bytes);
  ::mprotect(at, bytes, PROT_READ);
  return reinterpret_cast<std::uint64_t>(at);
}

bool can_launch(std::uint32_t blocks) { return blocks >= 1 && blocks <= kBlockDimMax; }

// What the launch says, or the kernel itself, or what it calls.
abi::KernelKind choose_kind(int said) {
  const auto of_key = g->kind_of_key.find(g->tiling.tiling_key);
  const auto none = abi::KernelKind::kAiv;
  g->kind = said >= 0                        ? static_cast<abi::KernelKind>(said)
            : of_key != g->kind_of_key.end() ? of_key->second
                                             : g->declared_kind.value_or(g->guessed_kind.value_or(none));
  return g->kind;
}

void run_tiling(const LaunchDescription& launch, const ops::OpData* op) {
  if (!op && !g->tiling_function)
    refuse("registration_missing", "no operator is registered", "end op_host with OP_ADD(...)");
  if (op) check_registration(*op, launch);
  const ops::TilingFunc tiling = g->tiling_function ? g->tiling_function : op->core.tiling;
  if (!tiling)
    refuse("registration_tiling", "the operator has no tiling function", "call AICore().SetTiling(...)");
  fill_context(op, launch);
  gert::TilingContext& context = g->tiling;
  const ge::graphStatus status = call_tiling(tiling);
  if (context.tiling.size > context.tiling.GetCapacity())
    refuse("tiling_too_large", "the tiling data are " + std::to_string(context.tiling.size) + " bytes",
           "keep them below " + std::to_string(context.tiling.GetCapacity()) + " bytes");
  Record r;
  r.op = Op::kTilingResult;
  r.a[0] = context.block_dim;
  r.a[1] = context.tiling_key;
  for (std::size_t i = 0; i < context.workspace_count; ++i) r.a[2] += context.workspaces[i];
  r.a[3] = context.tiling.size;
  r.a[4] = status;
  r.a[5] = static_cast<std::uint64_t>(choose_kind(-1));
  const std::uint64_t workspace =
      g->port.ask(r, context.tiling.GetData(), static_cast<std::uint32_t>(context.tiling.size));
  if (status != ge::GRAPH_SUCCESS || !can_launch(context.block_dim))
    leave_program();  // the engine has said why
  std::size_t n = 0;
  for (std::uint32_t i = 0; i < launch.inputs + launch.outputs; ++i)
    g->arguments[n++] = launch.tensor[i].gm_addr;
  g->arguments[n++] = workspace;
  g->system_workspace = workspace;
  g->arguments[n++] = read_only_copy(context.tiling);
}

// --- blocks

template <std::size_t>
using Word = std::uint64_t;

// Arguments that the kernel does not name are harmless: the caller cleans the stack.
template <std::size_t... i>
void call_with(std::index_sequence<i...>) {
  reinterpret_cast<void (*)(Word<i>...)>(g->kernel)(g->arguments[i]...);
}
void call_kernel(void*) { call_with(std::make_index_sequence<kTensorsMax + 2>()); }

void block_main() {
  g->invoke(g->closure);
  end_core();
}

void emit_block(Op op, const Fiber& fiber) {
  Record r;
  r.op = op;
  r.a[0] = fiber.group;
  r.a[1] = fiber.block.sub_block_idx;
  r.a[2] = fiber.block.core_type;
  g->port.emit(r, nullptr, 0);
}

// Runs a core up to its end or to where it waits.
void resume(Fiber& fiber) {
  g->current = &fiber;
  g->globals.restore(fiber.started ? fiber.globals : g->first_globals);
  if (fiber.started) {
    emit_block(Op::kBlockSwitch, fiber);
  } else {
    start(fiber, take_stack(), kStackBytes, block_main);
    g->scalar_work = 0;
    emit_block(Op::kBlockBegin, fiber);
  }
  ::swapcontext(&g->scheduler, &fiber.context);
  if (fiber.ended)
    g->free_stacks.push_back(fiber.stack);
  else
    fiber.globals = g->globals.save();
  g->current = &g->host;
}

std::vector<std::uint32_t> block_order(std::uint32_t blocks) {
  const LaunchDescription& launch = g->launch;
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

// The cores of one block: a cube core, vector cores, or both.
void add_cores(std::uint32_t index, std::uint32_t blocks) {
  const auto add = [&](std::uint32_t block_idx, std::uint32_t sub, std::uint32_t subs, std::uint32_t type) {
    auto fiber = std::make_unique<Fiber>();
    fiber->group = index;
    fiber->block.block_idx = block_idx;
    fiber->block.block_num = blocks;
    fiber->block.sub_block_idx = sub;
    fiber->block.sub_block_num = subs;
    fiber->block.core_type = type;
    fiber->block.mask[0] = fiber->block.mask[1] = ~0ull;
    g->blocks.push_back(std::move(fiber));
  };
  const std::uint32_t vectors = abi::aivs_of(g->kind);
  if (abi::has_aic(g->kind)) add(index, 0, 1, 1);
  for (std::uint32_t sub = 0; sub < vectors; ++sub) add(index * vectors + sub, sub, vectors, 0);
}

// Each round runs every core that may go on up to its end or to where it waits: blocks that wait for nothing
// run one after the other in a single round.
void run_blocks(std::uint32_t blocks, void (*invoke)(void*), void* closure) {
  g->invoke = invoke;
  g->closure = closure;
  g->blocks_launched = blocks;
  for (const std::uint32_t index : block_order(blocks)) add_cores(index, blocks);
  g->first_globals = g->globals.save();
  g->cross = {g->kind, blocks};
  std::size_t left = g->blocks.size();
  while (left > 0) {
    bool moved = false;
    for (auto& fiber : g->blocks) {
      if (fiber->ended || !may_go_on(*fiber)) continue;
      resume(*fiber);
      moved = true;
      left -= fiber->ended;
    }
    if (!moved) end_in_deadlock();
  }
  g->globals.restore(g->first_globals);
}

void load() {
  g->object = ::dlopen(g->object_path.c_str(), RTLD_LOCAL | RTLD_NOW);
  if (!g->object)
    refuse("load_failed", std::string("the program cannot be loaded: ") + ::dlerror(),
           "define every function that is called");
}

void run_project() {
  const std::string op = g->launch.op;
  g->kernel = ::dlsym(g->object, op.c_str());
  if (!g->kernel)
    refuse("kernel_missing", "there is no kernel function " + op,
           "define extern \"C\" __global__ __aicore__ void " + op + "(...)");
  g->globals = Globals(g->kernel);
  run_tiling(g->launch, g->ops.empty() ? nullptr : g->ops.front());
  if (!g->launch.tiling_only) run_blocks(g->tiling.block_dim, call_kernel, nullptr);
}

npu::Tensor launch_tensor(const TensorDescription& t) {
  npu::Tensor tensor{};
  tensor.addr = reinterpret_cast<std::uint8_t*>(t.gm_addr);
  tensor.rank = static_cast<std::int32_t>(std::min(t.rank, kRankMax));
  std::copy_n(t.size, tensor.rank, tensor.size);
  tensor.dtype = dtype_of(t.dtype);
  return tensor;
}

// A direct-launch file: its host function launches the kernel.
void run_host_function(void* function) {
  g->globals = Globals(function);
  std::vector<npu::Tensor> tensors;
  for (std::uint32_t i = 0; i < g->launch.inputs + g->launch.outputs; ++i)
    tensors.push_back(launch_tensor(g->launch.tensor[i]));
  reinterpret_cast<void (*)(const npu::Tensor*, const npu::Tensor*, void*)>(function)(
      tensors.data(), tensors.data() + g->launch.inputs, nullptr);
  if (g->blocks_launched == 0)
    refuse("launch_missing", "the host function launches no kernel",
           "call kernel<<<blocks, nullptr, stream>>>(...)");
}

void host_main() {
  emit(Op::kHello, abi::kAbiVersion);
  load();
  void* const host_function = ::dlsym(g->object, ("launch_" + std::string(g->launch.op)).c_str());
  if (host_function)
    run_host_function(host_function);
  else
    run_project();
  emit(Op::kExit);
  leave_program();
}

std::string without_bars(std::string text) {
  for (char& c : text)
    if (c == '|') c = '/';
  return text;
}

}  // namespace

Program& program() { return *g; }

void emit(Op op, std::uint64_t a0, std::uint64_t a1, const void* bulk, std::uint32_t bytes,
          std::uint32_t loc) {
  Record r;
  r.op = op;
  r.loc = loc;
  r.a[0] = a0;
  r.a[1] = a1;
  g->port.emit(r, bulk, bytes);
}

// The text is "code|file:line|message|remedy".
void finding(const std::string& code, const std::string& message, const std::string& remedy, bool here) {
  const std::string text = code + "|" + without_bars(here ? g->locations.text(g->last_loc) : "") + "|" +
                           without_bars(message) + "|" + without_bars(remedy);
  emit(Op::kHostFinding, 0, text.size(), text.data(), static_cast<std::uint32_t>(text.size()));
}

void refuse(const std::string& code, const std::string& message, const std::string& remedy) {
  finding(code, message, remedy, false);
  leave_program();
}

bool may_launch() {
  Bridge& bridge = g->bridge;
  if (!bridge.in_force) return true;
  return bridge.launches++ == bridge.wanted;
}

void launch_operator(const ops::OpData& op, const std::string& kernel, const LaunchDescription& call) {
  g->kernel = ::dlsym(g->object, kernel.c_str());
  if (!g->kernel)
    refuse("kernel_missing", "there is no kernel function " + kernel,
           "define extern \"C\" __global__ __aicore__ void " + kernel + "(...)");
  run_tiling(call, &op);
  run_blocks(g->tiling.block_dim, call_kernel, nullptr);
}

void launch_directly(std::uint32_t blocks, int kind, void (*invoke)(void*), void* closure) {
  if (!may_launch()) return;
  if (g->blocks_launched)
    refuse("launch_twice", "the host function launches a second kernel; the twin runs one launch",
           "do all the work in one kernel, with SyncAll between its parts");
  Record r;
  r.op = Op::kTilingResult;
  r.a[0] = blocks;
  r.a[5] = static_cast<std::uint64_t>(choose_kind(kind));
  // Nothing of a direct launch says how large a workspace the library has: it has what it needs.
  if (abi::has_aic(g->kind) && abi::aivs_of(g->kind) > 0) r.a[2] = kSystemWorkspaceBytes;
  g->system_workspace = g->port.ask(r);
  if (!can_launch(blocks)) leave_program();
  if (g->launch.tiling_only) {
    emit(Op::kExit);
    leave_program();
  }
  run_blocks(blocks, invoke, closure);
}

void end_core() {
  emit(Op::kScalarWork, std::exchange(g->scalar_work, 0));
  emit(Op::kBlockEnd);
  g->current->ended = true;
  ::setcontext(&g->scheduler);
  __builtin_unreachable();
}

void leave_program() {
  ::setcontext(&g->home);
  __builtin_unreachable();
}

void run_program(const LaunchDescription& launch, abi::Port& port, const std::string& shared_object) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  Program state{launch, port, shared_object};
  g = &state;
  state.current = &state.host;
  state.tiling.platform = {launch.aiv_cores, launch.aic_cores, launch.ub_bytes,  launch.l1_bytes,
                           launch.l0a_bytes, launch.l0b_bytes, launch.l0c_bytes, 192ull << 20,
                           64ull << 30,      launch.soc};
  {
    const CrashCatcher catcher;
    std::byte* stack = map_stack(kHostStackBytes);
    start(state.host, stack, kHostStackBytes, host_main);
    ::swapcontext(&state.home, &state.host.context);
    ::munmap(stack, kHostStackBytes);
  }
  if (state.object) ::dlclose(state.object);
  for (std::byte* stack : state.all_stacks) ::munmap(stack, kStackBytes);
  if (state.tiling_page) ::munmap(state.tiling_page, state.tiling.tiling.GetCapacity());
  g = nullptr;
}

}  // namespace evk::twin
