// For an output that is an index (argmax and the like): the values that it points into, as the pack holds
// them or as an input of the task.
#pragma once

#include <optional>

#include "verify/case_data.h"

namespace evk {

// None if output `index` is not made by a selecting node whose values are known; its indices are then held
// to be exact.
std::optional<IndexSource> index_source(const ShapeSet& shapes, std::size_t index, const CaseData& data);

}  // namespace evk
