#include "retrieve/policy.h"

#include <algorithm>

namespace evk {
namespace {

struct Counts {
  std::map<ItemKind, int> by_kind;
  std::map<TaskId, int> by_task;

  bool task_is_full(const MemoryItem& item, int limit) const {
    if (!item.task) return false;
    const auto found = by_task.find(*item.task);
    return found != by_task.end() && found->second >= limit;
  }
  bool kind_is_full(const MemoryItem& item, const std::map<ItemKind, int>& quota) const {
    const auto limit = quota.find(item.kind);
    const auto used = by_kind.find(item.kind);
    return (used == by_kind.end() ? 0 : used->second) >= (limit == quota.end() ? 0 : limit->second);
  }
  void add(const MemoryItem& item) {
    ++by_kind[item.kind];
    if (item.task) ++by_task[*item.task];
  }
};

std::vector<std::size_t> eligible(const std::vector<PoolEntry>& pool, const Counts& counts,
                                  const PolicyConfig& config, bool within_quota) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < pool.size(); ++i)
    if (!counts.task_is_full(*pool[i].item, config.per_task_max) &&
        !(within_quota && counts.kind_is_full(*pool[i].item, config.quota)))
      found.push_back(i);
  return found;
}

}  // namespace

bool ranks_before(const PoolEntry& a, const PoolEntry& b) {
  if (a.value != b.value) return a.value > b.value;
  if (a.similarity != b.similarity) return a.similarity > b.similarity;
  return a.item->id < b.item->id;
}

std::vector<ContextItem> choose(std::vector<PoolEntry> pool, const PolicyConfig& config, double epsilon,
                                Random& random) {
  std::vector<ContextItem> chosen;
  Counts counts;
  for (int slot = 0; slot < config.slots; ++slot) {
    auto candidates = eligible(pool, counts, config, true);
    if (candidates.empty()) candidates = eligible(pool, counts, config, false);
    if (candidates.empty()) break;
    const auto best =
        *std::min_element(candidates.begin(), candidates.end(),
                          [&](std::size_t a, std::size_t b) { return ranks_before(pool[a], pool[b]); });
    const bool explore = random.coin(epsilon);
    const auto pick = explore ? candidates[random.below(candidates.size())] : best;
    const double by_chance = epsilon / static_cast<double>(candidates.size());
    const PoolEntry& entry = pool[pick];
    chosen.push_back({entry.item, explore ? SelectedBy::kExplore : SelectedBy::kGreedy, slot,
                      entry.similarity, entry.value, (pick == best ? 1 - epsilon : 0) + by_chance, true});
    counts.add(*entry.item);
    pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(pick));
  }
  return chosen;
}

}  // namespace evk
