// A name under which the glue of a PyTorch extension looks for what evk_host/torch_bridge.h gives.
#pragma once

#include "evk_host/torch_bridge.h"
