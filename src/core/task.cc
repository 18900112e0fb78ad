#include "core/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace evk {

const ShapeSet* Task::shapes(std::string_view wanted) const {
  for (const auto& set : shape_sets)
    if (set.id == wanted) return &set;
  return nullptr;
}

std::string Task::key_text() const {
  std::string text = fmt::format("{} {} {}\n", name, title, category);
  if (const ShapeSet* small = shapes("small")) {
    for (const auto& input : small->inputs)
      text += fmt::format("{} {} [{}]\n", input.name, name_of(input.type.dtype),
                          fmt::join(input.type.shape, ","));
    for (const auto& node : small->graph.nodes) text += node.op + "\n";
  }
  return text + source_text.substr(0, 4096);
}

}  // namespace evk
