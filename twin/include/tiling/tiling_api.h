// Host-side tiling helpers.
#pragma once

#include "evk_host/matmul_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/vector_tiling_functions.h"
