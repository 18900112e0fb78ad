#include "memory/memory.h"

#include "base/check.h"
#include "base/random.h"

namespace evk {
namespace {

constexpr char kMagic[8] = {'E', 'V', 'K', 'I', 'N', 'D', 'X', '2'};

std::vector<ItemPtr> found_in(const std::unordered_map<std::string, std::vector<ItemPtr>>& map,
                              const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::vector<ItemPtr>{} : found->second;
}

struct KeptIndex {
  std::vector<std::uint64_t> keys;
  VectorIndex index;
};

// Nothing if there is none, if it is damaged, or if another embedder made it.
std::optional<KeptIndex> kept_index(const std::string& path, const Embedder& embedder) {
  auto file = BinaryReader::open(path);
  if (!file) return std::nullopt;
  char magic[sizeof kMagic] = {};
  std::uint64_t made_by = 0, size = 0;
  std::vector<std::uint64_t> keys;
  if (!file->bytes(magic, sizeof magic) || !std::equal(magic, magic + sizeof magic, kMagic) ||
      !file->number(made_by) || made_by != hash64(embedder.id()) || !file->number(size) ||
      !file->numbers(keys, size))
    return std::nullopt;
  auto index = VectorIndex::read(*file);
  if (!index || !file->ends_well() || index->size() != size || index->dimension() != embedder.dimension())
    return std::nullopt;
  return KeptIndex{std::move(keys), *std::move(index)};
}

}  // namespace

Memory::Memory(std::shared_ptr<const Embedder> embedder)
    : embedder_(std::move(embedder)), index_(embedder_->dimension()) {}

Memory::Memory(std::shared_ptr<const Embedder> embedder, std::vector<MemoryItem> items,
               const std::string& kept)
    : Memory(std::move(embedder)) {
  take_index(items, kept);
  for (auto& item : items) add(std::move(item));
}

void Memory::take_index(const std::vector<MemoryItem>& items, const std::string& path) {
  auto kept = kept_index(path, *embedder_);
  if (!kept || kept->keys.size() > items.size()) return;
  for (std::size_t i = 0; i < kept->keys.size(); ++i)
    if (kept->keys[i] != hash64(items[i].key_text)) return;
  index_ = std::move(kept->index);
  keys_ = std::move(kept->keys);
  kept_vectors_ = keys_.size();
}

void Memory::add_vector(const MemoryItem& item) {
  const std::uint64_t key = hash64(item.key_text);
  const auto like = first_of_key_.find(key);
  if (like != first_of_key_.end() && at(like->second)->key_text == item.key_text)
    index_.add_like(item.id, like->second);
  else
    index_.add(item.id, embedder_->embed(item.key_text));
  keys_.push_back(key);
}

void Memory::add(MemoryItem item) {
  EVK_CHECK(item.id.number == static_cast<std::int64_t>(items_.size()) + 1, "item {} after {}",
            item.id.number, items_.size());
  if (items_.size() == index_.size()) add_vector(item);
  first_of_key_.emplace(keys_[items_.size()], item.id);
  auto shared = std::make_shared<const MemoryItem>(std::move(item));
  for (const auto& name : shared->names) by_name_[name].push_back(shared);
  for (const auto& code : shared->answers) by_answer_[code].push_back(shared);
  items_.push_back(std::move(shared));
}

Status Memory::keep_index(const std::string& path) const {
  EVK_TRY(auto file, BinaryWriter::open(path));
  file.bytes(kMagic, sizeof kMagic);
  file.number(hash64(embedder_->id()));
  file.number(static_cast<std::uint64_t>(keys_.size()));
  file.numbers(keys_);
  index_.write(file);
  return file.finish();
}

const ItemPtr& Memory::at(ItemId id) const {
  EVK_CHECK(id.number >= 1 && id.number <= static_cast<std::int64_t>(items_.size()), "unknown item {}",
            id.number);
  return items_[static_cast<std::size_t>(id.number - 1)];
}

std::vector<ItemPtr> Memory::documenting(const std::string& name) const { return found_in(by_name_, name); }
std::vector<ItemPtr> Memory::answering(const std::string& code) const { return found_in(by_answer_, code); }

}  // namespace evk
