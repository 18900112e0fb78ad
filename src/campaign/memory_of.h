// The memory of a store's items, as a campaign builds it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "memory/memory.h"

namespace evk {

// The embedder that goes with these items: its corpus is M0, which a store holds, so that a resumed campaign
// embeds alike.
std::shared_ptr<const Embedder> embedder_of(const std::vector<MemoryItem>& items);
// All the items, numbered from 1, in a memory; `kept_index` as Memory takes it.
std::unique_ptr<Memory> memory_of(std::vector<MemoryItem> items, const std::string& kept_index);
// Where the index of a store's memory is kept.
std::string index_path_of(const std::string& store_path);

}  // namespace evk
