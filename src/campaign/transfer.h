// Memory from one store, or several, into a new one: what `memory export`, `import` and `merge` do. The new
// store holds items and what they are worth, and no attempt; a campaign can begin with it.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"

namespace evk {

// What is left out with an excluded task.
enum class Exclusion {
  kDescendants,  // its items, and every item of an attempt that was shown one of them, and so on
  kOwn,          // its items alone (the paper's transfer, 4.3): others may have learnt from them
};

struct TransferConfig {
  std::vector<TaskId> without;
  Exclusion exclusion = Exclusion::kDescendants;
  bool values = true;         // false: every item starts as never used
  std::int64_t uses_max = 3;  // a value keeps its Q, but counts for at most so many uses; at least 1
};

struct TransferSummary {
  std::int64_t items = 0, excluded = 0, duplicates = 0, values = 0;
  std::vector<std::string> ancestors;  // tasks that the new store's items descend from
};

// Writes the memory of `sources` into the new store `into`. Equal items of several sources become one, whose
// value is their mean by uses. Values are learnt anew from the attempts that are kept, so that no reward of
// an excluded task is left in them; where a source itself was brought in and tasks are excluded, the values
// that it brought are dropped, since nothing tells what they were learnt from. Each item remembers the stores
// that it came from and the tasks that it descends from, so that a later transfer can exclude those too. An
// excluded task that no source knows is an Error: it would be a typing error that leaks. Nothing is written
// on failure.
Result<TransferSummary> transfer_memory(const std::vector<std::string>& sources, const std::string& into,
                                        const TransferConfig& config);

}  // namespace evk
