// evokernel memory: what is known, what it has been worth, why it was retrieved.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "campaign/memory_of.h"
#include "cli/commands.h"
#include "report/memory_view.h"

namespace evk {
namespace {

struct MemoryOptions {
  std::string store = "evokernel.evk";
  bool json = false;
  std::int64_t number = 0;
  std::string text, kind;
  int count = 10;
};

std::shared_ptr<MemoryOptions> memory_options(CLI::App& command) {
  auto options = std::make_shared<MemoryOptions>();
  command.add_option("--store", options->store, "The campaign's record")
      ->envname("EVK_STORE")
      ->capture_default_str();
  command.add_flag("--json", options->json, "One JSON object instead of text");
  return options;
}

// Opens the store and prints what `text` or `json` make of it.
template <typename Text, typename Json>
int show(const MemoryOptions& options, const Text& text, const Json& json) {
  const auto made = [&]() -> Status {
    EVK_TRY(const auto store, Store::read(options.store));
    if (options.json) {
      EVK_TRY(const nlohmann::json j, json(*store));
      print_json(j);
    } else {
      EVK_TRY(const std::string t, text(*store));
      fmt::print("{}", t);
    }
    return {};
  }();
  return made ? kExitDone : complain(made.error());
}

struct Hit {
  Neighbour near;
  ItemPtr item;
};

Result<std::vector<Hit>> search(Store& store, const MemoryOptions& options) {
  EVK_TRY(auto items, store.items());
  const auto memory = memory_of(std::move(items));
  const auto wanted = [&](ItemId id) {
    return options.kind.empty() || name_of(memory->at(id)->kind) == options.kind;
  };
  std::vector<Hit> hits;
  for (const auto& near :
       memory->index().nearest(memory->embed(options.text), static_cast<std::size_t>(options.count), wanted))
    hits.push_back({near, memory->at(near.item)});
  return hits;
}

using Values = std::map<std::pair<Stage, ItemId>, ItemValue>;

std::string value_text(const Values& values, Stage stage, ItemId item) {
  const auto found = values.find({stage, item});
  return found == values.end() ? "-" : fmt::format("{:+.3f}", found->second.q);
}

Result<std::string> search_text(Store& store, const MemoryOptions& options) {
  EVK_TRY(const auto hits, search(store, options));
  EVK_TRY(const auto values, store.values());
  std::string text =
      fmt::format("{:>8} {:>7} {:<11} {:>7} {:>7}  {}\n", "similar", "item", "kind", "Q1", "Q2", "title");
  for (const auto& [near, item] : hits)
    text += fmt::format("{:>8.3f} {:>7} {:<11} {:>7} {:>7}  {}\n", near.similarity, item->id.number,
                        name_of(item->kind), value_text(values, Stage::kDraft, item->id),
                        value_text(values, Stage::kRefine, item->id), item->title);
  return text;
}

Result<nlohmann::json> search_json(Store& store, const MemoryOptions& options) {
  EVK_TRY(const auto hits, search(store, options));
  EVK_TRY(const auto values, store.values());
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [near, item] : hits) {
    nlohmann::json q = nlohmann::json::object();
    for (const auto stage : {Stage::kDraft, Stage::kRefine})
      if (const auto found = values.find({stage, item->id}); found != values.end())
        q[std::string(name_of(stage))] = {{"q", found->second.q}, {"n", found->second.n}};
    list.push_back({{"item", item->id.number},
                    {"kind", name_of(item->kind)},
                    {"name", item->name},
                    {"title", item->title},
                    {"similarity", near.similarity},
                    {"values", q}});
  }
  return nlohmann::json{{"schema", 1}, {"text", options.text}, {"found", list}};
}

void add_stats(CLI::App& memory, int& exit_code) {
  CLI::App* command = memory.add_subcommand(
      "stats", "Is anything learnt? Coverage, values by stage and kind, how far they moved by sweep");
  auto options = memory_options(*command);
  command->callback(
      [options, &exit_code] { exit_code = show(*options, memory_stats_text, memory_stats_json); });
}

void add_show(CLI::App& memory, int& exit_code) {
  CLI::App* command = memory.add_subcommand(
      "show", "One item: its text, what it shows, its values, every use and its reward");
  auto options = memory_options(*command);
  command->add_option("ITEM", options->number, "Number of the item")->required();
  command->callback([options, &exit_code] {
    exit_code = show(
        *options, [&](Store& s) { return memory_item_text(s, {options->number}); },
        [&](Store& s) { return memory_item_json(s, {options->number}); });
  });
}

void add_why(CLI::App& memory, int& exit_code) {
  CLI::App* command = memory.add_subcommand(
      "why", "Why an attempt was shown what it was: pool, similarities, values, coins, propensities, cuts");
  auto options = memory_options(*command);
  command->add_option("ATTEMPT", options->number, "Number of the attempt (see the report)")->required();
  command->callback([options, &exit_code] {
    exit_code = show(
        *options, [&](Store& s) { return memory_why_text(s, {options->number}); },
        [&](Store& s) { return memory_why_json(s, {options->number}); });
  });
}

void add_search(CLI::App& memory, int& exit_code) {
  CLI::App* command =
      memory.add_subcommand("search", "The items most similar to a text, as recall finds them");
  auto options = memory_options(*command);
  command->add_option("TEXT", options->text, "What to look for")->required();
  command->add_option("--kind", options->kind, "Of one kind only")
      ->check(CLI::IsMember({"api", "experience", "trace", "practice"}));
  command->add_option("--count", options->count, "How many")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->callback([options, &exit_code] {
    exit_code = show(
        *options, [&](Store& s) { return search_text(s, *options); },
        [&](Store& s) { return search_json(s, *options); });
  });
}

}  // namespace

void add_memory(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("memory", "What is known, and what it has been worth");
  command->require_subcommand(1);
  add_stats(*command, exit_code);
  add_show(*command, exit_code);
  add_why(*command, exit_code);
  add_search(*command, exit_code);
}

}  // namespace evk
