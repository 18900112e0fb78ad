// The tiling context under its other path.
#pragma once

#include "register/op_def_registry.h"
