// What each memory item has been worth, by stage: Q1 in drafting, Q2 in refining (paper 3.2, appendix A: one
// value per memory entry and stage). One writer or many readers.
#pragma once

#include <map>
#include <optional>

#include "core/attempt.h"

namespace evk {

// Paper eq. 4: Q <- Q + alpha (r - Q). Single step, no bootstrapping.
double moved_towards(double q, double reward, double alpha);

// Share of a reward that an item's `n`-th use learns: `alpha`, or 1 / (n + offset) (Robbins-Monro; paper
// appendix A proves convergence for it). With offset 1 the value is the mean of the start value and the
// rewards.
struct StepConfig {
  double alpha = 0.3;            // in (0, 1]
  std::optional<double> offset;  // at least 0
};
double step_size(const StepConfig& config, std::int64_t n);

// Mean of the rewards with `prior` counted `weight` times (shrinkage towards a group; Hong et al. 2022).
double shrunk(const ItemValue& value, double prior, double weight);

class ValueTable {
 public:
  // The learnt value; nothing if the item was never used in this stage.
  std::optional<ItemValue> find(Stage stage, ItemId item) const;
  // The learnt value, or `unused` for an item that was never used.
  double value_or(Stage stage, ItemId item, double unused) const;
  // The change that eq. 4 makes for `reward`; `restore` applies it. A first update starts from `unused`, the
  // value that ranking used.
  ValueChange update(Stage stage, ItemId item, double reward, double alpha, double unused,
                     std::int64_t sweep) const;
  // The first value of a new start point: its own normalised reward, counted once (learning.md 4.2).
  static ValueChange start_at(Stage stage, ItemId item, double value, std::int64_t sweep);
  // Takes over a value: that of a change, or a stored one.
  void restore(Stage stage, ItemId item, const ItemValue& value) { values_[{stage, item}] = value; }

  const std::map<std::pair<Stage, ItemId>, ItemValue>& all() const { return values_; }
  bool operator==(const ValueTable&) const = default;

 private:
  std::map<std::pair<Stage, ItemId>, ItemValue> values_;
};

}  // namespace evk
