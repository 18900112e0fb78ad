// Another name under which host code looks for it.
#pragma once

#include "tiling/platform/platform_ascendc.h"
