#include "memory/memory.h"

#include "base/check.h"

namespace evk {
namespace {

std::vector<ItemPtr> found_in(const std::unordered_map<std::string, std::vector<ItemPtr>>& map,
                              const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::vector<ItemPtr>{} : found->second;
}

}  // namespace

Memory::Memory(std::shared_ptr<const Embedder> embedder)
    : embedder_(std::move(embedder)), index_(embedder_->dimension()) {}

void Memory::add(MemoryItem item) {
  EVK_CHECK(item.id.number == static_cast<std::int64_t>(items_.size()) + 1, "item {} after {}",
            item.id.number, items_.size());
  auto shared = std::make_shared<const MemoryItem>(std::move(item));
  index_.add(shared->id, embedder_->embed(shared->key_text));
  for (const auto& name : shared->names) by_name_[name].push_back(shared);
  for (const auto& code : shared->answers) by_answer_[code].push_back(shared);
  items_.push_back(std::move(shared));
}

const ItemPtr& Memory::at(ItemId id) const {
  EVK_CHECK(id.number >= 1 && id.number <= static_cast<std::int64_t>(items_.size()), "unknown item {}",
            id.number);
  return items_[static_cast<std::size_t>(id.number - 1)];
}

std::vector<ItemPtr> Memory::documenting(const std::string& name) const { return found_in(by_name_, name); }
std::vector<ItemPtr> Memory::answering(const std::string& code) const { return found_in(by_answer_, code); }

}  // namespace evk
