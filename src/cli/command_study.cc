#include "cli/command_study.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "campaign/study.h"
#include "cli/commands.h"

namespace evk {
namespace {

struct StudyOptions {
  std::vector<std::string> names;
  StudyConfig config;
  bool json = false;
};

nlohmann::json to_json(const Interval& interval) {
  return {{"mean", interval.mean}, {"half_width", interval.half_width}};
}

nlohmann::json to_json(const StudyOptions& options, const std::vector<StudyRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& row : rows)
    list.push_back({{"variant", row.name},
                    {"solved", to_json(row.solved)},
                    {"against_first", to_json(row.against_first)},
                    {"solved_half", to_json(row.solved_half)},
                    {"attempts_to_solve", to_json(row.attempts_to_solve)},
                    {"speedup", to_json(row.speedup)},
                    {"items_used", to_json(row.seen)}});
  return {{"schema", 1},
          {"studies", options.names},
          {"seeds", options.config.seeds},
          {"tasks", options.config.world.tasks},
          {"sweeps", options.config.sweeps},
          {"confidence", 0.95},
          {"rows", list}};
}

std::string shown(const Interval& i, int digits) {
  return fmt::format("{:.{}f} +- {:.{}f}", i.mean, digits, i.half_width, digits);
}

void print_table(const StudyOptions& options, const std::vector<StudyRow>& rows) {
  fmt::print("{} synthetic tasks, {} sweeps, {} seeds; mean +- half a 95 % confidence interval\n\n",
             options.config.world.tasks, options.config.sweeps, options.config.seeds);
  fmt::print("{:<28} {:>14} {:>14} {:>14} {:>13} {:>13} {:>13}\n", "", "solved", "against first",
             "after half", "attempts", "speedup", "items used");
  for (const auto& row : rows)
    fmt::print("{:<28} {:>14} {:>14} {:>14} {:>13} {:>13} {:>13}\n", row.name, shown(row.solved, 1),
               shown(row.against_first, 1), shown(row.solved_half, 1), shown(row.attempts_to_solve, 1),
               shown(row.speedup, 2), shown(row.seen, 2));
}

int run(StudyOptions& options) {
  if (std::find(options.names.begin(), options.names.end(), "all") != options.names.end())
    options.names = study_names();
  std::vector<Variant> variants;
  for (const auto& name : options.names)
    for (auto& variant : study_variants(name)) {
      const auto same = [&](const Variant& v) { return v.name == variant.name; };
      if (std::none_of(variants.begin(), variants.end(), same)) variants.push_back(std::move(variant));
    }
  const auto rows = run_study(options.config, variants);
  if (options.json)
    print_json(to_json(options, rows));
  else
    print_table(options, rows);
  return kExitDone;
}

}  // namespace

void add_study(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "study", "What the rules of retrieval and learning do, in a synthetic world where what helps is known");
  auto o = std::make_shared<StudyOptions>();
  std::vector<std::string> known = study_names();
  known.emplace_back("all");
  command
      ->add_option("NAME", o->names, fmt::format("Studies to put into one table: {}", fmt::join(known, ", ")))
      ->required()
      ->check(CLI::IsMember(known).description(""));
  command->add_option("--seeds", o->config.seeds, "Worlds per variant")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->add_option("--tasks", o->config.world.tasks, "Tasks of a world")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--sweeps", o->config.sweeps, "Attempts that each task may use")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->add_option("--jobs", o->config.jobs, "Campaigns at once; changes the speed only")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->add_flag("--json", o->json, "One JSON object instead of the table");
  command->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace evk
