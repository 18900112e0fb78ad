// The commands that read a store: report, explain.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "report/explain.h"
#include "report/report.h"

namespace evk {
namespace {

struct ReadOptions {
  std::string store = "evokernel.evk";
  bool json = false;
  std::int64_t number = 0;
  bool prompt = false;
};

std::shared_ptr<ReadOptions> read_options(CLI::App& command) {
  auto options = std::make_shared<ReadOptions>();
  command.add_option("--store", options->store, "The campaign's record")
      ->envname("EVK_STORE")
      ->capture_default_str();
  command.add_flag("--json", options->json, "One JSON object instead of text");
  return options;
}

// Opens the store and prints what `text` or `json` make of it.
template <typename Text, typename Json>
int show(const ReadOptions& options, const Text& text, const Json& json) {
  auto store = Store::read(options.store);
  if (!store) return complain(store.error());
  if (options.json) {
    const Result<nlohmann::json> made = json(**store);
    if (!made) return complain(made.error());
    print_json(*made);
  } else {
    const Result<std::string> made = text(**store);
    if (!made) return complain(made.error());
    fmt::print("{}", *made);
  }
  return kExitDone;
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("report", "Table of a campaign: how far each task came, how fast its kernel is");
  auto options = read_options(*command);
  command->add_option("STORE", options->store, "The campaign's record, the same as --store");
  command->callback([options, &exit_code] {
    exit_code = show(
        *options, [](Store& s) { return make_report(s).map([](const Report& r) { return to_text(r, {}); }); },
        [](Store& s) { return make_report(s).map([](const Report& r) { return to_json(r, {}); }); });
  });
}

void add_explain(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "explain",
      "Everything about one attempt: what it was shown and why, its code, its verdict, what was learnt");
  auto options = read_options(*command);
  command->add_option("ATTEMPT", options->number, "Number of the attempt (see the report)")->required();
  command->add_flag("--prompt", options->prompt, "The exact prompt too");
  command->callback([options, &exit_code] {
    exit_code = show(
        *options, [&](Store& s) { return explain_text(s, {options->number}, options->prompt); },
        [&](Store& s) { return explain_json(s, {options->number}); });
  });
}

}  // namespace evk
