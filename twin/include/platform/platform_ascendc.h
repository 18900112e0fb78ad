// The name under which direct-launch files look for it.
#pragma once

#include "tiling/platform/platform_ascendc.h"
