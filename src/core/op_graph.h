// The computation of a task as aten operations, parameters lifted to inputs (what the probe traced). Plain
// values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/dtype.h"

namespace evk {

struct TensorType {
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::int64_t elements() const;  // product of the sizes; 1 for a scalar
  auto operator<=>(const TensorType&) const = default;
};

// A tensor made elsewhere in the graph: output `index` of node (or graph input) `id`.
struct GraphRef {
  std::string id;
  int index = 0;
  auto operator<=>(const GraphRef&) const = default;
};

// An argument of a node: nothing, a literal, a reference, or a list of arguments.
struct GraphArg;
using GraphArgs = std::vector<GraphArg>;
struct GraphArg {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, GraphRef, GraphArgs> value;
  bool is_none() const { return std::holds_alternative<std::monostate>(value); }
  const GraphRef* ref() const { return std::get_if<GraphRef>(&value); }
  const GraphArgs* list() const { return std::get_if<GraphArgs>(&value); }
};

enum class GraphInputKind { kInput, kParam, kBuffer, kConst };

struct GraphInput {
  std::string id;
  GraphInputKind kind = GraphInputKind::kInput;
  std::string name;  // of the parameter or buffer; "x" and the like for inputs
  int index = 0;     // position among the kernel's inputs (forward inputs, then parameters and buffers)
  TensorType type;
};

struct GraphNode {
  std::string id;
  std::string op;  // "aten.mul.Tensor"
  GraphArgs args;
  std::map<std::string, GraphArg> kwargs;
  std::vector<TensorType> outs;
};

// Nodes stand in execution order: a node refers to inputs and earlier nodes only (the reader checks it).
struct OpGraph {
  std::vector<GraphInput> inputs;
  std::vector<GraphNode> nodes;
  std::vector<GraphRef> outputs;
};

}  // namespace evk
