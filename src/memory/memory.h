// What is known, shared by all tasks: items with their vectors. Items are only ever added, between sweeps;
// reading is safe from several threads while none adds.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/memory_item.h"
#include "memory/embedder.h"
#include "memory/vector_index.h"

namespace evk {

class Memory {
 public:
  explicit Memory(std::shared_ptr<const Embedder> embedder);
  // A memory of `items`, numbered from 1. Vectors of the first of them are taken from `kept`, a file that
  // `keep_index` wrote, if it is there, sound, of this embedder, and of texts that these items begin with;
  // else all are made.
  Memory(std::shared_ptr<const Embedder> embedder, std::vector<MemoryItem> items, const std::string& kept);

  // Adds an item and its vector. REQUIRES: its id is the next number, size() + 1.
  void add(MemoryItem item);

  std::size_t size() const { return items_.size(); }
  // REQUIRES: `id` was added.
  const ItemPtr& at(ItemId id) const;
  const std::vector<ItemPtr>& items() const { return items_; }
  // Documented names and answered codes, exact: the items that document `name`, by id.
  std::vector<ItemPtr> documenting(const std::string& name) const;
  std::vector<ItemPtr> answering(const std::string& code) const;

  std::vector<float> embed(std::string_view text) const { return embedder_->embed(text); }
  const VectorIndex& index() const { return index_; }
  const Embedder& embedder() const { return *embedder_; }

  // Writes the vectors and their graph to `path`, a cache that may be deleted at any time.
  Status keep_index(const std::string& path) const;
  // How many of the items' vectors came from such a file.
  std::size_t kept_vectors() const { return kept_vectors_; }

 private:
  void take_index(const std::vector<MemoryItem>& items, const std::string& path);
  void add_vector(const MemoryItem& item);

  std::shared_ptr<const Embedder> embedder_;
  std::vector<ItemPtr> items_;
  VectorIndex index_;
  std::vector<std::uint64_t> keys_;  // hash of each item's key text
  std::unordered_map<std::uint64_t, ItemId> first_of_key_;
  std::size_t kept_vectors_ = 0;
  std::unordered_map<std::string, std::vector<ItemPtr>> by_name_, by_answer_;
};

}  // namespace evk
