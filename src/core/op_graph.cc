#include "core/op_graph.h"

namespace evk {

std::int64_t TensorType::elements() const {
  std::int64_t n = 1;
  for (const auto size : shape) n *= size;
  return n;
}

}  // namespace evk
