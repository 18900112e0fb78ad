// What the glue of a PyTorch extension compiles against: tensors that have sizes, a type and an address on
// the chip, and no data. A glue function runs here as it does beside PyTorch: it makes outputs and launches
// kernels; which launch truly runs, and where the outputs lie, the runner decides (evk_bridge::Run).
//
// There is one dtype per tensor, everything is contiguous, and no element can be read: glue that computes on
// the host does not compile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "ascendc/launch.h"
#include "evk_host/types.h"

// A tensor or an attribute of an operator's call, as the runner takes them.
struct EvkTwinOperand {
  enum Kind : std::uint32_t { kTensor, kInteger, kReal, kFlag, kText, kIntegers, kReals };
  Kind kind;
  std::uint32_t dtype;  // as ge::DataType
  std::uint64_t addr;
  const std::int64_t* sizes;  // of a tensor, or the integers
  std::uint64_t count;        // of sizes, integers or reals
  std::int64_t integer;
  double real;
  const char* text;
  const float* reals;
};

enum : int { EVK_TWIN_BRIDGE_PLAN = -1, EVK_TWIN_BRIDGE_OFF = -2 };

extern "C" {
// Plan: launches are counted, none runs. Off: each runs. Else only launch number `wanted` runs, from 0 on.
void evk_twin_bridge(int wanted);
int evk_twin_bridge_launches();
// Launches the registered operator that `name` ("aclnn" and its type) stands for.
void evk_twin_execute(const char* name, const EvkTwinOperand* operands, std::uint64_t count);
[[noreturn]] void evk_twin_bridge_fail(const char* message);
void evk_twin_say(const char* format, ...);
}

namespace c10 {

using std::nullopt;
using std::optional;

enum class ScalarType : int { Byte, Char, Short, Int, Long, Half, Float, Double, Bool, BFloat16, Undefined };
enum class MemoryFormat { Contiguous, Preserve, ChannelsLast };
enum class DeviceType : int { CPU, PrivateUse1 };

struct Device {
  DeviceType kind = DeviceType::PrivateUse1;
  DeviceType type() const { return kind; }
  int index() const { return 0; }
  bool is_cpu() const { return false; }
  bool is_privateuseone() const { return true; }
};
struct OptionalDeviceGuard {
  OptionalDeviceGuard() = default;
  template <typename... A>
  explicit OptionalDeviceGuard(A&&...) {}
};
using DeviceGuard = OptionalDeviceGuard;

template <typename T>
class ArrayRef {
 public:
  ArrayRef() = default;
  ArrayRef(const T* data, std::size_t size) : data_(data), size_(size) {}
  ArrayRef(const std::vector<T>& v) : data_(v.data()), size_(v.size()) {}  // NOLINT
  // For arguments: the list lives as long as the call.
  ArrayRef(const std::initializer_list<T>& v) { set(v.begin(), v.size()); }  // NOLINT
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  const T& at(std::size_t i) const {
    if (i >= size_) evk_twin_bridge_fail("the glue asks for a size that the tensor does not have");
    return data_[i];
  }
  const T& front() const { return at(0); }
  const T& back() const { return at(size_ - 1); }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  bool operator==(const ArrayRef& other) const {
    return size_ == other.size_ && std::equal(begin(), end(), other.begin());
  }
  bool operator!=(const ArrayRef& other) const { return !(*this == other); }

 private:
  void set(const T* data, std::size_t size) {
    data_ = data;
    size_ = size;
  }
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};
using IntArrayRef = ArrayRef<std::int64_t>;

inline std::size_t elementSize(ScalarType t) {
  switch (t) {
    case ScalarType::Byte:
    case ScalarType::Char:
    case ScalarType::Bool:
      return 1;
    case ScalarType::Short:
    case ScalarType::Half:
    case ScalarType::BFloat16:
      return 2;
    case ScalarType::Int:
    case ScalarType::Float:
      return 4;
    default:
      return 8;
  }
}

class Scalar {
 public:
  Scalar() = default;
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Scalar(T v)  // NOLINT
      : real_(static_cast<double>(v)),
        integer_(static_cast<std::int64_t>(v)),
        whole_(std::is_integral_v<T>) {}
  template <typename T>
  T to() const {
    return whole_ ? static_cast<T>(integer_) : static_cast<T>(real_);
  }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  std::int64_t toLong() const { return to<std::int64_t>(); }
  int toInt() const { return to<int>(); }
  bool toBool() const { return to<std::int64_t>() != 0; }
  bool isIntegral(bool = false) const { return whole_; }
  bool isFloatingPoint() const { return !whole_; }

 private:
  double real_ = 0;
  std::int64_t integer_ = 0;
  bool whole_ = true;
};

struct TensorOptions {
  ScalarType type = ScalarType::Float;
  TensorOptions() = default;
  TensorOptions(ScalarType t) : type(t) {}  // NOLINT
  TensorOptions dtype(ScalarType t) const { return TensorOptions(t); }
  ScalarType dtype() const { return type; }
  template <typename... A>
  TensorOptions device(A&&...) const {
    return *this;
  }
  template <typename... A>
  TensorOptions layout(A&&...) const {
    return *this;
  }
  TensorOptions requires_grad(bool) const { return *this; }
};

}  // namespace c10

namespace at {

using c10::ArrayRef;
using c10::Device;
using c10::DeviceGuard;
using c10::IntArrayRef;
using c10::MemoryFormat;
using c10::OptionalDeviceGuard;
using c10::Scalar;
using c10::ScalarType;
using c10::TensorOptions;

constexpr ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char, kShort = ScalarType::Short,
                     kInt = ScalarType::Int, kLong = ScalarType::Long, kHalf = ScalarType::Half,
                     kFloat = ScalarType::Float, kDouble = ScalarType::Double, kBool = ScalarType::Bool,
                     kBFloat16 = ScalarType::BFloat16, kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort,
                     kInt32 = kInt, kInt64 = kLong, kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble;

// An address on the chip, and what lies there. Copies name the same memory.
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::uint64_t addr, std::vector<std::int64_t> sizes, ScalarType type, int source)
      : it_(std::make_shared<const It>(It{addr, std::move(sizes), type, source, true})) {}

  bool defined() const { return it_->defined; }
  IntArrayRef sizes() const { return it_->sizes; }
  std::vector<std::int64_t> strides() const {
    std::vector<std::int64_t> out(it_->sizes.size(), 1);
    for (std::size_t i = out.size(); i > 1; --i) out[i - 2] = out[i - 1] * it_->sizes[i - 1];
    return out;
  }
  std::int64_t dim() const { return static_cast<std::int64_t>(it_->sizes.size()); }
  std::int64_t ndimension() const { return dim(); }
  std::int64_t size(std::int64_t i) const { return it_->sizes[axis(i)]; }
  std::int64_t stride(std::int64_t i) const { return strides()[axis(i)]; }
  std::int64_t numel() const {
    std::int64_t n = 1;
    for (const std::int64_t s : it_->sizes) n *= s;
    return n;
  }
  std::int64_t storage_offset() const { return 0; }
  std::size_t element_size() const { return c10::elementSize(it_->type); }
  std::size_t itemsize() const { return element_size(); }
  std::size_t nbytes() const { return static_cast<std::size_t>(numel()) * element_size(); }
  ScalarType scalar_type() const { return it_->type; }
  ScalarType dtype() const { return it_->type; }
  TensorOptions options() const { return TensorOptions(it_->type); }
  Device device() const { return {}; }
  int get_device() const { return 0; }
  bool is_contiguous() const { return true; }
  bool is_cpu() const { return false; }
  bool is_privateuseone() const { return true; }
  bool is_floating_point() const {
    return it_->type == ScalarType::Float || it_->type == ScalarType::Half ||
           it_->type == ScalarType::BFloat16 || it_->type == ScalarType::Double;
  }
  Tensor contiguous(MemoryFormat = MemoryFormat::Contiguous) const { return *this; }
  Tensor detach() const { return *this; }
  // An address on the chip: nothing on the host may follow it.
  void* data_ptr() const { return reinterpret_cast<void*>(it_->addr); }
  void* mutable_data_ptr() const { return data_ptr(); }
  const void* const_data_ptr() const { return data_ptr(); }
  template <typename T>
  T* data_ptr() const {
    return static_cast<T*>(data_ptr());
  }

  Tensor reshape(IntArrayRef sizes) const {
    return Tensor(it_->addr, fitting(sizes), it_->type, it_->source);
  }
  Tensor view(IntArrayRef sizes) const { return reshape(sizes); }
  Tensor flatten(std::int64_t from = 0, std::int64_t to = -1) const {
    if (dim() == 0) return reshape({1});
    std::vector<std::int64_t> sizes;
    const std::size_t begin = axis(from), end = axis(to);
    for (std::size_t i = 0; i < it_->sizes.size(); ++i) {
      if (i > begin && i <= end)
        sizes.back() *= it_->sizes[i];
      else
        sizes.push_back(it_->sizes[i]);
    }
    return reshape(sizes);
  }
  Tensor unsqueeze(std::int64_t at) const {
    std::vector<std::int64_t> sizes = it_->sizes;
    sizes.insert(sizes.begin() + (at < 0 ? at + dim() + 1 : at), 1);
    return reshape(sizes);
  }
  Tensor squeeze(std::int64_t at) const {
    std::vector<std::int64_t> sizes = it_->sizes;
    if (sizes[axis(at)] == 1) sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis(at)));
    return reshape(sizes);
  }

  std::uint64_t evk_addr() const { return it_->addr; }
  int evk_source() const { return it_->source; }  // input i: -1 - i; output j: j

 private:
  struct It {
    std::uint64_t addr = 0;
    std::vector<std::int64_t> sizes;
    ScalarType type = ScalarType::Undefined;
    int source = 0;
    bool defined = false;
  };
  std::size_t axis(std::int64_t i) const {
    if (i < 0) i += dim();
    if (i < 0 || i >= dim())
      evk_twin_bridge_fail("the glue asks for a dimension that the tensor does not have");
    return static_cast<std::size_t>(i);
  }
  std::vector<std::int64_t> fitting(IntArrayRef wanted) const {
    std::vector<std::int64_t> sizes = wanted.vec();
    std::int64_t known = 1;
    std::int64_t* open = nullptr;
    for (std::int64_t& s : sizes) {
      if (s == -1 && !open)
        open = &s;
      else
        known *= s;
    }
    if (open) *open = known != 0 ? numel() / known : 0;
    if ((open ? known * *open : known) != numel())
      evk_twin_bridge_fail("the glue views a tensor with another number of elements");
    return sizes;
  }

  std::shared_ptr<const It> it_ = std::make_shared<const It>();
};
using TensorList = ArrayRef<Tensor>;

}  // namespace at

namespace evk_bridge {

inline std::uint32_t ge_type(c10::ScalarType t) {
  using S = c10::ScalarType;
  switch (t) {
    case S::Byte:
      return ge::DT_UINT8;
    case S::Char:
      return ge::DT_INT8;
    case S::Short:
      return ge::DT_INT16;
    case S::Int:
      return ge::DT_INT32;
    case S::Long:
      return ge::DT_INT64;
    case S::Half:
      return ge::DT_FLOAT16;
    case S::Float:
      return ge::DT_FLOAT;
    case S::Double:
      return ge::DT_DOUBLE;
    case S::Bool:
      return ge::DT_BOOL;
    case S::BFloat16:
      return ge::DT_BF16;
    default:
      return ge::DT_UNDEFINED;
  }
}
inline c10::ScalarType torch_type(std::int32_t t) {
  using S = c10::ScalarType;
  for (const S s :
       {S::Byte, S::Char, S::Short, S::Int, S::Long, S::Half, S::Float, S::Double, S::Bool, S::BFloat16})
    if (static_cast<std::int32_t>(ge_type(s)) == t) return s;
  return S::Undefined;
}

// An argument of a glue function, as the model gave it.
struct Argument {
  enum class Kind { kNone, kTensor, kInteger, kReal, kFlag, kText, kIntegers, kReals };
  Kind kind = Kind::kNone;
  at::Tensor tensor;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;

  static Argument of(at::Tensor t) {
    Argument a;
    a.kind = Kind::kTensor;
    a.tensor = std::move(t);
    return a;
  }
  static Argument of_integer(std::int64_t v, Kind kind = Kind::kInteger) {
    Argument a;
    a.kind = kind;
    a.integer = v;
    a.real = static_cast<double>(v);
    return a;
  }
  static Argument of_real(double v) {
    Argument a;
    a.kind = Kind::kReal;
    a.real = v;
    return a;
  }
  static Argument of_text(std::string v) {
    Argument a;
    a.kind = Kind::kText;
    a.text = std::move(v);
    return a;
  }
  static Argument of_integers(std::vector<std::int64_t> v) {
    Argument a;
    a.kind = Kind::kIntegers;
    a.reals.assign(v.begin(), v.end());
    a.integers = std::move(v);
    return a;
  }
  static Argument of_reals(std::vector<double> v) {
    Argument a;
    a.kind = Kind::kReals;
    a.reals = std::move(v);
    return a;
  }
};

[[noreturn]] inline void wrong_argument(const char* wanted) {
  evk_twin_bridge_fail(
      (std::string("the glue function wants ") + wanted + ", the model gives something else").c_str());
}

// From what the model gave to what the glue's parameter is.
template <typename T, typename = void>
struct Taken {
  static_assert(!sizeof(T),
                "a glue function takes tensors, numbers, strings, lists and optional ones of them");
};
template <>
struct Taken<at::Tensor> {
  static at::Tensor from(const Argument& a) {
    if (a.kind != Argument::Kind::kTensor) wrong_argument("a tensor");
    return a.tensor;
  }
};
template <typename T>
struct Taken<T, std::enable_if_t<std::is_arithmetic_v<T>>> {
  static T from(const Argument& a) {
    using K = Argument::Kind;
    if (a.kind != K::kInteger && a.kind != K::kReal && a.kind != K::kFlag) wrong_argument("a number");
    if (std::is_integral_v<T> && a.kind == K::kReal) wrong_argument("an integer");
    return std::is_integral_v<T> ? static_cast<T>(a.integer) : static_cast<T>(a.real);
  }
};
template <>
struct Taken<c10::Scalar> {
  static c10::Scalar from(const Argument& a) {
    return a.kind == Argument::Kind::kReal ? c10::Scalar(a.real) : c10::Scalar(Taken<std::int64_t>::from(a));
  }
};
template <>
struct Taken<std::string> {
  static std::string from(const Argument& a) {
    if (a.kind != Argument::Kind::kText) wrong_argument("a string");
    return a.text;
  }
};
template <typename T>
struct Taken<std::vector<T>, std::enable_if_t<std::is_arithmetic_v<T>>> {
  static std::vector<T> from(const Argument& a) {
    if (a.kind != Argument::Kind::kIntegers && (std::is_integral_v<T> || a.kind != Argument::Kind::kReals))
      wrong_argument("a list of numbers");
    if (std::is_integral_v<T>) return {a.integers.begin(), a.integers.end()};
    return {a.reals.begin(), a.reals.end()};
  }
};
template <>
struct Taken<c10::IntArrayRef> {
  static c10::IntArrayRef from(const Argument& a) {
    if (a.kind != Argument::Kind::kIntegers) wrong_argument("a list of integers");
    return a.integers;
  }
};
template <typename T>
struct Taken<std::optional<T>> {
  static std::optional<T> from(const Argument& a) {
    if (a.kind == Argument::Kind::kNone) return std::nullopt;
    return Taken<T>::from(a);
  }
};

// --- results

struct Results {
  std::vector<at::Tensor> tensors;
  bool single = false;
};
inline Results results_of(at::Tensor t) { return {{std::move(t)}, true}; }
inline Results results_of(std::vector<at::Tensor> t) { return {std::move(t), false}; }
template <typename... T>
Results results_of(const std::tuple<T...>& t) {
  return std::apply([](const auto&... each) { return Results{{each...}, false}; }, t);
}

// --- the glue's functions, by name

struct Entry {
  const char* name;
  std::size_t arity;
  std::shared_ptr<void> function;
  Results (*call)(void* function, const std::vector<Argument>& arguments);
};
inline std::vector<Entry>& entries() {
  static std::vector<Entry> all;
  return all;
}

template <typename F, typename R, typename... P, std::size_t... i>
Results call_typed(F& f, const std::vector<Argument>& a, std::index_sequence<i...>) {
  if constexpr (std::is_void_v<R>) {
    f(Taken<std::decay_t<P>>::from(a[i])...);
    return {};
  } else {
    return results_of(f(Taken<std::decay_t<P>>::from(a[i])...));
  }
}
template <typename F, typename R, typename... P>
void define(const char* name, F function) {
  entries().push_back({name, sizeof...(P), std::make_shared<F>(std::move(function)),
                       [](void* f, const std::vector<Argument>& a) {
                         return call_typed<F, R, P...>(*static_cast<F*>(f), a,
                                                       std::index_sequence_for<P...>());
                       }});
}
template <typename R, typename... P>
void define_any(const char* name, R (*f)(P...)) {
  define<R (*)(P...), R, P...>(name, f);
}
template <typename F, typename R, typename C, typename... P>
void define_lambda(const char* name, F f, R (C::*)(P...) const) {
  define<F, R, P...>(name, std::move(f));
}
template <typename F>
auto define_any(const char* name, F f) -> decltype(&F::operator(), void()) {
  define_lambda(name, f, &F::operator());
}

// --- one call

// Where a call's outputs lie: in what the launch gives, in the order in which the glue makes them.
class Run {
 public:
  Run(int wanted, const npu::Tensor* inputs, const npu::Tensor* outputs)
      : wanted_(wanted), inputs_(inputs), outputs_(outputs) {
    current() = this;
    evk_twin_bridge(wanted);
  }
  ~Run() { current() = nullptr; }
  static Run*& current() {
    static Run* it = nullptr;
    return it;
  }

  at::Tensor input(int i) const {
    const npu::Tensor& t = inputs_[i];
    return {reinterpret_cast<std::uint64_t>(t.addr), {t.size, t.size + t.rank}, torch_type(t.dtype), -1 - i};
  }
  at::Tensor make(c10::IntArrayRef sizes, c10::ScalarType type, bool zeros) {
    const int number = static_cast<int>(made_.size());
    if (number >= 32) evk_twin_bridge_fail("the glue makes more than 32 tensors in one call");
    const std::uint64_t addr =
        wanted_ < 0 ? 512 * (made_.size() + 1) : reinterpret_cast<std::uint64_t>(outputs_[number].addr);
    made_.push_back({addr, sizes.vec(), type, number});
    zeros_.push_back(zeros);
    return made_.back();
  }
  void call(const char* function, const std::vector<Argument>& arguments) {
    const auto at = std::find_if(entries().begin(), entries().end(), [&](const Entry& e) {
      return std::strcmp(e.name, function) == 0 && e.arity == arguments.size();
    });
    if (at == entries().end())
      evk_twin_bridge_fail((std::string("the glue defines no function ") + function + " of " +
                            std::to_string(arguments.size()) + " arguments")
                               .c_str());
    const Results results = at->call(at->function.get(), arguments);
    if (wanted_ < 0) tell(results);
  }

 private:
  static std::string words(c10::IntArrayRef sizes) {
    std::string text;
    for (const std::int64_t s : sizes) text += " " + std::to_string(s);
    return text;
  }
  // The plan, as lines of what the program prints.
  void tell(const Results& results) const {
    for (std::size_t i = 0; i < made_.size(); ++i)
      evk_twin_say("EVKPLAN make %u %d%s\n", ge_type(made_[i].scalar_type()), zeros_[i] ? 1 : 0,
                   words(made_[i].sizes()).c_str());
    for (const at::Tensor& t : results.tensors)
      evk_twin_say("EVKPLAN return %d%s\n", t.evk_source(), words(t.sizes()).c_str());
    evk_twin_say("EVKPLAN end %d %d\n", evk_twin_bridge_launches(), results.single ? 1 : 0);
    evk_twin_bridge(EVK_TWIN_BRIDGE_OFF);
    evk_twin_launch(
        1, 0, [](void*) {}, nullptr);  // a program launches something
  }

  int wanted_;
  const npu::Tensor *inputs_, *outputs_;
  std::vector<at::Tensor> made_;
  std::vector<bool> zeros_;
};

inline at::Tensor made(c10::IntArrayRef sizes, c10::TensorOptions options, bool zeros) {
  Run* run = Run::current();
  if (!run) evk_twin_bridge_fail("the glue makes a tensor outside of a call");
  return run->make(sizes, options.type, zeros);
}

// --- operands of EXEC_NPU_CMD

inline EvkTwinOperand operand(const at::Tensor& t) {
  EvkTwinOperand o{};
  o.kind = EvkTwinOperand::kTensor;
  o.dtype = ge_type(t.scalar_type());
  o.addr = t.evk_addr();
  o.sizes = t.sizes().data();
  o.count = t.sizes().size();
  return o;
}
template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
EvkTwinOperand operand(const T& v) {
  EvkTwinOperand o{};
  o.kind = std::is_same_v<T, bool> ? EvkTwinOperand::kFlag
           : std::is_integral_v<T> ? EvkTwinOperand::kInteger
                                   : EvkTwinOperand::kReal;
  o.integer = static_cast<std::int64_t>(v);
  o.real = static_cast<double>(v);
  return o;
}
inline EvkTwinOperand operand(const c10::Scalar& v) {
  return v.isIntegral() ? operand(v.toLong()) : operand(v.toDouble());
}
inline EvkTwinOperand operand(const std::string& v) {
  EvkTwinOperand o{};
  o.kind = EvkTwinOperand::kText;
  o.text = v.c_str();
  return o;
}
inline EvkTwinOperand operand(const char* v) {
  EvkTwinOperand o{};
  o.kind = EvkTwinOperand::kText;
  o.text = v;
  return o;
}
inline EvkTwinOperand operand(c10::IntArrayRef v) {
  EvkTwinOperand o{};
  o.kind = EvkTwinOperand::kIntegers;
  o.sizes = v.data();
  o.count = v.size();
  return o;
}
inline EvkTwinOperand operand(const std::vector<std::int64_t>& v) { return operand(c10::IntArrayRef(v)); }
inline EvkTwinOperand operand(const std::vector<float>& v) {
  EvkTwinOperand o{};
  o.kind = EvkTwinOperand::kReals;
  o.reals = v.data();
  o.count = v.size();
  return o;
}
template <typename T>
EvkTwinOperand operand(const std::optional<T>& v) {
  return v ? operand(*v) : operand(at::Tensor());
}
template <typename... A>
void execute(const char* name, const A&... a) {
  const EvkTwinOperand operands[] = {operand(a)..., EvkTwinOperand{}};
  evk_twin_execute(name, operands, sizeof...(A));
}

// What pybind11's module object offers to the glue.
struct Module {
  template <typename F, typename... Rest>
  Module& def(const char* name, F f, Rest&&...) {
    define_any(name, f);
    return *this;
  }
  const char*& doc() {
    static const char* text = "";
    return text;
  }
};
struct Registrar {
  explicit Registrar(void (*fill)(Module&)) {
    Module module;
    fill(module);
  }
};
// Registrations with PyTorch's dispatcher: the model reaches the same functions by the module.
struct Library {
  template <typename... A>
  Library& def(A&&...) {
    return *this;
  }
  template <typename... A>
  Library& impl(A&&...) {
    return *this;
  }
};

}  // namespace evk_bridge

namespace at {

inline Tensor empty(IntArrayRef sizes, TensorOptions options = {}) {
  return evk_bridge::made(sizes, options, false);
}
inline Tensor zeros(IntArrayRef sizes, TensorOptions options = {}) {
  return evk_bridge::made(sizes, options, true);
}
template <typename... A>
Tensor empty_like(const Tensor& t, A&&...) {
  return empty(t.sizes(), t.options());
}
template <typename... A>
Tensor zeros_like(const Tensor& t, A&&...) {
  return zeros(t.sizes(), t.options());
}
template <typename... A>
Tensor empty_like(const Tensor& t, TensorOptions options, A&&...) {
  return empty(t.sizes(), options);
}

}  // namespace at

namespace torch {

using namespace at;  // as PyTorch has it
using Library = evk_bridge::Library;
inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }

}  // namespace torch

namespace c10_npu {

struct NPUStream {
  aclrtStream stream(bool = true) const { return nullptr; }
  operator aclrtStream() const { return nullptr; }  // NOLINT
};
inline NPUStream getCurrentNPUStream(int = -1) { return {}; }

}  // namespace c10_npu

namespace pybind11 {

using module_ = evk_bridge::Module;
struct arg {
  explicit arg(const char*) {}
};

}  // namespace pybind11
namespace py = pybind11;

#ifndef TORCH_EXTENSION_NAME
#define TORCH_EXTENSION_NAME custom_ops_lib
#endif
#define EVK_BRIDGE_JOIN_(a, b) a##b
#define EVK_BRIDGE_JOIN(a, b) EVK_BRIDGE_JOIN_(a, b)
#define PYBIND11_MODULE(name, variable)                                     \
  static void evk_bridge_fill(evk_bridge::Module& variable);                \
  static const evk_bridge::Registrar evk_bridge_registrar(evk_bridge_fill); \
  static void evk_bridge_fill([[maybe_unused]] evk_bridge::Module& variable)
#define EVK_BRIDGE_LIBRARY(variable, number) \
  [[maybe_unused]] static void EVK_BRIDGE_JOIN(evk_bridge_library_, number)(torch::Library & variable)
#define TORCH_LIBRARY(name, variable) EVK_BRIDGE_LIBRARY(variable, __COUNTER__)
#define TORCH_LIBRARY_FRAGMENT(name, variable) EVK_BRIDGE_LIBRARY(variable, __COUNTER__)
#define TORCH_LIBRARY_IMPL(name, key, variable) EVK_BRIDGE_LIBRARY(variable, __COUNTER__)
#define EXEC_NPU_CMD(name, ...) ::evk_bridge::execute(#name, __VA_ARGS__)
#define TORCH_CHECK(condition, ...)                                                    \
  do {                                                                                 \
    if (!(condition)) evk_twin_bridge_fail("a check of the glue failed: " #condition); \
  } while (0)
#define TORCH_CHECK_NPU TORCH_CHECK
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define AT_ASSERTM TORCH_CHECK
