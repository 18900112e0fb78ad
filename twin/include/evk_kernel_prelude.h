// Precompiled for kernels.
#pragma once

#include "kernel_operator.h"
