#include "campaign/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <set>

#include "learn/learner.h"
#include "learn/reward.h"
#include "memory/item_identity.h"

namespace evk {
namespace {

// The tasks that something descends from; shared, since most items of a long campaign have the same.
using Ancestors = std::shared_ptr<const std::set<std::string>>;

Ancestors joined(const Ancestors& a, const Ancestors& b) {
  if (!b || b->empty() || a == b) return a;
  if (!a || a->empty()) return b;
  if (std::includes(a->begin(), a->end(), b->begin(), b->end())) return a;
  auto both = std::make_shared<std::set<std::string>>(*a);
  both->insert(b->begin(), b->end());
  return both;
}

struct Source {
  std::string fingerprint;
  std::map<std::string, std::string> meta;
  std::vector<StoredTask> tasks;
  std::vector<ItemPtr> items;
  std::vector<StoredAttempt> attempts;
  ValueMap priors;
  std::vector<OriginRow> origins;
  std::vector<Ancestors> of_item, of_attempt;  // by number - 1
  std::vector<char> kept;                      // items, by number - 1
};

// Every number that is used as one of the source's items must be one.
Status check_numbers(const std::string& path, const Source& s) {
  const auto known = [&](ItemId id) {
    return id.number >= 1 && id.number <= static_cast<std::int64_t>(s.items.size());
  };
  bool good = true;
  for (const auto& item : s.items) good = good && (!item->parent || *item->parent < item->id);
  for (const auto& [attempt, learnt] : s.attempts)
    for (const auto& change : learnt.changes) good = good && known(change.item);
  for (const auto& [key, value] : s.priors) good = good && known(key.second) && value.n >= 0;
  for (const auto& origin : s.origins) good = good && known(origin.item);
  if (!good)
    return failure(fmt::format("{}: names an item that it does not hold; the file is damaged", path));
  return {};
}

Result<Source> read_source(const std::string& path) {
  EVK_TRY(const auto store, Store::read(path));
  Source s;
  EVK_TRY(s.fingerprint, store->fingerprint());
  EVK_TRY(s.meta, store->meta());
  EVK_TRY(s.tasks, store->tasks());
  EVK_TRY(auto items, store->items());
  for (auto& item : items) {
    if (item.id.number != static_cast<std::int64_t>(s.items.size()) + 1)
      return failure(fmt::format("{}: item {} is missing", path, s.items.size() + 1));
    s.items.push_back(std::make_shared<const MemoryItem>(std::move(item)));
  }
  EVK_TRY(s.attempts, store->attempts(s.items));
  EVK_TRY(s.priors, store->priors());
  EVK_TRY(s.origins, store->origins());
  EVK_TRY_STATUS(check_numbers(path, s));
  return s;
}

const Ancestors& at(const std::vector<Ancestors>& list, ItemId id) {
  return list[static_cast<std::size_t>(id.number) - 1];
}

// An attempt descends from its task and from all that it was shown; an item from its attempt.
void trace_ancestors(Source& s) {
  s.of_item.assign(s.items.size(), nullptr);
  for (const auto& origin : s.origins) {
    auto& own = s.of_item[static_cast<std::size_t>(origin.item.number) - 1];
    own = joined(own,
                 std::make_shared<std::set<std::string>>(origin.ancestors.begin(), origin.ancestors.end()));
  }
  std::map<TaskId, Ancestors> own;
  for (const auto& [attempt, learnt] : s.attempts) {
    Ancestors& alone = own[attempt.task];
    if (!alone) alone = std::make_shared<std::set<std::string>>(std::set{attempt.task.text});
    Ancestors all = alone;
    for (const auto& used : attempt.context.items) all = joined(all, at(s.of_item, used.item->id));
    for (const auto& item : learnt.items) s.of_item[static_cast<std::size_t>(item.id.number) - 1] = all;
    s.of_attempt.push_back(all);
  }
}

class Filter {
 public:
  explicit Filter(const TransferConfig& config) : exclusion_(config.exclusion) {
    for (const auto& task : config.without) without_.insert(task.text);
  }
  bool excludes(const std::optional<TaskId>& own, const Ancestors& ancestors) const {
    if (own && without_.contains(own->text)) return true;
    if (exclusion_ == Exclusion::kOwn || !ancestors) return false;
    return std::any_of(ancestors->begin(), ancestors->end(),
                       [&](const std::string& task) { return without_.contains(task); });
  }
  bool empty() const { return without_.empty(); }

 private:
  std::set<std::string> without_;
  Exclusion exclusion_;
};

void choose_items(Source& s, const Filter& filter) {
  for (const auto& item : s.items) {
    const bool parent_gone = item->parent && (item->parent->number < 1 ||
                                              !s.kept[static_cast<std::size_t>(item->parent->number) - 1]);
    s.kept.push_back(!parent_gone && !filter.excludes(item->task, at(s.of_item, item->id)));
  }
}

Result<LearnConfig> learn_config_of(const Source& s) {
  LearnConfig config;
  const auto read = [&](const char* key, double& into) -> Result<bool> {
    const auto found = s.meta.find(key);
    if (found == s.meta.end()) return false;
    const std::string& text = found->second;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), into);
    if (code != std::errc() || end != text.data() + text.size())
      return failure(fmt::format("the store's {} is '{}', which is no number", key, text));
    return true;
  };
  EVK_TRY([[maybe_unused]] const bool alpha, read("learn.alpha", config.step.alpha));
  double offset = 0;
  EVK_TRY(const bool has_offset, read("learn.step_offset", offset));
  if (has_offset) config.step.offset = offset;
  return config;
}

// Learns the values again from the attempts that are kept: eq. 4 with each kept reward in commit order. Raw
// rewards are the stored ones, which depend on their own task alone; their normalisation is done again.
class Relearner {
 public:
  Relearner(const Source& source, const LearnConfig& config, const Filter& filter)
      : source_(source), config_(config), filter_(filter) {
    if (filter.empty())
      for (const auto& [key, value] : source.priors) values_.restore(key.first, key.second, value);
  }

  Result<ValueTable> run() {
    for (std::size_t i = 0; i < source_.attempts.size(); ++i) {
      const auto& [attempt, learnt] = source_.attempts[i];
      if (attempt.verdict && learnt.reward && !filter_.excludes(attempt.task, source_.of_attempt[i]))
        learn(attempt, learnt);
    }
    return std::move(values_);
  }

 private:
  void learn(const Attempt& attempt, const Learnt& learnt) {
    double reward = *learnt.reward, unused = 0;
    if (attempt.context.stage == Stage::kDraft) {
      double& mean = draft_mean_.try_emplace(attempt.task, -1.0).first->second;
      unused = mean;
      mean = moved_towards(mean, reward, LearningState::kDraftMeanStep);
    } else {
      Normaliser normaliser(config_.normaliser, normaliser_);
      reward = is_normalised(*attempt.verdict, learnt.best_before) ? normaliser.normalise(reward) : 0.0;
      normaliser_ = normaliser.state();
    }
    for (const auto& change : learnt.changes) learn_change(attempt, learnt, change, reward, unused);
  }
  void learn_change(const Attempt& attempt, const Learnt& learnt, const ValueChange& change, double reward,
                    double unused) {
    if (!source_.kept[static_cast<std::size_t>(change.item.number) - 1]) return;
    const auto made_here = [&](const MemoryItem& item) { return item.id == change.item; };
    if (std::any_of(learnt.items.begin(), learnt.items.end(), made_here)) {
      const double own = attempt.context.stage == Stage::kRefine ? reward : 0.0;
      values_.restore(change.stage, change.item,
                      ValueTable::start_at(change.stage, change.item, own, attempt.sweep).after);
      return;
    }
    const bool shown =
        std::any_of(attempt.context.items.begin(), attempt.context.items.end(),
                    [&](const ContextItem& c) { return c.updated && c.item->id == change.item; });
    if (!shown) return;
    const std::int64_t n = values_.find(change.stage, change.item).value_or(ItemValue{}).n + 1;
    const auto learnt_again =
        values_.update(change.stage, change.item, reward, step_size(config_.step, n), unused, attempt.sweep);
    values_.restore(change.stage, change.item, learnt_again.after);
  }

  const Source& source_;
  LearnConfig config_;
  const Filter& filter_;
  ValueTable values_;
  NormaliserState normaliser_;
  std::map<TaskId, double> draft_mean_;
};

// As many uses as `uses_max` at most, with the same Q and mean reward.
ItemValue capped(ItemValue v, std::int64_t uses_max) {
  if (v.n > uses_max) {
    const double share = static_cast<double>(uses_max) / static_cast<double>(v.n);
    v.sum_r *= share, v.sum_r2 *= share;
    v.n = uses_max;
  }
  v.last_sweep = 0;
  return v;
}

ItemValue mean_of(const ItemValue& a, const ItemValue& b) {
  const double n = static_cast<double>(a.n + b.n);
  if (n == 0) return a;
  return {(a.q * static_cast<double>(a.n) + b.q * static_cast<double>(b.n)) / n, a.n + b.n, a.sum_r + b.sum_r,
          a.sum_r2 + b.sum_r2, 0};
}

class Image {
 public:
  explicit Image(const TransferConfig& config) : config_(config) {}

  void add(const Source& s, const ValueTable& values) {
    std::map<ItemId, ItemId> number;  // in the source -> here
    for (const auto& item : s.items) {
      if (!s.kept[static_cast<std::size_t>(item->id.number) - 1]) {
        ++summary_.excluded;
        continue;
      }
      number[item->id] = add_item(*item, number);
      add_origins(s, *item, number[item->id]);
    }
    if (!config_.values) return;
    for (const auto& [key, value] : values.all())
      if (const auto here = number.find(key.second); here != number.end() && value.n > 0)
        add_value(key.first, here->second, value);
  }

  MemoryImage finish() {
    for (auto& [key, value] : image_.priors) value = capped(value, config_.uses_max);
    std::sort(image_.origins.begin(), image_.origins.end(), [](const OriginRow& a, const OriginRow& b) {
      return std::tie(a.item, a.store, a.there) < std::tie(b.item, b.store, b.there);
    });
    return std::move(image_);
  }
  TransferSummary summary() const {
    TransferSummary done = summary_;
    done.items = static_cast<std::int64_t>(image_.items.size());
    done.values = static_cast<std::int64_t>(image_.priors.size());
    done.ancestors.assign(ancestors_.begin(), ancestors_.end());
    return done;
  }

 private:
  ItemId add_item(const MemoryItem& item, const std::map<ItemId, ItemId>& number) {
    const auto [found, fresh] = known_.try_emplace(content_hash(item), ItemId{});
    if (!fresh) {
      ++summary_.duplicates;
      return found->second;
    }
    MemoryItem copy = item;
    copy.id = {static_cast<std::int64_t>(image_.items.size()) + 1};
    found->second = copy.id;
    if (copy.source != "seed") copy.source = "import";
    copy.attempt.reset();  // of another store; `origin` remembers it
    copy.created_sweep = 0;
    if (item.parent) {
      const auto parent = number.find(*item.parent);
      copy.parent = parent == number.end() ? std::nullopt : std::optional(parent->second);
    }
    image_.items.push_back(std::move(copy));
    return found->second;
  }
  void add_origins(const Source& s, const MemoryItem& item, ItemId here) {
    const Ancestors& ancestors = at(s.of_item, item.id);
    OriginRow row{here, s.fingerprint, item.id, item.attempt, {}};
    if (ancestors) row.ancestors.assign(ancestors->begin(), ancestors->end());
    ancestors_.insert(row.ancestors.begin(), row.ancestors.end());
    image_.origins.push_back(std::move(row));
    for (OriginRow earlier : s.origins)  // where this source had it from
      if (earlier.item == item.id) {
        earlier.item = here;
        image_.origins.push_back(std::move(earlier));
      }
  }
  void add_value(Stage stage, ItemId item, const ItemValue& value) {
    const auto [found, fresh] = image_.priors.try_emplace({stage, item}, value);
    if (!fresh) found->second = mean_of(found->second, value);
  }

  TransferConfig config_;
  MemoryImage image_;
  TransferSummary summary_;
  std::map<std::string, ItemId> known_;
  std::set<std::string> ancestors_;
};

Status check_tasks_are_known(const std::vector<Source>& sources, const TransferConfig& config) {
  std::set<std::string> known;
  for (const auto& s : sources) {
    for (const auto& task : s.tasks) known.insert(task.id.text);
    for (const auto& origin : s.origins) known.insert(origin.ancestors.begin(), origin.ancestors.end());
    for (const auto& item : s.items)
      if (item->task) known.insert(item->task->text);
  }
  for (const auto& task : config.without)
    if (!known.contains(task.text))
      return failure(fmt::format(
          "no source knows the task {}; name it as `evokernel report` does, or it would not be excluded",
          task.text));
  return {};
}

Result<Image> make_image(std::vector<Source>& sources, const TransferConfig& config) {
  const Filter filter(config);
  Image image(config);
  for (auto& s : sources) {
    trace_ancestors(s);
    choose_items(s, filter);
    EVK_TRY(const auto learn, learn_config_of(s));
    EVK_TRY(const auto values, Relearner(s, learn, filter).run());
    image.add(s, values);
  }
  return image;
}

// A file that is complete or not there: written beside, then renamed.
Status write_store(const std::string& path, const MemoryImage& image) {
  namespace fs = std::filesystem;
  const std::string fresh = path + ".new";
  std::error_code error;
  const auto clear = [&] {
    for (const char* end : {"", "-wal", "-shm", ".lock"}) fs::remove(fresh + end, error);
  };
  clear();
  Status done;
  {
    EVK_TRY(const auto store, Store::open(fresh));
    done = store->put_memory(image);
  }
  if (done) {
    fs::rename(fresh, path, error);
    if (error) done = failure(fmt::format("{}: {}", path, error.message()), Retry::kAfterFix);
  }
  clear();
  return done;
}

}  // namespace

Result<TransferSummary> transfer_memory(const std::vector<std::string>& sources, const std::string& into,
                                        const TransferConfig& config) {
  if (std::filesystem::exists(into))
    return failure(fmt::format("{}: is there already; name a new file", into), Retry::kAfterFix);
  if (config.uses_max < 1) return failure("a value must count for one use at least");
  std::vector<Source> read;
  for (const auto& path : sources) {
    EVK_TRY(auto source, read_source(path));
    read.push_back(std::move(source));
  }
  EVK_TRY_STATUS(check_tasks_are_known(read, config));
  EVK_TRY(auto image, make_image(read, config));
  const TransferSummary summary = image.summary();
  EVK_TRY_STATUS(write_store(into, image.finish()));
  return summary;
}

}  // namespace evk
