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

 private:
  std::shared_ptr<const Embedder> embedder_;
  std::vector<ItemPtr> items_;
  VectorIndex index_;
  std::unordered_map<std::string, std::vector<ItemPtr>> by_name_, by_answer_;
};

}  // namespace evk
