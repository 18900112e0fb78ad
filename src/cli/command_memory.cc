// evokernel memory: what is known, what it has been worth, why it was retrieved.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "campaign/memory_of.h"
#include "campaign/transfer.h"
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
  const auto memory = memory_of(std::move(items), index_path_of(options.store));
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

struct TransferOptions {
  std::vector<std::string> sources, without;
  std::string into, exclude = "descendants", values = "keep";
  TransferConfig config;
  bool json = false;
};

nlohmann::json to_json(const TransferOptions& options, const TransferSummary& done) {
  return {{"schema", 1},
          {"sources", options.sources},
          {"store", options.into},
          {"without", options.without},
          {"items", done.items},
          {"excluded", done.excluded},
          {"duplicates", done.duplicates},
          {"values", done.values},
          {"ancestors", done.ancestors}};
}

int transfer(TransferOptions& options) {
  for (const auto& task : options.without) options.config.without.push_back({task});
  options.config.exclusion = options.exclude == "own" ? Exclusion::kOwn : Exclusion::kDescendants;
  options.config.values = options.values == "keep";
  const auto done = transfer_memory(options.sources, options.into, options.config);
  if (!done) return complain(done.error());
  if (options.json)
    print_json(to_json(options, *done));
  else
    fmt::print("{}: {} items, {} values; {} items excluded, {} were there twice\n", options.into, done->items,
               done->values, done->excluded, done->duplicates);
  return kExitDone;
}

// The options that export, import and merge share.
void add_transfer_options(CLI::App& command, const std::shared_ptr<TransferOptions>& o, int& exit_code) {
  command.add_option("--without", o->without, "Tasks whose memory is left out, as the report names them");
  command
      .add_option("--exclude", o->exclude,
                  "With them: 'descendants', all that was made where it was seen, or 'own' items alone")
      ->check(CLI::IsMember({"descendants", "own"}))
      ->capture_default_str();
  command.add_option("--values", o->values, "'keep' what items are worth, or 'reset' it")
      ->check(CLI::IsMember({"keep", "reset"}))
      ->capture_default_str();
  command.add_option("--uses-max", o->config.uses_max, "Uses that a kept value counts for at most")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command.add_flag("--json", o->json, "One JSON object instead of text");
  command.callback([o, &exit_code] { exit_code = transfer(*o); });
}

void add_memory_export(CLI::App& memory, int& exit_code) {
  CLI::App* command = memory.add_subcommand(
      "export",
      "The memory of a campaign as a store of its own, without the attempts: to keep or to hand on");
  auto o = std::make_shared<TransferOptions>();
  o->sources = {"evokernel.evk"};
  command->add_option("FILE", o->into, "The new store")->required();
  command->add_option("--store", o->sources.front(), "The campaign's record")
      ->envname("EVK_STORE")
      ->capture_default_str();
  add_transfer_options(*command, o, exit_code);
}

void add_memory_import(CLI::App& memory, int& exit_code) {
  CLI::App* command = memory.add_subcommand(
      "import", "A new store that begins with the memory of others; `run` with it starts from there");
  auto o = std::make_shared<TransferOptions>();
  command->add_option("SOURCE", o->sources, "Stores: campaigns or exported memories")->required();
  command->add_option("--store", o->into, "The new store")->required();
  add_transfer_options(*command, o, exit_code);
}

void add_memory_merge(CLI::App& memory, int& exit_code) {
  CLI::App* command = memory.add_subcommand(
      "merge", "Several memories as one: equal items become one, worth their mean by uses");
  auto o = std::make_shared<TransferOptions>();
  command->add_option("SOURCE", o->sources, "Stores: campaigns or exported memories")->required();
  command->add_option("--into", o->into, "The new store")->required();
  add_transfer_options(*command, o, exit_code);
}

}  // namespace

void add_memory(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("memory", "What is known, and what it has been worth");
  command->require_subcommand(1);
  add_stats(*command, exit_code);
  add_show(*command, exit_code);
  add_why(*command, exit_code);
  add_search(*command, exit_code);
  add_memory_export(*command, exit_code);
  add_memory_import(*command, exit_code);
  add_memory_merge(*command, exit_code);
}

}  // namespace evk
