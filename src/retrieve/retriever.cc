#include "retrieve/retriever.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <set>

#include "base/check.h"

namespace evk {
namespace {

using Wanted = std::function<bool(const MemoryItem&)>;

// The value that ranking sees: Q, the start value of a never-used item, or under shrinkage the mean reward
// drawn towards that of the item's group.
double value_of(const MemoryItem& item, const ItemValue& learnt, const LearningState& state, Stage stage,
                double unused, double shrinkage) {
  if (shrinkage <= 0) return learnt.n ? learnt.q : unused;
  const auto group = state.group_mean(stage, item.kind, item.category);
  return shrunk(learnt, group.value_or(unused), shrinkage);
}

// The dense top K (paper 3.2), K = lambda * N, with each item's value in `stage`.
std::vector<PoolEntry> recall(const Memory& memory, const LearningState& state, std::span<const float> query,
                              Stage stage, double unused, double shrinkage, std::size_t k,
                              const Wanted& wanted) {
  std::vector<PoolEntry> pool;
  for (const auto& near :
       memory.index().nearest(query, k, [&](ItemId id) { return wanted(*memory.at(id)); })) {
    const ItemPtr& item = memory.at(near.item);
    const ItemValue learnt = state.values().find(stage, near.item).value_or(ItemValue{});
    pool.push_back(
        {item, near.similarity, value_of(*item, learnt, state, stage, unused, shrinkage), learnt, 0});
  }
  return pool;
}

std::size_t pool_size(const RetrieveConfig& config, const Exploration& exploration) {
  return static_cast<std::size_t>(std::llround(exploration.lambda * config.slots));
}

void keep_feasible_traces(std::vector<PoolEntry>& pool, int feasible_min) {
  const auto failed = [](const PoolEntry& e) {
    return e.item->kind == ItemKind::kTrace && !e.item->feasible;
  };
  const auto good = [](const PoolEntry& e) { return e.item->kind == ItemKind::kTrace && e.item->feasible; };
  if (std::count_if(pool.begin(), pool.end(), good) >= feasible_min) std::erase_if(pool, failed);
}

class Assembly {
 public:
  Assembly(Context& context, const Memory& memory, std::vector<float> query)
      : context_(context), memory_(memory), query_(std::move(query)) {}

  void add(const ItemPtr& item, SelectedBy by, bool updated, double value = 0) {
    if (!seen_.insert(item->id).second) return;
    context_.items.push_back(
        {item, by, next_slot_[by]++, memory_.index().similarity(item->id, query_), value, 1.0, updated});
  }
  void add(std::vector<ContextItem> chosen) {
    for (auto& c : chosen)
      if (seen_.insert(c.item->id).second) context_.items.push_back(std::move(c));
  }
  bool has(ItemId id) const { return seen_.contains(id); }
  const std::vector<float>& query() const { return query_; }

 private:
  Context& context_;
  const Memory& memory_;
  std::vector<float> query_;
  std::set<ItemId> seen_;
  std::map<SelectedBy, int> next_slot_;
};

// API knowledge, outside the values (learning.md 4.8): the static bundle, then exact names, then near ones.
void add_static_apis(const Memory& memory, Assembly& assembly) {
  for (const auto& item : memory.items())
    if (item->kind == ItemKind::kApi && item->static_bundle)
      assembly.add(item, SelectedBy::kApiStatic, false);
}

void add_exact(const std::vector<ItemPtr>& items, int limit, int& used, Assembly& assembly) {
  for (const auto& item : items)
    if (used < limit && !assembly.has(item->id)) {
      assembly.add(item, SelectedBy::kApiExact, false);
      ++used;
    }
}

// Names in the last failure's findings come first, then those in the code that is shown.
void add_exact_apis(const Context& context, const Memory& memory, const MemoryItem* failure,
                    const RetrieveConfig& config, Assembly& assembly) {
  int used = 0, pitfalls = 0;
  if (failure) {
    for (const auto& name : api_names_in(failure->text))
      add_exact(memory.documenting(name), config.api_exact_max, used, assembly);
    add_exact(memory.answering(failure->code), config.pitfalls_max, pitfalls, assembly);
  }
  std::vector<std::string> names;
  for (const auto& c : context.items)
    for (const auto& file : c.item->files)
      for (auto& name : api_names_in(file.text)) names.push_back(std::move(name));
  for (const auto& name : names) add_exact(memory.documenting(name), config.api_exact_max, used, assembly);
}

void add_semantic_apis(const Memory& memory, const RetrieveConfig& config, Assembly& assembly) {
  const auto wanted = [&](ItemId id) {
    const MemoryItem& item = *memory.at(id);
    return item.kind == ItemKind::kApi && !assembly.has(id);
  };
  for (const auto& near :
       memory.index().nearest(assembly.query(), static_cast<std::size_t>(config.api_semantic_max), wanted))
    assembly.add(memory.at(near.item), SelectedBy::kApiSemantic, false);
}

std::size_t chars_of(const MemoryItem& item) {
  std::size_t chars = item.text.size() + item.title.size();
  for (const auto& file : item.files) chars += file.text.size();
  return chars;
}

// Keeps the context within its budget: chosen items are dropped from the lowest value upward; a dropped item
// gets no update. What is not chosen by value (start point, pinned failure, static APIs) stays.
void fit(Context& context, std::size_t chars_max) {
  const auto droppable = [](const ContextItem& c) {
    return c.by == SelectedBy::kGreedy || c.by == SelectedBy::kExplore || c.by == SelectedBy::kApiSemantic;
  };
  const auto total = [&] {
    std::size_t chars = 0;
    for (const auto& c : context.items) chars += chars_of(*c.item);
    return chars;
  };
  while (total() > chars_max) {
    auto lowest = context.items.end();
    for (auto it = context.items.begin(); it != context.items.end(); ++it)
      if (droppable(*it) && (lowest == context.items.end() || it->value < lowest->value)) lowest = it;
    if (lowest == context.items.end()) return;
    context.recall.cut.push_back(*lowest);
    context.items.erase(lowest);
  }
}

PolicyConfig policy_of(const RetrieveConfig& config, std::map<ItemKind, int> quota, Stage stage,
                       const Memory& memory) {
  const bool roles = config.quotas;
  return {config.slots,
          roles ? std::move(quota) : std::map<ItemKind, int>(),
          roles ? config.per_task_max : config.slots,
          config.rank,
          stage,
          [&memory](ItemId a, ItemId b) { return memory.index().likeness(a, b); }};
}

// Rules that explore by themselves, and the one that must not, toss no coin.
double epsilon_of(const RetrieveConfig& config, const Exploration& exploration) {
  const Rule rule = config.rank.rule;
  return rule == Rule::kValue || rule == Rule::kMemRl ? exploration.epsilon : 0.0;
}

// Leave one out: takes one chosen item away, so that the attempt shows what it goes without.
std::vector<ContextItem> withheld_one(std::vector<ContextItem> chosen, const RetrieveConfig& config,
                                      Random& random, RecallLog& log) {
  if (config.leave_one_out <= 0 || !random.coin(config.leave_one_out) || chosen.empty()) return chosen;
  const auto at = chosen.begin() + static_cast<std::ptrdiff_t>(random.below(chosen.size()));
  log.left_out.push_back(*at);
  chosen.erase(at);
  return chosen;
}

// Epsilon-greedy on Q2 over P(x) (paper 3.4); ties by lower latency, then id.
ContextItem choose_start(const std::vector<ItemId>& points, const Memory& memory, const LearningState& state,
                         bool by_value, double epsilon, Random& random) {
  EVK_CHECK(!points.empty());
  const auto latency = [&](ItemId id) { return memory.at(id)->latency_ns.value_or(HUGE_VAL); };
  const auto value = [&](ItemId id) {
    return by_value ? state.values().value_or(Stage::kRefine, id, 0.0) : -latency(id);
  };
  const auto best = *std::min_element(points.begin(), points.end(), [&](ItemId a, ItemId b) {
    if (value(a) != value(b)) return value(a) > value(b);
    if (latency(a) != latency(b)) return latency(a) < latency(b);
    return a < b;
  });
  const bool explore = random.coin(epsilon);
  const ItemId pick = explore ? points[random.below(points.size())] : best;
  const double propensity = (pick == best ? 1 - epsilon : 0) + epsilon / static_cast<double>(points.size());
  return {memory.at(pick),
          SelectedBy::kStart,
          0,
          1.0,
          state.values().value_or(Stage::kRefine, pick, 0.0),
          propensity,
          true};
}

// The children to show (learning.md 4.10): best, newest, then failures of distinct error class, up to the
// limit.
std::vector<ItemPtr> children_of(const TaskProgress& progress, ItemId start, const Memory& memory,
                                 int limit) {
  const auto found = progress.children.find(start);
  if (found == progress.children.end()) return {};
  std::vector<ItemPtr> all;
  for (const auto id : found->second) all.push_back(memory.at(id));
  std::vector<ItemPtr> shown;
  std::set<std::string> classes;
  const auto take = [&](const ItemPtr& item) {
    if (static_cast<int>(shown.size()) < limit && std::find(shown.begin(), shown.end(), item) == shown.end())
      shown.push_back(item);
  };
  const auto best = std::min_element(all.begin(), all.end(), [](const ItemPtr& a, const ItemPtr& b) {
    return a->latency_ns.value_or(HUGE_VAL) < b->latency_ns.value_or(HUGE_VAL);
  });
  take(*best);
  take(all.back());
  for (auto it = all.rbegin(); it != all.rend(); ++it)
    if (!(*it)->feasible && classes.insert((*it)->code).second) take(*it);
  for (auto it = all.rbegin(); it != all.rend(); ++it) take(*it);
  return shown;
}

// Complementary variants: feasible kernels of the task that are faster than the start point or otherwise
// bound.
std::vector<ItemPtr> variants_of(const TaskProgress& progress, const MemoryItem& start, const Memory& memory,
                                 int limit) {
  std::vector<ItemPtr> found;
  for (const auto id : progress.start_points) {
    const ItemPtr& item = memory.at(id);
    const bool faster = item->latency_ns && start.latency_ns && *item->latency_ns < *start.latency_ns;
    if (id != start.id && (faster || item->bottleneck != start.bottleneck)) found.push_back(item);
  }
  std::stable_sort(found.begin(), found.end(), [](const ItemPtr& a, const ItemPtr& b) {
    return a->latency_ns.value_or(HUGE_VAL) < b->latency_ns.value_or(HUGE_VAL);
  });
  if (static_cast<int>(found.size()) > limit) found.resize(static_cast<std::size_t>(limit));
  return found;
}

// Whether the memory of an attempt at `task` reaches to the item.
bool is_shared(const RetrieveConfig& config, const MemoryItem& item, const TaskId& task) {
  if (config.frozen && item.source == "run") return false;
  return config.shared || !item.task || *item.task == task;
}

}  // namespace

std::vector<std::string> api_names_in(std::string_view text) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < text.size();) {
    const auto is_word = [&](std::size_t at) {
      return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
    };
    if (!is_word(i)) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (is_word(end)) ++end;
    std::string name(text.substr(i, end - i));
    if (std::isupper(static_cast<unsigned char>(name[0])) && name.size() > 1 && seen.insert(name).second)
      names.push_back(std::move(name));
    i = end;
  }
  return names;
}

Context retrieve_for_draft(const Task& task, const Memory& memory, const LearningState& state,
                           const RetrieveConfig& config, const Exploration& exploration, Random& random) {
  const TaskProgress& progress = state.progress(task.id);
  Context context{Stage::kDraft, {}, 0, exploration.lambda, exploration.epsilon};
  Assembly assembly(context, memory, memory.embed(task.key_text()));
  const ItemPtr failure = progress.last_failure ? memory.at(*progress.last_failure) : nullptr;
  if (failure) assembly.add(failure, SelectedBy::kPinned, false);

  auto pool = recall(memory, state, assembly.query(), Stage::kDraft,
                     unused_value(config.unused, state, task.id, Stage::kDraft), config.shrinkage,
                     pool_size(config, exploration), [&](const MemoryItem& item) {
                       if (!is_shared(config, item, task.id)) return false;
                       if (item.kind == ItemKind::kTrace) return item.task != task.id;
                       return item.kind == ItemKind::kExperience;
                     });
  context.pool_size = static_cast<int>(pool.size());
  if (config.quotas) keep_feasible_traces(pool, config.feasible_min);
  auto chosen =
      choose(std::move(pool),
             policy_of(config, {{ItemKind::kTrace, 3}, {ItemKind::kExperience, 2}}, Stage::kDraft, memory),
             epsilon_of(config, exploration), random, &context.recall);
  assembly.add(withheld_one(std::move(chosen), config, random, context.recall));
  add_static_apis(memory, assembly);
  add_exact_apis(context, memory, failure.get(), config, assembly);
  add_semantic_apis(memory, config, assembly);
  fit(context, config.chars_max);
  return context;
}

Context retrieve_for_refine(const Task& task, const Memory& memory, const LearningState& state,
                            const RetrieveConfig& config, const Exploration& exploration, Random& random) {
  const TaskProgress& progress = state.progress(task.id);
  Context context{Stage::kRefine, {}, 0, exploration.lambda, exploration.epsilon};
  const bool by_value = config.rank.rule != Rule::kSimilarity;
  const ContextItem start = choose_start(progress.start_points, memory, state, by_value,
                                         by_value ? exploration.epsilon : 0, random);
  Assembly assembly(context, memory, memory.embed(task.key_text() + "\n" + start.item->bottleneck));
  assembly.add({start});
  for (const auto& child : children_of(progress, start.item->id, memory, config.children_max))
    assembly.add(child, SelectedBy::kChild, false);
  for (const auto& variant : variants_of(progress, *start.item, memory, config.variants_max))
    assembly.add(variant, SelectedBy::kVariant, true,
                 state.values().value_or(Stage::kRefine, variant->id, 0.0));

  auto pool = recall(memory, state, assembly.query(), Stage::kRefine, 0.0, config.shrinkage,
                     pool_size(config, exploration), [&](const MemoryItem& item) {
                       if (assembly.has(item.id) || !is_shared(config, item, task.id)) return false;
                       if (item.kind == ItemKind::kTrace) return item.task != task.id && item.feasible;
                       return item.kind == ItemKind::kExperience || item.kind == ItemKind::kPractice;
                     });
  context.pool_size = static_cast<int>(pool.size());
  auto chosen =
      choose(std::move(pool),
             policy_of(config, {{ItemKind::kTrace, 2}, {ItemKind::kExperience, 2}, {ItemKind::kPractice, 1}},
                       Stage::kRefine, memory),
             epsilon_of(config, exploration), random, &context.recall);
  assembly.add(withheld_one(std::move(chosen), config, random, context.recall));
  add_static_apis(memory, assembly);
  add_exact_apis(context, memory, nullptr, config, assembly);
  fit(context, config.chars_max);
  return context;
}

}  // namespace evk
