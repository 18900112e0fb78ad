// What one attempt is shown, and why: the C of paper 3.2. Stored with the attempt, propensities included.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/memory_item.h"

namespace evk {

enum class Stage { kDraft = 1, kRefine = 2 };
std::string_view name_of(Stage stage);  // "draft", "refine"

enum class SelectedBy {
  kGreedy,
  kExplore,
  kApiStatic,
  kApiExact,
  kApiSemantic,
  kStart,
  kChild,
  kPinned,
  kVariant
};
std::string_view name_of(SelectedBy by);  // "greedy", "explore", "api_static", ...

struct ContextItem {
  ItemPtr item;
  SelectedBy by = SelectedBy::kGreedy;
  int slot = 0;
  double similarity = 0;  // cosine to the query
  double value = 0;       // Q at selection
  double propensity = 1;  // probability that the policy put this item into this slot
  bool updated = false;   // whether the reward moves its value
};

// An item that the recall found, as ranking saw it.
struct Recalled {
  ItemId item;
  double similarity = 0;  // cosine to the query
  double value = 0;       // Q, or what a never-used item was taken to be worth
  double score = 0;       // what it was ranked by: `value`, but for some policies
};

// What a context was chosen from. It explains the choice and moves nothing: the store's fingerprint leaves it
// out.
struct RecallLog {
  std::vector<Recalled> pool;         // most similar first
  std::vector<double> coins;          // one a slot; below epsilon the slot was filled by chance
  std::vector<ContextItem> cut;       // chosen, then dropped: over the prompt's budget
  std::vector<ContextItem> left_out;  // chosen, then withheld to see what it is worth (leave one out)
};

struct Context {
  Stage stage = Stage::kDraft;
  std::vector<ContextItem> items;  // in prompt order within each role
  int pool_size = 0;               // K actually recalled
  double lambda = 0, epsilon = 0;
  RecallLog recall;

  // Items chosen so, in order.
  std::vector<const ContextItem*> chosen(SelectedBy by) const;
  // The start point's trace; null in drafting.
  const MemoryItem* start() const;
};

}  // namespace evk
