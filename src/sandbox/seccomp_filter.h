// Filters of system calls, as BPF programs ready to install.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "base/result.h"
#include "sandbox/child.h"

namespace evk {

// The filter for `kind`. `may_fork` matters to programs alone; a compiler always may. Built once each, then
// shared.
Result<const std::vector<sock_filter>*> seccomp_program(SystemCalls kind, bool may_fork);

}  // namespace evk
