// What the views of a memory read from a store, without the texts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/attempt.h"

namespace evk {

struct ItemBrief {
  ItemId id;
  ItemKind kind = ItemKind::kApi;
  std::string name, source, category, title;
  std::optional<TaskId> task;
  bool feasible = false;
  std::int64_t created_sweep = 0;
};

// One use of an item in an attempt, with what the attempt earned.
struct UseRow {
  AttemptId attempt;
  TaskId task;
  std::int64_t sweep = 0;
  Stage stage = Stage::kDraft;
  ItemId item;
  std::string selected_by;
  int slot = 0;
  double similarity = 0, value = 0, propensity = 0;
  bool updated = false;
  std::optional<double> reward;             // normalised in refining; unset without verdict
  std::optional<double> q_before, q_after;  // unset if the reward did not move this item
};

struct AttemptBrief {
  AttemptId id;
  TaskId task;
  std::int64_t sweep = 0;
  Stage stage = Stage::kDraft;
  int pool_size = 0;
  double lambda = 0, epsilon = 0;
  std::optional<double> reward, reward_hat;
  std::string gate, code;  // empty without verdict
};

// What one sweep moved in one stage.
struct DriftRow {
  std::int64_t sweep = 0;
  Stage stage = Stage::kDraft;
  std::int64_t attempts = 0, changes = 0;
  double mean_reward = 0;       // of its attempts with a reward; normalised in refining
  double mean_move = 0;         // mean of |Q after - Q before|
  double largest_move = 0;      // the largest of them
  std::int64_t first_uses = 0;  // changes of items that had never been used in the stage
};

// An item that was chosen and then not shown.
struct CutRow {
  ItemId item;
  std::string selected_by;
  int slot = 0;
  double similarity = 0, value = 0, propensity = 0;
};

// The stored form of RecallLog.
struct RecallRow {
  std::vector<Recalled> pool;
  std::vector<double> coins;
  std::vector<CutRow> cut, left_out;
};

// Where an item was brought in from.
struct OriginRow {
  ItemId item;                         // in this store
  std::string store;                   // fingerprint of the store that it came from
  ItemId there;                        // its number in that store
  std::optional<AttemptId> attempt;    // that made it, in that store
  std::vector<std::string> ancestors;  // tasks whose attempts it descends from, sorted
};

using ValueMap = std::map<std::pair<Stage, ItemId>, ItemValue>;

// A memory without a campaign: what one store hands to another.
struct MemoryImage {
  std::vector<MemoryItem> items;  // numbered from 1
  ValueMap priors;
  std::vector<OriginRow> origins;
};

}  // namespace evk
