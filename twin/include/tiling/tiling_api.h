// Host-side tiling helpers.
#pragma once

#include "register/op_def_registry.h"
#include "tiling/vector_tiling_functions.h"
