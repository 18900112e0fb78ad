// Which of the recalled items an attempt is shown: epsilon-greedy over the learnt values (paper 3.2), one
// coin per slot, without replacement, under role quotas (learning.md 4.3). Pure in its arguments.
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "core/attempt.h"
#include "core/context.h"

namespace evk {

// What ranks the recalled items. All but the first are beyond the paper, and off unless asked for.
enum class Rule {
  kValue,       // Q (paper 3.2)
  kSimilarity,  // cosine alone: the heuristic ablation (paper 4.5)
  kUcb1,        // mean + c sqrt(2 ln t / n), unused items by their start value (Auer, Cesa-Bianchi, Fischer)
  kThompson,    // a draw from the posterior: Beta in drafting, normal in refining (Thompson 1933)
  kMemRl,       // weighted z-scores of similarity and Q over the pool, clipped at 3 (MemRL)
};
std::string_view name_of(Rule rule);  // "value", "similarity", "ucb1", "thompson", "memrl"

struct RankConfig {
  Rule rule = Rule::kValue;
  double ucb_c = 0.5;  // width of UCB1's bonus
  double mix = 0.5;    // MemRL: share of Q against similarity, in [0, 1]
  double mmr = 1;      // maximal marginal relevance: share of the score against likeness to what is chosen
                       // already, in (0, 1]; 1 = off (Carbonell & Goldstein 1998)
};

// A recalled item with what ranking needs.
struct PoolEntry {
  ItemPtr item;
  double similarity = 0;
  double value = 0;  // Q, or what a never-used item is taken to be worth
  ItemValue learnt;  // all zero if never used in this stage
  double score = 0;  // set by `choose`
};

struct PolicyConfig {
  int slots = 5;                  // N
  std::map<ItemKind, int> quota;  // most items of a kind; a kind not named has none
  int per_task_max = 2;           // most items of one source task
  RankConfig rank;
  Stage stage = Stage::kDraft;
  // Cosine of two items of the pool; needed by MMR alone.
  std::function<double(ItemId, ItemId)> alike;
};

// Sets each entry's score by the rule. Draws from `random` under kThompson alone.
void set_scores(std::vector<PoolEntry>& pool, const RankConfig& config, Stage stage, Random& random);

// True if `a` ranks before `b`: by score, then similarity, then lower id.
bool ranks_before(const PoolEntry& a, const PoolEntry& b);

// Fills up to N slots. While quotas leave items, each slot is drawn from those within quota; slots that
// quotas leave empty fall to the best remaining score. `propensity` is the chance that the policy put the
// item into that slot (under kThompson: given its draws). `value` is the entry's, but the similarity under
// kSimilarity, which knows no values. Pool and coins are written to `log`, if given.
std::vector<ContextItem> choose(std::vector<PoolEntry> pool, const PolicyConfig& config, double epsilon,
                                Random& random, RecallLog* log = nullptr);

}  // namespace evk
