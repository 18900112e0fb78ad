#include "memory/value_table.h"

namespace evk {

double moved_towards(double q, double reward, double alpha) { return q + alpha * (reward - q); }

double step_size(const StepConfig& config, std::int64_t n) {
  return config.offset ? 1 / (static_cast<double>(n) + *config.offset) : config.alpha;
}

double shrunk(const ItemValue& value, double prior, double weight) {
  const double n = static_cast<double>(value.n) + weight;
  return n > 0 ? (value.sum_r + weight * prior) / n : prior;
}

std::optional<ItemValue> ValueTable::find(Stage stage, ItemId item) const {
  const auto found = values_.find({stage, item});
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

double ValueTable::value_or(Stage stage, ItemId item, double unused) const {
  const auto found = values_.find({stage, item});
  return found == values_.end() ? unused : found->second.q;
}

ValueChange ValueTable::update(Stage stage, ItemId item, double reward, double alpha, double unused,
                               std::int64_t sweep) const {
  ItemValue before = find(stage, item).value_or(ItemValue{});
  if (before.n == 0) before.q = unused;
  const ItemValue after{moved_towards(before.q, reward, alpha), before.n + 1, before.sum_r + reward,
                        before.sum_r2 + reward * reward, sweep};
  return {stage, item, before, after};
}

ValueChange ValueTable::start_at(Stage stage, ItemId item, double value, std::int64_t sweep) {
  return {stage, item, {}, {value, 1, value, value * value, sweep}};
}

}  // namespace evk
