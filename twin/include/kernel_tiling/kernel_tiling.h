// Included by kernels for their tiling data, which the build gives them by itself.
#pragma once

#include "evk_host/cube_tiling.h"
#include "register/tilingdata_base.h"
#include "tiling/vector_tilings.h"
