// When two memory items are the same piece of knowledge.
#pragma once

#include <string>

#include "core/memory_item.h"

namespace evk {

// SHA-256 over what the item says: kind, texts, facts, code, outcome, its task. Not over its number, where it
// came from, or the name of an attempt's item, which counts attempts: equal knowledge from two stores has
// equal hashes.
std::string content_hash(const MemoryItem& item);

}  // namespace evk
