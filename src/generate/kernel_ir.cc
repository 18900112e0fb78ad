#include "generate/kernel_ir.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"

namespace evk {
namespace {

using Shape = std::vector<std::int64_t>;

bool is_reduction(Prim prim) {
  return prim == Prim::kReduceSum || prim == Prim::kReduceMax || prim == Prim::kReduceMin ||
         prim == Prim::kVariance;
}

// The wider of two kinds, or nothing if they do not broadcast within the canonical view.
Extent joined(Extent a, Extent b) {
  if (a == b) return a;
  if (a == Extent::kScalar) return b;
  if (b == Extent::kScalar) return a;
  return Extent::kFull;
}

// Thrown within this file only, and caught by lower(): the first operation that has no lowering.
struct Stop {
  std::string why;
};

class Lowering {
 public:
  explicit Lowering(const OpGraph& graph) : graph_(graph) {}

  KernelPlan run() {
    find_reference();
    find_axes();
    add_inputs();
    for (const auto& node : graph_.nodes) lower_node(node);
    add_outputs();
    settle_loop();
    return std::move(plan_);
  }

 private:
  struct Made {
    int value = -1;
    Shape shape;
    bool aligned = true;  // a statistic that broadcasts against the full tensor as PyTorch would
  };

  // The input with the most elements: its shape is the full shape.
  void find_reference() {
    std::int64_t most = 0;
    for (const auto& input : graph_.inputs) {
      if (input.type.dtype != DType::kFloat32)
        throw Stop{fmt::format("input {} of type {}", input.name, name_of(input.type.dtype))};
      if (input.kind == GraphInputKind::kConst) throw Stop{"constant tensors"};
      if (input.type.elements() > most) {
        most = input.type.elements();
        full_ = input.type.shape;
        plan_.reference_input = input.index;
      }
    }
    if (full_.empty()) throw Stop{"a graph without a tensor input of at least one axis"};
    plan_.rank = static_cast<int>(full_.size());
  }

  static std::optional<Shape> integers(const GraphArg& arg) {
    if (const auto* one = std::get_if<std::int64_t>(&arg.value)) return Shape{*one};
    const GraphArgs* list = arg.list();
    if (!list) return std::nullopt;
    Shape found;
    for (const auto& item : *list) {
      const auto* number = std::get_if<std::int64_t>(&item.value);
      if (!number) return std::nullopt;
      found.push_back(*number);
    }
    return found;
  }

  static const GraphArg* arg_of(const GraphNode& node, std::size_t place, std::string_view name) {
    if (place < node.args.size()) return &node.args[place];
    const auto found = node.kwargs.find(std::string(name));
    return found == node.kwargs.end() ? nullptr : &found->second;
  }

  static std::optional<double> number_in(const GraphArg* arg) {
    if (!arg) return std::nullopt;
    if (const auto* real = std::get_if<double>(&arg->value)) return *real;
    if (const auto* whole = std::get_if<std::int64_t>(&arg->value)) return static_cast<double>(*whole);
    if (const auto* truth = std::get_if<bool>(&arg->value)) return *truth ? 1.0 : 0.0;
    return std::nullopt;
  }

  static double number_or(const GraphNode& node, std::size_t place, std::string_view name, double otherwise) {
    return number_in(arg_of(node, place, name)).value_or(otherwise);
  }

  static bool truth_or(const GraphNode& node, std::size_t place, std::string_view name, bool otherwise) {
    const GraphArg* arg = arg_of(node, place, name);
    const auto* truth = arg ? std::get_if<bool>(&arg->value) : nullptr;
    return truth ? *truth : otherwise;
  }

  // Begin and end of the axes that `node` reduces, if it reduces.
  struct Axes {
    int begin = 0, end = 0;
    bool keeps = false;
  };

  std::optional<Axes> axes_of(const GraphNode& node) const {
    const std::string& op = node.op;
    if (op == "aten.native_layer_norm.default") {
      const auto shape = node.args.size() > 1 ? integers(node.args[1]) : std::nullopt;
      if (!shape) throw Stop{op};
      return Axes{plan_.rank - static_cast<int>(shape->size()), plan_.rank, true};
    }
    if (op == "aten._softmax.default" || op == "aten._log_softmax.default") return from_dims(node, 1, true);
    if (op == "aten.sum.dim_IntList" || op == "aten.mean.dim" || op == "aten.amax.default" ||
        op == "aten.amin.default")
      return from_dims(node, 1, truth_or(node, 2, "keepdim", false));
    if (op == "aten.max.dim" || op == "aten.min.dim")
      return from_dims(node, 1, truth_or(node, 2, "keepdim", false));
    if (op == "aten.norm.ScalarOpt_dim" || op == "aten.linalg_vector_norm.default")
      return from_dims(node, 2, truth_or(node, 3, "keepdim", false));
    if (op == "aten.sum.default" || op == "aten.mean.default" || op == "aten.max.default" ||
        op == "aten.min.default" || op == "aten.norm.Scalar")
      return Axes{0, plan_.rank, false};
    return std::nullopt;
  }

  Axes from_dims(const GraphNode& node, std::size_t place, bool keeps) const {
    const GraphArg* arg = arg_of(node, place, "dim");
    Shape dims;
    if (arg && !arg->is_none()) {
      auto found = integers(*arg);
      if (!found) throw Stop{node.op + " with these axes"};
      dims = *found;
    }
    if (dims.empty()) return Axes{0, plan_.rank, keeps};
    for (auto& dim : dims)
      if (dim < 0) dim += plan_.rank;
    std::sort(dims.begin(), dims.end());
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (dims[i] != dims[0] + static_cast<std::int64_t>(i))
        throw Stop{node.op + " over axes that are not neighbours"};
    if (dims.front() < 0 || dims.back() >= plan_.rank)
      throw Stop{node.op + " over an axis that does not exist"};
    return Axes{static_cast<int>(dims.front()), static_cast<int>(dims.back()) + 1, keeps};
  }

  void find_axes() {
    for (const auto& node : graph_.nodes) {
      const auto axes = axes_of(node);
      if (!axes) continue;
      if (reduces_ && (axes->begin != plan_.axis_begin || axes->end != plan_.axis_end))
        throw Stop{node.op + " over other axes than an earlier reduction"};
      reduces_ = true;
      plan_.axis_begin = axes->begin;
      plan_.axis_end = axes->end;
    }
    if (!reduces_) axes_from_rows();
  }

  // Without a reduction, a parameter that spans the last axes decides what a row is.
  void axes_from_rows() {
    plan_.axis_begin = plan_.axis_end = plan_.rank;
    for (const auto& input : graph_.inputs) {
      const Shape core = without_leading_ones(input.type.shape);
      if (core == full_ || core.empty() || core.size() >= full_.size()) continue;
      const int begin = plan_.rank - static_cast<int>(core.size());
      if (plan_.axis_begin != plan_.rank && plan_.axis_begin != begin)
        throw Stop{"parameters that broadcast along different axes"};
      plan_.axis_begin = begin;
    }
  }

  static Shape without_leading_ones(const Shape& shape) {
    const auto first = std::find_if(shape.begin(), shape.end(), [](std::int64_t size) { return size != 1; });
    return Shape(first, shape.end());
  }

  Extent extent_of_input(const GraphInput& input) const {
    if (input.type.shape == full_) return Extent::kFull;
    const Shape core = without_leading_ones(input.type.shape);
    const int begin = plan_.rank - static_cast<int>(core.size());
    if (!core.empty() && begin == plan_.axis_begin && plan_.axis_end == plan_.rank &&
        std::equal(core.begin(), core.end(), full_.begin() + begin))
      return Extent::kRow;
    throw Stop{fmt::format("input {}, which does not span the whole tensor or its last axes", input.name)};
  }

  void add_inputs() {
    plan_.input_names.resize(graph_.inputs.size());
    for (const auto& input : graph_.inputs) {
      if (input.index < 0 || static_cast<std::size_t>(input.index) >= plan_.input_names.size())
        throw Stop{fmt::format("input {} at place {}", input.name, input.index)};
      plan_.input_names[static_cast<std::size_t>(input.index)] = input.name;
      IrValue value;
      value.prim = Prim::kInput;
      value.input = input.index;
      value.extent = extent_of_input(input);
      made_[{input.id, 0}] = Made{plan_.add(value), input.type.shape, true};
    }
  }

  const Made* made(const GraphArg& arg) const {
    const GraphRef* ref = arg.ref();
    if (!ref) return nullptr;
    const auto found = made_.find({ref->id, ref->index});
    return found == made_.end() ? nullptr : &found->second;
  }

  // Operand `place` of a node: an earlier value or a literal number.
  Made operand(const GraphNode& node, std::size_t place) {
    if (place >= node.args.size()) throw Stop{fmt::format("{} with {} arguments", node.op, node.args.size())};
    if (const Made* found = made(node.args[place])) return *found;
    if (const auto number = number_in(&node.args[place])) return Made{plan_.constant(*number), {}, true};
    throw Stop{node.op + " of this argument"};
  }

  Made combined(const GraphNode& node, Prim prim, const Made& a, const Made& b) {
    const Extent ea = extent(a.value), eb = extent(b.value);
    const bool mixes =
        ea != eb && (ea == Extent::kFull || eb == Extent::kFull || ea == Extent::kRow || eb == Extent::kRow);
    if ((ea == Extent::kStat && !a.aligned && mixes) || (eb == Extent::kStat && !b.aligned && mixes))
      throw Stop{node.op + " of a reduced value without its reduced axes"};
    return Made{plan_.binary(prim, a.value, b.value), node.outs.empty() ? Shape{} : node.outs[0].shape,
                a.aligned && b.aligned};
  }

  Extent extent(int value) const { return plan_.values[static_cast<std::size_t>(value)].extent; }

  void put(const GraphNode& node, Made made, int index = 0) { made_[{node.id, index}] = std::move(made); }

  void lower_node(const GraphNode& node) {
    if (axes_of(node)) return lower_reduction(node);
    if (lower_binary(node) || lower_unary(node) || lower_other(node)) return;
    throw Stop{node.op};
  }

  bool lower_binary(const GraphNode& node) {
    static const std::map<std::string, Prim, std::less<>> kBinary = {
        {"aten.add.Tensor", Prim::kAdd},      {"aten.add.Scalar", Prim::kAdd},
        {"aten.sub.Tensor", Prim::kSub},      {"aten.sub.Scalar", Prim::kSub},
        {"aten.mul.Tensor", Prim::kMul},      {"aten.mul.Scalar", Prim::kMul},
        {"aten.div.Tensor", Prim::kDiv},      {"aten.div.Scalar", Prim::kDiv},
        {"aten.maximum.default", Prim::kMax}, {"aten.minimum.default", Prim::kMin}};
    const auto found = kBinary.find(node.op);
    if (found == kBinary.end()) return false;
    const Made a = operand(node, 0);
    Made b = operand(node, 1);
    const double alpha = number_or(node, 2, "alpha", 1.0);
    if (alpha != 1.0) b.value = plan_.binary(Prim::kMul, b.value, plan_.constant(alpha));
    put(node, combined(node, found->second, a, b));
    return true;
  }

  bool lower_unary(const GraphNode& node) {
    static const std::map<std::string, Prim, std::less<>> kUnary = {
        {"aten.exp.default", Prim::kExp},         {"aten.log.default", Prim::kLn},
        {"aten.sqrt.default", Prim::kSqrt},       {"aten.abs.default", Prim::kAbs},
        {"aten.relu.default", Prim::kRelu},       {"aten.tanh.default", Prim::kTanh},
        {"aten.sigmoid.default", Prim::kSigmoid}, {"aten.erf.default", Prim::kErf}};
    const auto found = kUnary.find(node.op);
    if (found == kUnary.end()) return false;
    Made made = operand(node, 0);
    made.value = plan_.unary(found->second, made.value);
    put(node, made);
    return true;
  }

  bool lower_other(const GraphNode& node) {
    static const std::map<std::string, int (Lowering::*)(const GraphNode&, int), std::less<>> kOthers = {
        {"aten.leaky_relu.default", &Lowering::leaky_relu},
        {"aten.elu.default", &Lowering::elu},
        {"aten.hardsigmoid.default", &Lowering::hardsigmoid},
        {"aten.hardtanh.default", &Lowering::clamp},
        {"aten.clamp.default", &Lowering::clamp},
        {"aten.softplus.default", &Lowering::softplus},
        {"aten.gelu.default", &Lowering::gelu},
        {"aten.silu.default", &Lowering::silu},
        {"aten.neg.default", &Lowering::neg},
        {"aten.pow.Tensor_Scalar", &Lowering::power},
        {"aten.reciprocal.default", &Lowering::reciprocal},
        {"aten.rsqrt.default", &Lowering::rsqrt},
        {"aten.hardswish.default", &Lowering::hardswish},
        {"aten.clone.default", &Lowering::same},
        {"aten.square.default", &Lowering::square},
        {"aten.mish.default", &Lowering::mish}};
    const auto found = kOthers.find(node.op);
    if (found == kOthers.end()) return false;
    Made made = operand(node, 0);
    made.value = (this->*found->second)(node, made.value);
    put(node, made);
    return true;
  }

  int c(double number) { return plan_.constant(number); }
  int same(const GraphNode&, int x) { return x; }
  int square(const GraphNode&, int x) { return plan_.binary(Prim::kMul, x, x); }
  int neg(const GraphNode&, int x) { return plan_.binary(Prim::kMul, x, c(-1)); }
  int reciprocal(const GraphNode&, int x) { return plan_.binary(Prim::kDiv, c(1), x); }
  int rsqrt(const GraphNode&, int x) { return plan_.binary(Prim::kDiv, c(1), plan_.unary(Prim::kSqrt, x)); }
  int silu(const GraphNode&, int x) { return plan_.binary(Prim::kMul, x, plan_.unary(Prim::kSigmoid, x)); }
  int mish(const GraphNode&, int x) {
    return plan_.binary(Prim::kMul, x, plan_.unary(Prim::kTanh, plan_.unary(Prim::kSoftplus, x)));
  }
  int leaky_relu(const GraphNode& node, int x) {
    return plan_.unary(Prim::kLeakyRelu, x, number_or(node, 1, "negative_slope", 0.01));
  }

  int bounded(int x, double low, double high) {
    return plan_.binary(Prim::kMin, plan_.binary(Prim::kMax, x, c(low)), c(high));
  }
  int sixth(int x) {
    return plan_.binary(Prim::kDiv, bounded(plan_.binary(Prim::kAdd, x, c(3)), 0, 6), c(6));
  }
  int hardsigmoid(const GraphNode&, int x) { return sixth(x); }
  int hardswish(const GraphNode&, int x) { return plan_.binary(Prim::kMul, x, sixth(x)); }

  int clamp(const GraphNode& node, int x) {
    const bool hardtanh = node.op == "aten.hardtanh.default";
    const auto low = number_in(arg_of(node, 1, hardtanh ? "min_val" : "min"));
    const auto high = number_in(arg_of(node, 2, hardtanh ? "max_val" : "max"));
    if (low || hardtanh) x = plan_.binary(Prim::kMax, x, c(low.value_or(-1)));
    if (high || hardtanh) x = plan_.binary(Prim::kMin, x, c(high.value_or(1)));
    return x;
  }

  int elu(const GraphNode& node, int x) {
    if (number_or(node, 3, "input_scale", 1) != 1) throw Stop{node.op + " with an input scale"};
    const double scale = number_or(node, 2, "scale", 1);
    const int made = plan_.unary(Prim::kElu, x, number_or(node, 1, "alpha", 1));
    return scale == 1 ? made : plan_.binary(Prim::kMul, made, c(scale));
  }

  int softplus(const GraphNode& node, int x) {
    const double beta = number_or(node, 1, "beta", 1);
    if (beta == 1) return plan_.unary(Prim::kSoftplus, x);
    return plan_.binary(Prim::kDiv, plan_.unary(Prim::kSoftplus, plan_.binary(Prim::kMul, x, c(beta))),
                        c(beta));
  }

  int gelu(const GraphNode& node, int x) {
    const GraphArg* arg = arg_of(node, 1, "approximate");
    const auto* how = arg ? std::get_if<std::string>(&arg->value) : nullptr;
    return plan_.unary(Prim::kGelu, x, how && *how == "tanh" ? 1 : 0);
  }

  int power(const GraphNode& node, int x) {
    const double exponent = number_or(node, 1, "exponent", 2);
    if (exponent == 0.5) return plan_.unary(Prim::kSqrt, x);
    if (exponent != std::floor(exponent) || exponent < 1 || exponent > 8)
      throw Stop{fmt::format("{} with exponent {}", node.op, exponent)};
    int made = x;
    for (int i = 1; i < static_cast<int>(exponent); ++i) made = plan_.binary(Prim::kMul, made, x);
    return made;
  }

  int reduced(Prim prim, int x) {
    if (extent(x) != Extent::kFull) throw Stop{"a reduction of a value that does not span the whole tensor"};
    return plan_.unary(prim, x);
  }

  int mean_of(int x) {
    IrValue inverse;
    inverse.prim = Prim::kInverseLength;
    return plan_.binary(Prim::kMul, reduced(Prim::kReduceSum, x), plan_.add(inverse));
  }

  void lower_reduction(const GraphNode& node) {
    const Axes axes = *axes_of(node);
    const Made x = operand(node, 0);
    if (x.shape != full_) throw Stop{node.op + " of a tensor of another shape than the largest input"};
    if (node.op == "aten._softmax.default" || node.op == "aten._log_softmax.default")
      return lower_softmax(node, x);
    if (node.op == "aten.native_layer_norm.default") return lower_layer_norm(node, x);
    const bool whole = axes.begin == 0 && axes.end == plan_.rank;
    put(node, Made{statistic(node, x.value), {}, axes.keeps || whole || axes.begin == 0});
    keeps_[{node.id, 0}] = axes.keeps;
  }

  int statistic(const GraphNode& node, int x) {
    const std::string& op = node.op;
    if (op.starts_with("aten.sum.")) return reduced(Prim::kReduceSum, x);
    if (op.starts_with("aten.mean.")) return mean_of(x);
    if (op.starts_with("aten.max.") || op.starts_with("aten.amax.")) return reduced(Prim::kReduceMax, x);
    if (op.starts_with("aten.min.") || op.starts_with("aten.amin.")) return reduced(Prim::kReduceMin, x);
    const double p = number_or(node, 1, op.starts_with("aten.norm.") ? "p" : "ord", 2);
    if (p == 2) return plan_.unary(Prim::kSqrt, reduced(Prim::kReduceSum, plan_.binary(Prim::kMul, x, x)));
    if (p == 1) return reduced(Prim::kReduceSum, plan_.unary(Prim::kAbs, x));
    throw Stop{fmt::format("{} of order {}", op, p)};
  }

  void lower_softmax(const GraphNode& node, const Made& x) {
    const int centred = plan_.binary(Prim::kSub, x.value, reduced(Prim::kReduceMax, x.value));
    const int powers = plan_.unary(Prim::kExp, centred);
    const int sum = reduced(Prim::kReduceSum, powers);
    const bool log = node.op == "aten._log_softmax.default";
    const int made = log ? plan_.binary(Prim::kSub, centred, plan_.unary(Prim::kLn, sum))
                         : plan_.binary(Prim::kDiv, powers, sum);
    put(node, Made{made, full_, true});
  }

  void lower_layer_norm(const GraphNode& node, const Made& x) {
    const int centred = plan_.binary(Prim::kSub, x.value, mean_of(x.value));
    const int variance = reduced(Prim::kVariance, x.value);
    const int deviation =
        plan_.unary(Prim::kSqrt, plan_.binary(Prim::kAdd, variance, c(number_or(node, 4, "eps", 1e-5))));
    int made = plan_.binary(Prim::kDiv, centred, deviation);
    for (const auto& [place, prim] : {std::pair<std::size_t, Prim>{2, Prim::kMul}, {3, Prim::kAdd}})
      if (place < node.args.size() && !node.args[place].is_none())
        made = plan_.binary(prim, made, operand(node, place).value);
    put(node, Made{made, full_, true});
  }

  void add_outputs() {
    for (const auto& ref : graph_.outputs) {
      const auto found = made_.find({ref.id, ref.index});
      if (found == made_.end()) throw Stop{"an output that is not a lowered value"};
      const Extent kind = extent(found->second.value);
      if (kind != Extent::kFull && kind != Extent::kStat)
        throw Stop{"an output that spans neither the tensor nor its kept axes"};
      plan_.outputs.push_back(found->second.value);
      plan_.keeps_dims.push_back(keeps(ref));
    }
    if (plan_.outputs.size() != 1) throw Stop{"more than one output"};
  }

  // Whether the output's own rank says that the reduced axes stay as ones.
  bool keeps(const GraphRef& ref) const {
    const auto declared = keeps_.find({ref.id, ref.index});
    if (declared != keeps_.end()) return declared->second;
    for (const auto& node : graph_.nodes)
      if (node.id == ref.id && static_cast<std::size_t>(ref.index) < node.outs.size())
        return static_cast<int>(node.outs[static_cast<std::size_t>(ref.index)].shape.size()) == plan_.rank;
    return true;
  }

  void settle_loop() {
    const bool rows = std::any_of(plan_.values.begin(), plan_.values.end(),
                                  [](const IrValue& v) { return v.extent == Extent::kRow; });
    plan_.loop = !reduces_ && !rows             ? LoopForm::kFlat
                 : plan_.axis_end == plan_.rank ? LoopForm::kRows
                                                : LoopForm::kInner;
  }

  const OpGraph& graph_;
  KernelPlan plan_;
  Shape full_;
  bool reduces_ = false;
  std::map<std::pair<std::string, int>, Made> made_;
  std::map<std::pair<std::string, int>, bool> keeps_;
};

}  // namespace

int KernelPlan::add(IrValue value) {
  if (value.prim != Prim::kInput) {
    const auto of = [&](int operand) -> const IrValue* {
      return operand < 0 ? nullptr : &values[static_cast<std::size_t>(operand)];
    };
    value.extent = Extent::kScalar;
    value.level = 0;
    for (const IrValue* operand : {of(value.a), of(value.b)})
      if (operand) {
        value.extent = joined(value.extent, operand->extent);
        value.level = std::max(value.level, operand->level);
      }
    if (is_reduction(value.prim)) {
      value.extent = Extent::kStat;
      ++value.level;
    }
  }
  const auto found = std::find(values.begin(), values.end(), value);
  if (found != values.end()) return static_cast<int>(found - values.begin());
  values.push_back(std::move(value));
  return static_cast<int>(values.size()) - 1;
}

int KernelPlan::constant(double number) {
  IrValue value;
  value.number = number;
  return add(value);
}

int KernelPlan::binary(Prim prim, int a, int b) {
  const IrValue &left = values[static_cast<std::size_t>(a)], &right = values[static_cast<std::size_t>(b)];
  if (left.prim == Prim::kConst && right.prim == Prim::kConst) {
    if (prim == Prim::kAdd) return constant(left.number + right.number);
    if (prim == Prim::kSub) return constant(left.number - right.number);
    if (prim == Prim::kMul) return constant(left.number * right.number);
  }
  IrValue value;
  value.prim = prim;
  value.a = a;
  value.b = b;
  return add(value);
}

int KernelPlan::unary(Prim prim, int a, double number) {
  IrValue value;
  value.prim = prim;
  value.a = a;
  value.number = number;
  return add(value);
}

std::variant<KernelPlan, Unsupported> lower(const OpGraph& graph) {
  try {
    return Lowering(graph).run();
  } catch (const Stop& stop) {
    return Unsupported{stop.why};
  }
}

}  // namespace evk
