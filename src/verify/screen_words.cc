#include "verify/screen_words.h"

namespace evk::screen_words {
namespace {

constexpr Reason kAssembly{"assembly bypasses the simulated device", "use the Ascend C interface"};
constexpr Reason kSystem{"a kernel has no operating system", "remove it; take inputs from the arguments and tiling data"};
constexpr Reason kClock{"a kernel must not see a clock", "remove it; the verifier measures time"};
constexpr Reason kLoading{"loading or finding other code is not allowed", "implement the operator with the Ascend C interface"};
constexpr Reason kProbe{"asks about the build instead of computing", "remove it"};
constexpr Reason kFile{"a candidate has no files", "take inputs from the arguments and tiling data"};
constexpr Reason kLeave{"leaving early skips the end of the run", "return from the function instead"};
constexpr Reason kThread{"threads are not available", "split the work over blocks (SetBlockDim)"};
constexpr Reason kHeap{"the device has no heap", "use TPipe::InitBuffer and TQue/TBuf"};
constexpr Reason kException{"the device has no exceptions or run-time types", "return early, or check in the host tiling"};
constexpr Reason kState{"state of its own would outlive a launch", "use local variables or tiling data"};

}  // namespace

const std::unordered_map<std::string_view, Reason>& always_refused() {
  static const std::unordered_map<std::string_view, Reason> words = {
      {"asm", kAssembly}, {"__asm__", kAssembly}, {"__asm", kAssembly},
      {"dlopen", kLoading}, {"dlsym", kLoading}, {"dlmopen", kLoading}, {"dlvsym", kLoading}, {"dl_iterate_phdr", kLoading},
      {"syscall", kSystem}, {"vfork", kSystem}, {"posix_spawn", kSystem}, {"execve", kSystem}, {"execvp", kSystem},
      {"execv", kSystem}, {"execl", kSystem}, {"execlp", kSystem}, {"fexecve", kSystem}, {"popen", kSystem},
      {"ptrace", kSystem}, {"mmap", kSystem}, {"munmap", kSystem}, {"mprotect", kSystem}, {"mremap", kSystem},
      {"memfd_create", kSystem}, {"shm_open", kSystem}, {"sigaction", kSystem}, {"setitimer", kSystem},
      {"getenv", kSystem}, {"secure_getenv", kSystem}, {"setenv", kSystem}, {"putenv", kSystem}, {"environ", kSystem},
      {"setrlimit", kSystem}, {"prctl", kSystem}, {"process_vm_writev", kSystem}, {"process_vm_readv", kSystem},
      {"setjmp", kLeave}, {"longjmp", kLeave}, {"sigsetjmp", kLeave}, {"siglongjmp", kLeave}, {"_exit", kLeave},
      {"_Exit", kLeave}, {"quick_exit", kLeave}, {"atexit", kLeave}, {"at_quick_exit", kLeave},
      {"clock_gettime", kClock}, {"gettimeofday", kClock}, {"clock_getres", kClock}, {"rdtsc", kClock}, {"__rdtsc", kClock},
      {"__rdtscp", kClock}, {"steady_clock", kClock}, {"system_clock", kClock}, {"high_resolution_clock", kClock},
      {"nanosleep", kClock}, {"usleep", kClock}, {"sleep_for", kClock}, {"sleep_until", kClock}, {"timespec_get", kClock},
      {"fopen", kFile}, {"freopen", kFile}, {"fdopen", kFile}, {"ifstream", kFile}, {"ofstream", kFile}, {"fstream", kFile},
      {"filesystem", kFile}, {"tmpfile", kFile}, {"opendir", kFile}, {"openat", kFile}, {"creat", kFile},
      {"jthread", kThread}, {"pthread_create", kThread}, {"pthread_t", kThread}, {"thrd_create", kThread},
      {"thread_local", kState}, {"__thread", kState},
      {"__FILE__", kProbe}, {"__BASE_FILE__", kProbe}, {"__DATE__", kProbe}, {"__TIME__", kProbe},
      {"__TIMESTAMP__", kProbe}, {"__COUNTER__", kProbe}, {"__INCLUDE_LEVEL__", kProbe}, {"__has_include", kProbe},
      {"__has_include_next", kProbe}, {"__has_embed", kProbe}, {"_Pragma", kProbe}, {"source_location", kProbe},
      {"__LINE__", kProbe}};
  return words;
}

const std::unordered_map<std::string_view, Reason>& refused_calls() {
  static const std::unordered_map<std::string_view, Reason> words = {
      {"fork", kSystem}, {"clone", kSystem}, {"system", kSystem}, {"socket", kSystem}, {"connect", kSystem},
      {"signal", kSystem}, {"raise", kSystem}, {"kill", kSystem}, {"ioctl", kSystem}, {"pipe", kSystem},
      {"exit", kLeave}, {"abort", kLeave}, {"terminate", kLeave}, {"alarm", kClock}, {"time", kClock}, {"clock", kClock},
      {"sleep", kClock}, {"open", kFile}, {"read", kFile}, {"write", kFile}, {"pread", kFile}, {"pwrite", kFile},
      {"thread", kThread}, {"async", kThread}};
  return words;
}

const std::unordered_map<std::string_view, Reason>& refused_on_device() {
  static const std::unordered_map<std::string_view, Reason> words = {
      {"new", kHeap}, {"delete", kHeap}, {"malloc", kHeap}, {"calloc", kHeap}, {"realloc", kHeap}, {"alloca", kHeap},
      {"vector", kHeap}, {"unique_ptr", kHeap}, {"shared_ptr", kHeap}, {"try", kException}, {"catch", kException},
      {"throw", kException}, {"typeid", kException}, {"dynamic_cast", kException}};
  return words;
}

const Words& kernel_headers() {
  static const Words words = {"kernel_operator.h", "kernel_tiling/kernel_tiling.h", "cstdint", "stdint.h", "cstddef",
                              "stddef.h", "type_traits", "limits", "utility", "initializer_list", "lib/matmul_intf.h",
                              "lib/matrix/matmul/matmul.h", "lib/matmul/matmul_intf.h", "lib/activation/softmax.h",
                              "lib/activation/gelu.h", "lib/activation/silu.h", "lib/activation/swish.h",
                              "lib/normalization/layernorm.h", "lib/normalization/rmsnorm.h", "lib/math/tanh.h",
                              "lib/activation/sigmoid.h", "lib/reduce/sum.h", "lib/reduce/mean.h", "lib/pad/broadcast.h",
                              "lib/broadcast/broadcast.h", "lib/math/erf.h", "lib/math/power.h", "lib/math/exp.h",
                              "adv_api/activation/softmax.h", "adv_api/matmul/matmul_intf.h"};
  return words;
}

const Words& host_headers() {
  static const Words words = {"register/tilingdata_base.h", "register/op_def_registry.h", "register/op_impl_registry.h",
                              "tiling/tiling_api.h", "tiling/platform/platform_ascendc.h", "platform/platform_ascendc.h",
                              "tiling/platform_ascendc.h", "exe_graph/runtime/tiling_context.h", "exe_graph/runtime/infer_shape_context.h",
                              "exe_graph/runtime/shape.h", "graph/types.h", "graph/utils/type_utils.h", "register/register.h",
                              "acl/acl.h", "cstdint", "stdint.h", "cstddef", "stddef.h", "algorithm", "array", "cmath", "math.h",
                              "climits", "limits", "string", "vector", "tuple", "map", "utility", "numeric", "type_traits",
                              "cstring", "string.h", "cstdio", "iostream", "memory", "initializer_list", "cassert"};
  return words;
}

const Words& attributes() {
  static const Words words = {"maybe_unused", "nodiscard", "likely", "unlikely", "fallthrough", "deprecated", "noreturn",
                              "aligned", "always_inline", "noinline", "unused", "packed", "inline", "aicore",
                              "__aligned__", "__always_inline__", "__noinline__", "__unused__", "__packed__"};
  return words;
}

const Words& builtins() {
  static const Words words = {"__builtin_expect", "__builtin_clz", "__builtin_clzl", "__builtin_clzll", "__builtin_ctz",
                              "__builtin_ctzl", "__builtin_ctzll", "__builtin_popcount", "__builtin_popcountl",
                              "__builtin_popcountll", "__builtin_inff", "__builtin_nanf", "__builtin_unreachable"};
  return words;
}

const Words& condition_macros() {
  static const Words words = {"defined", "__cplusplus", "__CCE_AICORE__", "__NPU_ARCH__", "__DAV_C220_VEC__",
                              "__DAV_C220_CUBE__", "__DAV_CUBE__", "__DAV_VEC__", "ASCEND_IS_AIV", "ASCEND_IS_AIC",
                              "true", "false", "ORIG_DTYPE_X", "DTYPE_X", "DTYPE_Y", "and", "or", "not"};
  return words;
}

const Words& keywords() {
  static const Words words = {"if", "else", "for", "while", "do", "return", "class", "struct", "private", "protected",
                              "public", "const", "constexpr", "static", "inline", "extern", "template", "typename",
                              "operator", "namespace", "using", "int", "float", "double", "char", "bool", "void", "long",
                              "short", "unsigned", "signed", "auto", "sizeof", "switch", "case", "default", "break",
                              "continue", "true", "false", "static_assert", "union", "enum", "virtual", "friend", "this",
                              "__global__", "__aicore__", "__gm__", "defined"};
  return words;
}

const Words& transfers() {
  static const Words words = {"DataCopy", "DataCopyPad", "DataCopyExt", "LoadData", "LoadDataWithTranspose", "Fixpipe",
                              "SetValue", "InitOutput", "Fill", "InitGlobalMemory", "Copy", "IterateAll", "GetTensorC"};
  return words;
}

const Words& computations() {
  static const Words words = {
      "Add", "Sub", "Mul", "Div", "Max", "Min", "And", "Or", "Xor", "Not", "AddRelu", "SubRelu", "MulAddDst",
      "FusedMulAdd", "FusedMulAddRelu", "Compare", "CompareScalar", "Compares", "Select", "Gather", "GatherMask",
      "Scatter", "Power", "Pow", "Exp", "Ln", "Log", "Log2", "Log10", "Abs", "Reciprocal", "Sqrt", "Rsqrt", "Relu",
      "Cast", "Brcb", "Transpose", "TransDataTo5HD", "CreateVecIndex", "ArithProgression", "Adds", "Subs", "Muls",
      "Divs", "Maxs", "Mins", "LeakyRelu", "Axpy", "ShiftLeft", "ShiftRight", "Duplicate", "ReduceSum", "ReduceMax",
      "ReduceMin", "WholeReduceSum", "WholeReduceMax", "WholeReduceMin", "BlockReduceSum", "BlockReduceMax",
      "BlockReduceMin", "PairReduceSum", "RepeatReduceSum", "Sort32", "Sort", "MrgSort", "Mmad", "SoftMax", "SimpleSoftMax", "Softmax",
      "LogSoftMax", "LayerNorm", "RmsNorm", "BatchNorm", "GroupNorm", "Gelu", "FasterGelu", "Silu", "Swish", "Tanh",
      "Sigmoid", "Sum", "Mean", "Broadcast", "BroadCast", "Erf", "Erfc", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan",
      "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Floor", "Ceil", "Round", "Trunc", "Sign", "Clamp", "ClampMax",
      "ClampMin", "Fmod", "Frac", "Iterate", "IterateAll", "TopK", "CumSum", "Where", "Pad", "Truncate", "ProposalConcat",
      "ReGlu", "GeGLU", "SwiGLU", "Lgamma", "Digamma", "Hypot", "Mull", "LoadData", "GetValue", "SetValue"};
  return words;
}

}  // namespace evk::screen_words
