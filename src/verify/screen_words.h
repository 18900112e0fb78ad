// The word lists of the screen, apart from its logic.
#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace evk::screen_words {

using Words = std::unordered_set<std::string_view>;

// Why a word is refused, and what to do instead.
struct Reason {
  std::string_view why, remedy;
};

// Refused wherever they stand in code.
const std::unordered_map<std::string_view, Reason>& always_refused();
// Refused when called as a free function that the candidate does not define itself.
const std::unordered_map<std::string_view, Reason>& refused_calls();
// Refused in device code: the NPU has none of it.
const std::unordered_map<std::string_view, Reason>& refused_on_device();

const Words& kernel_headers();
const Words& host_headers();
const Words& attributes();        // of [[...]] and __attribute__((...))
const Words& builtins();          // of __builtin_...
const Words& condition_macros();  // that conditional compilation may ask for, beside the candidate's own
const Words& keywords();          // that no macro may redefine
const Words& transfers();         // calls that move data
const Words& computations();      // calls that compute

}  // namespace evk::screen_words
