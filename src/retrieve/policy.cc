#include "retrieve/policy.h"

#include <algorithm>
#include <cmath>

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

// MMR's discount: how alike an entry is to the most alike of what is chosen.
double likeness(const PoolEntry& entry, const std::vector<ContextItem>& chosen, const PolicyConfig& config) {
  double most = 0;
  for (const auto& c : chosen) most = std::max(most, config.alike(entry.item->id, c.item->id));
  return most;
}

std::size_t best_of(const std::vector<PoolEntry>& pool, const std::vector<std::size_t>& candidates,
                    const std::vector<ContextItem>& chosen, const PolicyConfig& config) {
  const double share = config.rank.mmr;
  if (share >= 1 || chosen.empty())
    return *std::min_element(candidates.begin(), candidates.end(),
                             [&](std::size_t a, std::size_t b) { return ranks_before(pool[a], pool[b]); });
  std::size_t best = candidates.front();
  double most = -HUGE_VAL;
  for (const auto i : candidates) {
    const double score = share * pool[i].score - (1 - share) * likeness(pool[i], chosen, config);
    if (score > most || (score == most && ranks_before(pool[i], pool[best]))) best = i, most = score;
  }
  return best;
}

void write(const std::vector<PoolEntry>& pool, RecallLog* log) {
  if (!log) return;
  for (const auto& e : pool) log->pool.push_back({e.item->id, e.similarity, e.value, e.score});
}

}  // namespace

bool ranks_before(const PoolEntry& a, const PoolEntry& b) {
  if (a.score != b.score) return a.score > b.score;
  if (a.similarity != b.similarity) return a.similarity > b.similarity;
  return a.item->id < b.item->id;
}

std::vector<ContextItem> choose(std::vector<PoolEntry> pool, const PolicyConfig& config, double epsilon,
                                Random& random, RecallLog* log) {
  set_scores(pool, config.rank, config.stage, random);
  write(pool, log);
  std::vector<ContextItem> chosen;
  Counts counts;
  for (int slot = 0; slot < config.slots; ++slot) {
    auto candidates = eligible(pool, counts, config, true);
    if (candidates.empty()) candidates = eligible(pool, counts, config, false);
    if (candidates.empty()) break;
    const auto best = best_of(pool, candidates, chosen, config);
    const double coin = random.uniform();
    const bool explore = coin < epsilon;
    const auto pick = explore ? candidates[random.below(candidates.size())] : best;
    const double by_chance = epsilon / static_cast<double>(candidates.size());
    const PoolEntry& entry = pool[pick];
    chosen.push_back({entry.item, explore ? SelectedBy::kExplore : SelectedBy::kGreedy, slot,
                      entry.similarity, config.rank.rule == Rule::kSimilarity ? entry.score : entry.value,
                      (pick == best ? 1 - epsilon : 0) + by_chance, true});
    if (log) log->coins.push_back(coin);
    counts.add(*entry.item);
    pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(pick));
  }
  return chosen;
}

}  // namespace evk
