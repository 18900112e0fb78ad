// A piece of what is known (paper 3.2: four kinds). Items are immutable once stored; what they are worth is
// not part of them (see memory/value_table.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/candidate.h"
#include "core/ids.h"

namespace evk {

enum class ItemKind { kApi, kExperience, kTrace, kPractice };
std::string_view name_of(ItemKind kind);  // "api", "experience", "trace", "practice"
std::optional<ItemKind> item_kind_named(std::string_view name);

// A typed statement of an item about a construct: this form works, or does not.
struct Fact {
  Choice choice;
  bool works = true;
  auto operator<=>(const Fact&) const = default;
};

struct MemoryItem {
  ItemId id;
  ItemKind kind = ItemKind::kApi;
  std::string name;                  // stable name for people: "api/data_copy_pad", "trace/17"
  std::string backend;               // "ascendc_twin"
  std::string source;                // "seed", "run", "import"
  std::string title;                 // one line
  std::string text;                  // what a prompt shows, without the code of `files`
  std::string key_text;              // what is embedded
  std::string category;              // of its task, or of the knowledge file
  std::vector<Fact> facts;           // what it shows, typed
  std::vector<std::string> names;    // API names that it documents (exact lookup)
  std::vector<std::string> answers;  // practices: bottleneck labels; pitfalls: finding codes
  bool static_bundle = false;        // APIs that every draft sees

  // Of traces and experiences.
  std::optional<TaskId> task;
  std::optional<AttemptId> attempt;
  std::optional<ItemId> parent;   // trace it was refined from
  std::vector<SourceFile> files;  // traces only
  bool feasible = false;
  std::optional<double> latency_ns;
  std::string gate, code;    // where the attempt ended, and why ("passed" for both if feasible)
  std::string finding_file;  // of the first deciding finding
  int finding_line = 0;
  std::string bottleneck;
  std::string hypothesis;
  std::string source_hash;         // of `files`
  std::int64_t created_sweep = 0;  // 0 for seeds
};

using ItemPtr = std::shared_ptr<const MemoryItem>;

}  // namespace evk
