// Fresh inputs whose answers are known: changes of a case that carry its golden along, found by what the
// operator's graph proves, so that no answer learnt from one case serves on the next.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "core/task.h"
#include "verify/case_data.h"

namespace evk {

// What may be done to a task's inputs. Positions are those of ShapeSet::inputs.
struct Symmetries {
  // Permuting dimension 0 of these inputs permutes dimension 0 of every output. Empty: not proven.
  std::set<std::size_t> batched;
  // Multiplying this input by a power of two multiplies every output by it, exactly but for underflow.
  std::optional<std::size_t> homogeneous;
  bool any() const { return !batched.empty() || homogeneous.has_value(); }
};

// By an allow-list of operations: one that it does not know proves nothing.
Symmetries symmetries_of(const ShapeSet& shapes);

struct FreshCase {
  CaseData data;
  std::string what;  // "rows permuted, inputs doubled"
};

// The case with its batch in another order and its homogeneous input times 2, 1/2 or -1, as `seed` decides.
// None if nothing applies. REQUIRES: `data` is a case of `shapes`.
std::optional<FreshCase> freshen(const ShapeSet& shapes, const Symmetries& symmetries, const CaseData& data,
                                 std::uint64_t seed);

}  // namespace evk
