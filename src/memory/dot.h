// Inner products of float vectors, the same bits on every machine.
#pragma once

#include <span>

namespace evk {

// Sum of products in sixteen fixed float lanes, which are added up in order, as doubles, at the end: whatever
// vector unit the processor has, and whatever the compiler makes of it, the result is the same. REQUIRES:
// equal sizes.
double dot(std::span<const float> a, std::span<const float> b);

}  // namespace evk
