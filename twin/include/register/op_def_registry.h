// What op_host sources include to register an operator.
#pragma once

#include "evk_host/op_def.h"
#include "register/tilingdata_base.h"
#include "tiling/platform/platform_ascendc.h"
