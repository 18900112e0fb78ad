// What must be known of a JSON text before it may be parsed.
#pragma once

#include <string_view>

namespace evk {

// Whether brackets in `json` nest at most `limit` deep. A deeper text is hostile, whatever it says.
bool nests_at_most(std::string_view json, int limit);

}  // namespace evk
