// Kernels include this for the Matmul interface.
#pragma once

#include "ascendc/matmul.h"
