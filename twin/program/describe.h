// Turns a Launch and its device into what the program is told.
#pragma once

#include "twin/engine/engine.h"
#include "twin/program/launch.h"

namespace evk::twin {

// Fails if there are more tensors or dimensions than a description holds; says which.
Status describe(const Device& device, const Launch& launch, const Engine& engine, LaunchDescription& into);

}  // namespace evk::twin
