// The few names of the runtime interface that a direct-launch file needs.
#pragma once

#include <cstdint>

using aclrtStream = void*;
using aclError = int;
constexpr aclError ACL_SUCCESS = 0;
