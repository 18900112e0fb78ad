#include "verify/index_source.h"

#include <algorithm>
#include <string_view>

namespace evk {
namespace {

bool selects(std::string_view op) {
  for (const char* name : {"aten.argmax", "aten.argmin", "aten.max.dim", "aten.min.dim"}) {
    if (op.starts_with(name)) return true;
  }
  return false;
}

const CaseTensor* values_of(const ShapeSet& shapes, const GraphNode& node, std::size_t index,
                            const CaseData& data) {
  if (data.goldens[index].values) return &*data.goldens[index].values;
  const GraphRef* from = node.args[0].ref();
  if (from == nullptr) return nullptr;
  const auto& inputs = shapes.graph.inputs;
  const auto input =
      std::find_if(inputs.begin(), inputs.end(), [&](const GraphInput& i) { return i.id == from->id; });
  if (input == inputs.end() || input->index < 0 ||
      static_cast<std::size_t>(input->index) >= data.inputs.size())
    return nullptr;
  return &data.inputs[static_cast<std::size_t>(input->index)];
}

}  // namespace

std::optional<IndexSource> index_source(const ShapeSet& shapes, std::size_t index, const CaseData& data) {
  if (index >= shapes.graph.outputs.size() || shapes.outputs[index].compare != CompareBy::kIndexValue)
    return std::nullopt;
  const auto& nodes = shapes.graph.nodes;
  const auto node = std::find_if(nodes.begin(), nodes.end(),
                                 [&](const GraphNode& n) { return n.id == shapes.graph.outputs[index].id; });
  if (node == nodes.end() || !selects(node->op) || node->args.size() < 2) return std::nullopt;
  const auto* dim = std::get_if<std::int64_t>(&node->args[1].value);
  const CaseTensor* values = values_of(shapes, *node, index, data);
  if (dim == nullptr || values == nullptr) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(values->shape.size());
  const std::int64_t at = *dim < 0 ? *dim + rank : *dim;
  if (at < 0 || at >= rank) return std::nullopt;
  return IndexSource{values->view(), static_cast<int>(at)};
}

}  // namespace evk
