#include "core/context.h"

#include <array>

namespace evk {

std::string_view name_of(Stage stage) { return stage == Stage::kDraft ? "draft" : "refine"; }

std::string_view name_of(SelectedBy by) {
  switch (by) {
    case SelectedBy::kGreedy:
      return "greedy";
    case SelectedBy::kExplore:
      return "explore";
    case SelectedBy::kApiStatic:
      return "api_static";
    case SelectedBy::kApiExact:
      return "api_exact";
    case SelectedBy::kApiSemantic:
      return "api_semantic";
    case SelectedBy::kStart:
      return "start";
    case SelectedBy::kChild:
      return "child";
    case SelectedBy::kPinned:
      return "pinned";
    case SelectedBy::kVariant:
      return "variant";
  }
  return "greedy";
}

std::vector<const ContextItem*> Context::chosen(SelectedBy by) const {
  std::vector<const ContextItem*> found;
  for (const auto& item : items)
    if (item.by == by) found.push_back(&item);
  return found;
}

const MemoryItem* Context::start() const {
  const auto found = chosen(SelectedBy::kStart);
  return found.empty() ? nullptr : found.front()->item.get();
}

std::string_view name_of(ItemKind kind) {
  switch (kind) {
    case ItemKind::kApi:
      return "api";
    case ItemKind::kExperience:
      return "experience";
    case ItemKind::kTrace:
      return "trace";
    case ItemKind::kPractice:
      return "practice";
  }
  return "api";
}

std::optional<ItemKind> item_kind_named(std::string_view name) {
  for (const auto kind : {ItemKind::kApi, ItemKind::kExperience, ItemKind::kTrace, ItemKind::kPractice})
    if (name_of(kind) == name) return kind;
  return std::nullopt;
}

}  // namespace evk
