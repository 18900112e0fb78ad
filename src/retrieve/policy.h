// Which of the recalled items an attempt is shown: epsilon-greedy over the learnt values (paper 3.2), one
// coin per slot, without replacement, under role quotas (learning.md 4.3). Pure in its arguments.
#pragma once

#include <map>
#include <vector>

#include "base/random.h"
#include "core/context.h"

namespace evk {

// A recalled item with what ranking needs.
struct PoolEntry {
  ItemPtr item;
  double similarity = 0;
  double value = 0;  // Q, or what a never-used item is taken to be worth
};

struct PolicyConfig {
  int slots = 5;                  // N
  std::map<ItemKind, int> quota;  // most items of a kind; a kind not named has none
  int per_task_max = 2;           // most items of one source task
};

// True if `a` ranks before `b`: by value, then similarity, then lower id.
bool ranks_before(const PoolEntry& a, const PoolEntry& b);

// Fills up to N slots. While quotas leave items, each slot is drawn from those within quota; slots that
// quotas leave empty fall to the best remaining value. `propensity` is the chance that the policy put the
// item into that slot.
std::vector<ContextItem> choose(std::vector<PoolEntry> pool, const PolicyConfig& config, double epsilon,
                                Random& random);

}  // namespace evk
