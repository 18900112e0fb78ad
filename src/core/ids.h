// Identities. Each is its own type, so that one cannot be passed for another.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace evk {

// "kb/19_ReLU", "demo/softmax_rows": unique within a campaign, stable between runs.
struct TaskId {
  std::string text;
  auto operator<=>(const TaskId&) const = default;
};

// Items and attempts are numbered in commit order, from 1; a store holds each number once.
struct ItemId {
  std::int64_t number = 0;
  auto operator<=>(const ItemId&) const = default;
};
struct AttemptId {
  std::int64_t number = 0;
  auto operator<=>(const AttemptId&) const = default;
};

}  // namespace evk

template <>
struct std::hash<evk::ItemId> {
  std::size_t operator()(const evk::ItemId& id) const noexcept {
    return std::hash<std::int64_t>()(id.number);
  }
};
template <>
struct std::hash<evk::TaskId> {
  std::size_t operator()(const evk::TaskId& id) const noexcept { return std::hash<std::string>()(id.text); }
};
