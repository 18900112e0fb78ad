#include "campaign/memory_of.h"

namespace evk {

std::shared_ptr<const Embedder> embedder_of(const std::vector<MemoryItem>& items) {
  std::vector<std::string> corpus;
  for (const auto& item : items)
    if (item.source == "seed") corpus.push_back(item.key_text);
  return hashed_tf_idf(corpus);
}

std::unique_ptr<Memory> memory_of(std::vector<MemoryItem> items) {
  auto memory = std::make_unique<Memory>(embedder_of(items));
  for (auto& item : items) memory->add(std::move(item));
  return memory;
}

}  // namespace evk
