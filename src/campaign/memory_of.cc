#include "campaign/memory_of.h"

namespace evk {

std::shared_ptr<const Embedder> embedder_of(const std::vector<MemoryItem>& items) {
  std::vector<std::string> corpus;
  for (const auto& item : items)
    if (item.source == "seed") corpus.push_back(item.key_text);
  return hashed_tf_idf(corpus);
}

std::unique_ptr<Memory> memory_of(std::vector<MemoryItem> items, const std::string& kept_index) {
  auto embedder = embedder_of(items);
  return std::make_unique<Memory>(std::move(embedder), std::move(items), kept_index);
}

std::string index_path_of(const std::string& store_path) { return store_path + ".index"; }

}  // namespace evk
