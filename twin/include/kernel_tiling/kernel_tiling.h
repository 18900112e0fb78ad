// Included by kernels for their tiling data, which the build gives them by itself.
#pragma once

#include "register/tilingdata_base.h"
#include "tiling/vector_tilings.h"
