// Precompiled for op_host sources.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "register/op_def_registry.h"
#include "tiling/tiling_api.h"
