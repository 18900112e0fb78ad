#include "verify/freshness.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <string_view>

#include "base/random.h"

namespace evk {
namespace {

// What is known of a tensor of the graph.
struct Traits {
  std::vector<std::int64_t> shape;
  bool batched = false;  // dimension 0 is the batch
  int degree = 0;        // of homogeneity in the scaled input: 0 or 1
};

using Known = std::map<std::string, std::vector<Traits>>;

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "aten.mul.Tensor" -> "mul"
std::string_view base_of(std::string_view op) {
  if (op.starts_with("aten.")) op.remove_prefix(5);
  return op.substr(0, op.find('.'));
}

bool is_pointwise(std::string_view name) {
  return one_of(name,
                {"relu",        "sigmoid",    "tanh",     "exp",        "log",       "abs",
                 "neg",         "gelu",       "silu",     "elu",        "hardtanh",  "hardswish",
                 "mish",        "leaky_relu", "softplus", "clamp",      "clamp_min", "clamp_max",
                 "sqrt",        "rsqrt",      "square",   "reciprocal", "erf",       "log_sigmoid_forward",
                 "hardsigmoid", "pow",        "add",      "sub",        "mul",       "div",
                 "rsub",        "maximum",    "minimum",  "relu6",      "selu",      "clone",
                 "_to_copy",    "detach",     "sin",      "cos",        "where",     "sign",
                 "lt",          "gt",         "le",       "ge",         "eq",        "ne",
                 "exp2",        "log1p",      "expm1",    "floor",      "ceil",      "round",
                 "tanhshrink"});
}

bool is_row_reduction(std::string_view name) {
  return one_of(name,
                {"sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "_softmax", "_log_softmax",
                 "logsumexp", "cumsum", "cumprod", "var", "std", "prod", "norm", "linalg_vector_norm"});
}

// The dimensions that argument `place` names, none if it names all or something else.
std::optional<std::vector<std::int64_t>> dims_of(const GraphNode& node, std::size_t place, std::size_t rank) {
  if (node.args.size() <= place) return std::nullopt;
  std::vector<std::int64_t> dims;
  const auto add = [&](const GraphArg& arg) {
    const auto* dim = std::get_if<std::int64_t>(&arg.value);
    if (dim == nullptr) return false;
    dims.push_back(*dim < 0 ? *dim + static_cast<std::int64_t>(rank) : *dim);
    return true;
  };
  if (const GraphArgs* list = node.args[place].list()) {
    for (const GraphArg& arg : *list)
      if (!add(arg)) return std::nullopt;
  } else if (!add(node.args[place])) {
    return std::nullopt;
  }
  return dims.empty() ? std::nullopt : std::optional(dims);
}

class Propagation {
 public:
  Propagation(const ShapeSet& shapes, const std::set<std::size_t>& batched, std::optional<std::size_t> scaled)
      : shapes_(shapes), batched_(batched), scaled_(scaled) {}

  // Whether every output is batched (or, with a scaled input, of degree 1).
  bool holds() {
    for (const GraphInput& head : shapes_.graph.inputs) {
      const auto at = static_cast<std::size_t>(std::max(head.index, 0));
      const bool given = head.kind != GraphInputKind::kConst && head.index >= 0;
      known_[head.id] = {{head.type.shape, given && batched_.contains(at), given && scaled_ == at ? 1 : 0}};
    }
    for (const GraphNode& node : shapes_.graph.nodes)
      if (!add(node)) return false;
    if (shapes_.graph.outputs.empty()) return false;
    return std::all_of(shapes_.graph.outputs.begin(), shapes_.graph.outputs.end(), [&](const GraphRef& ref) {
      const Traits* found = traits(ref);
      return found != nullptr && (scaled_ ? found->degree == 1 : found->batched);
    });
  }

 private:
  const Traits* traits(const GraphRef& ref) const {
    const auto found = known_.find(ref.id);
    if (found == known_.end() || ref.index < 0) return nullptr;
    const auto at = static_cast<std::size_t>(ref.index);
    return at < found->second.size() ? &found->second[at] : nullptr;
  }

  bool add(const GraphNode& node) {
    std::vector<const Traits*> tensors;  // by argument; null for literals
    for (const GraphArg& arg : node.args) {
      if (arg.list() != nullptr && std::any_of(arg.list()->begin(), arg.list()->end(),
                                               [](const GraphArg& a) { return a.ref() != nullptr; }))
        return false;
      tensors.push_back(arg.ref() != nullptr ? traits(*arg.ref()) : nullptr);
      if (arg.ref() != nullptr && tensors.back() == nullptr) return false;
    }
    const bool touched = std::any_of(tensors.begin(), tensors.end(), [&](const Traits* t) {
      return t != nullptr && (scaled_ ? t->degree == 1 : t->batched);
    });
    const bool carried = !touched || (scaled_ ? scales(node, tensors) : keeps_batch(node, tensors));
    if (!carried) return false;
    std::vector<Traits> outs;
    for (const TensorType& out : node.outs)
      outs.push_back({out.shape, touched && !scaled_, touched && scaled_ ? 1 : 0});
    known_[node.id] = std::move(outs);
    return true;
  }

  static bool keeps_batch(const GraphNode& node, const std::vector<const Traits*>& t) {
    const std::string_view name = base_of(node.op);
    if (node.outs.empty() || t.empty()) return false;
    if (is_row_reduction(name) && t[0] != nullptr && t[0]->batched) {
      const auto dims =
          dims_of(node, one_of(name, {"norm", "linalg_vector_norm"}) ? 2 : 1, t[0]->shape.size());
      return dims && std::find(dims->begin(), dims->end(), 0) == dims->end();
    }
    if (is_pointwise(name)) return broadcasts(node.outs[0].shape, t);
    const bool first_only =
        t[0] != nullptr && t[0]->batched &&
        std::none_of(t.begin() + 1, t.end(), [](const Traits* x) { return x && x->batched; });
    if (one_of(name, {"mm", "convolution", "max_pool2d_with_indices", "avg_pool2d", "avg_pool3d",
                      "max_pool3d_with_indices", "native_group_norm"}))
      return first_only && t[0]->shape.size() >= 2 && (name != "native_group_norm" || node.outs.size() >= 1);
    if (name == "bmm") return t.size() == 2 && t[0] && t[1] && t[0]->batched && t[1]->batched;
    if (name == "addmm")
      return t.size() >= 3 && t[0] && t[1] && t[2] && t[1]->batched && !t[2]->batched && !t[0]->batched &&
             t[0]->shape.size() == 1;
    if (name == "native_layer_norm") {
      const GraphArgs* normal = node.args.size() > 1 ? node.args[1].list() : nullptr;
      return first_only && normal != nullptr && normal->size() < t[0]->shape.size();
    }
    return false;
  }

  // Every operand has the batch in dimension 0 of the result, or does not reach it.
  static bool broadcasts(const std::vector<std::int64_t>& out, const std::vector<const Traits*>& t) {
    return std::all_of(t.begin(), t.end(), [&](const Traits* each) {
      if (each == nullptr) return true;
      if (each->batched) return each->shape.size() == out.size() && !out.empty() && each->shape[0] == out[0];
      return each->shape.size() < out.size() || (!each->shape.empty() && each->shape[0] == 1);
    });
  }

  static bool scales(const GraphNode& node, const std::vector<const Traits*>& t) {
    const std::string_view name = base_of(node.op);
    const auto degree = [&](std::size_t i) { return i < t.size() && t[i] != nullptr ? t[i]->degree : 0; };
    if (one_of(name, {"sum", "mean", "neg", "clone", "view", "reshape", "_unsafe_view", "t", "transpose",
                      "permute", "unsqueeze", "squeeze", "cumsum", "detach", "expand"}))
      return true;
    if (one_of(name, {"mul", "mm", "bmm"})) return degree(0) + degree(1) == 1;
    if (name == "div") return degree(0) == 1 && degree(1) == 0;
    if (one_of(name, {"add", "sub"})) return degree(0) == 1 && degree(1) == 1;
    if (name == "convolution")
      return degree(0) + degree(1) == 1 && node.args.size() > 2 && node.args[2].is_none();
    return false;
  }

  const ShapeSet& shapes_;
  const std::set<std::size_t>& batched_;
  const std::optional<std::size_t> scaled_;
  Known known_;
};

void permute_rows(CaseTensor& tensor, const std::vector<std::size_t>& order) {
  const std::size_t row = tensor.data.size() / order.size();
  std::vector<std::byte> out(tensor.data.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    std::memcpy(out.data() + i * row, tensor.data.data() + order[i] * row, row);
  tensor.data = std::move(out);
}

void scale_values(CaseTensor& tensor, double factor) {
  const auto apply = [&]<typename T>(T) {
    for (std::size_t at = 0; at + sizeof(T) <= tensor.data.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, tensor.data.data() + at, sizeof(T));
      value = static_cast<T>(value * static_cast<T>(factor));
      std::memcpy(tensor.data.data() + at, &value, sizeof(T));
    }
  };
  if (tensor.dtype == DType::kFloat32) apply(float{});
  if (tensor.dtype == DType::kFloat64) apply(double{});
}

std::vector<std::size_t> order_of(std::size_t rows, std::uint64_t seed) {
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(mix(seed, 1));
  for (std::size_t i = rows; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

bool all_float32(const ShapeSet& shapes, std::size_t input) {
  return shapes.inputs[input].type.dtype == DType::kFloat32 && shapes.inputs[input].precondition == "none" &&
         std::all_of(shapes.outputs.begin(), shapes.outputs.end(), [](const OutputSpec& output) {
           return output.type.dtype == DType::kFloat32 && output.compare == CompareBy::kFloat;
         });
}

void permute(FreshCase& fresh, const Symmetries& symmetries, std::size_t rows, std::uint64_t seed) {
  const std::vector<std::size_t> order = order_of(rows, seed);
  for (const std::size_t i : symmetries.batched) permute_rows(fresh.data.inputs[i], order);
  for (CaseGolden& golden : fresh.data.goldens) {
    permute_rows(golden.truth, order);
    for (auto* more : {&golden.reference, &golden.scale, &golden.values})
      if (*more) permute_rows(**more, order);
  }
  fresh.what = "rows permuted";
}

void scale(FreshCase& fresh, std::size_t input, std::uint64_t seed) {
  constexpr std::array kFactors = {2.0, 0.5, -1.0};
  const double factor = kFactors[Random(mix(seed, 2)).below(kFactors.size())];
  scale_values(fresh.data.inputs[input], factor);
  for (CaseGolden& golden : fresh.data.goldens) {
    scale_values(golden.truth, factor);
    if (golden.reference) scale_values(*golden.reference, factor);
    if (golden.scale) scale_values(*golden.scale, std::abs(factor));
  }
  fresh.what += fresh.what.empty() ? "" : ", ";
  fresh.what += factor == -1.0 ? "one input negated" : factor > 1 ? "one input doubled" : "one input halved";
}

bool rows_agree(const CaseTensor& tensor, std::size_t rows) {
  return !tensor.shape.empty() && static_cast<std::size_t>(tensor.shape[0]) == rows &&
         tensor.data.size() % rows == 0;
}

}  // namespace

Symmetries symmetries_of(const ShapeSet& shapes) {
  Symmetries found;
  if (shapes.outputs.empty() || shapes.graph.outputs.size() != shapes.outputs.size()) return found;
  const std::vector<std::int64_t>& first = shapes.outputs[0].type.shape;
  std::vector<std::set<std::size_t>> choices(2);
  for (const GraphInput& head : shapes.graph.inputs) {
    if (head.index < 0 || static_cast<std::size_t>(head.index) >= shapes.inputs.size()) continue;
    const auto at = static_cast<std::size_t>(head.index);
    const bool free = head.kind == GraphInputKind::kInput && (shapes.inputs[at].precondition == "none" ||
                                                              shapes.inputs[at].precondition == "nonneg");
    if (!free) continue;
    if (!first.empty() && first[0] > 1 && !head.type.shape.empty() && head.type.shape[0] == first[0]) {
      choices[0].insert(at);
      if (choices[1].empty()) choices[1].insert(at);
    }
    if (!found.homogeneous && all_float32(shapes, at) && Propagation(shapes, {}, at).holds())
      found.homogeneous = at;
  }
  for (const std::set<std::size_t>& batched : choices)
    if (!batched.empty() && found.batched.empty() && Propagation(shapes, batched, std::nullopt).holds())
      found.batched = batched;
  return found;
}

std::optional<FreshCase> freshen(const ShapeSet& shapes, const Symmetries& symmetries, const CaseData& data,
                                 std::uint64_t seed) {
  if (!symmetries.any()) return std::nullopt;
  FreshCase fresh{data, {}};
  if (!symmetries.batched.empty()) {
    const auto rows = static_cast<std::size_t>(shapes.outputs[0].type.shape[0]);
    bool agree = true;
    for (const std::size_t i : symmetries.batched) agree = agree && rows_agree(data.inputs[i], rows);
    for (const CaseGolden& golden : data.goldens) {
      agree = agree && rows_agree(golden.truth, rows);
      for (const auto* more : {&golden.reference, &golden.scale, &golden.values})
        agree = agree && (!*more || rows_agree(**more, rows));
    }
    if (agree) permute(fresh, symmetries, rows, seed);
  }
  if (symmetries.homogeneous) scale(fresh, *symmetries.homogeneous, seed);
  if (fresh.what.empty()) return std::nullopt;
  return fresh;
}

}  // namespace evk
