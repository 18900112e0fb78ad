// Where the program's own files lie: knowledge/, prompts/, tasks/, probe/, twin/.
#pragma once

#include <string>

#include "base/result.h"

namespace evk {

// The folder that holds them: $EVOKERNEL_HOME, else the nearest folder above the executable that has
// knowledge/ and twin/.
Result<std::string> resource_root();
// The folder of the running executable.
std::string executable_folder();
// $XDG_CACHE_HOME/evokernel, else ~/.cache/evokernel.
std::string default_cache_folder();

}  // namespace evk
