// Cases from task packs, kept in memory between candidates.
#pragma once

#include <cstddef>
#include <memory>

#include "verify/case_data.h"

namespace evk {

// Reads from the folder that Task::folder names; the most recently used cases, up to `bytes_max` together,
// stay in memory.
std::unique_ptr<CaseReader> make_pack_reader(std::size_t bytes_max = 512u << 20);

}  // namespace evk
