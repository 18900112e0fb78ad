// Turns the launch syntax of direct-launch files into C++.
#pragma once

#include <string>
#include <string_view>

namespace evk::twin {

// Each `callee<<<blocks, ub, stream>>>` of the text becomes a call that C++ knows; comments, literals and
// every line's number stay as they are. Text that has no launch, or an unfinished one, comes back unchanged
// there: the compiler then says what is wrong with it.
std::string rewrite_launches(std::string_view text);

}  // namespace evk::twin
