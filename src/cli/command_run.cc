// evokernel run: a campaign.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands.h"
#include "cli/make_parts.h"
#include "cli/progress.h"
#include "cli/resources.h"
#include "report/report.h"

namespace evk {
namespace {

// Set by the first SIGINT or SIGTERM: the campaign ends at an attempt's boundary. The second one ends the
// process.
std::atomic<bool> stop_asked{false};

void ask_to_stop(int signal) {
  if (stop_asked.exchange(true)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

struct RunCommand {
  std::vector<std::string> values;  // of the option table, as given by flags; empty = not given
  std::vector<CLI::Option*> given;
  std::string config;
  bool json = false, quiet = false;
};

Result<std::string> text_of_file(const std::string& path) {
  std::ifstream in(path);
  if (!in) return failure(fmt::format("{}: cannot be read", path), Retry::kAfterFix);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Result<RunOptions> effective_options(const RunCommand& command) {
  RunOptions options;
  if (!command.config.empty()) {
    EVK_TRY(const auto text, text_of_file(command.config));
    EVK_TRY_STATUS(apply_file(options, text, command.config));
  }
  EVK_TRY_STATUS(apply_environment(options));
  for (std::size_t i = 0; i < command.values.size(); ++i)
    if (command.given[i]->count()) {
      const Status set = run_options()[i].set(options, command.values[i]);
      if (!set) return failure(fmt::format("{}: {}", run_options()[i].flag, set.error().message));
    }
  return options;
}

// The best kernels, written again at the end: a store that was continued elsewhere still leaves them here.
Result<std::map<std::string, std::string>> save_best(Store& store, const std::string& out) {
  std::map<std::string, std::string> saved;
  if (out.empty()) return saved;
  EVK_TRY(const auto kernels, best_kernels(store));
  for (const auto& kernel : kernels) {
    EVK_TRY(saved[kernel.task], save_kernel(out, kernel.task, kernel.files));
  }
  return saved;
}

Status make_folder_of(const std::string& file) {
  const auto folder = std::filesystem::path(file).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return failure(fmt::format("{}: {}", folder.string(), error.message()), Retry::kAfterFix);
  return {};
}

Result<int> run_campaign(const RunOptions& options, bool json, bool quiet) {
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const Say say = [&](const std::string& line) {
    if (!quiet) fmt::print(stderr, "{}\n", line);
  };
  EVK_TRY(const auto workshop, make_workshop(options));
  EVK_TRY(auto tasks, load_tasks(options, workshop->root, workshop->cache, say));
  EVK_TRY(auto seeds, load_seeds(options, workshop->root));
  EVK_TRY_STATUS(make_folder_of(options.store));
  EVK_TRY(const auto store, Store::open(options.store));
  const bool continued = !store->is_new();
  say(fmt::format("{} {} tasks, {} sweeps, generator {}, device {} (simulated), store {}",
                  continued ? "Continuing" : "Running", tasks.size(), options.sweeps, options.generator,
                  options.device, options.store));
  EVK_TRY(const auto campaign, Campaign::open(campaign_config(options), std::move(tasks), std::move(seeds),
                                              workshop->parts(), *store));

  Progress progress(quiet, terminal, [&](const Attempt& attempt) {
    if (options.out.empty()) return;
    if (const auto saved = save_kernel(options.out, attempt.task.text, attempt.candidate.files); !saved)
      say("warning: " + saved.error().text());
  });
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  EVK_TRY_STATUS(campaign->run(progress, stop_asked));
  if (stop_asked) say("Stopped; the same command continues.");

  EVK_TRY(const auto saved, save_best(*store, options.out));
  EVK_TRY(const auto report, make_report(*store));
  if (json)
    print_json(to_json(report, saved));
  else
    fmt::print("\n{}", to_text(report, saved));
  return kExitDone;
}

int run(const RunCommand& command) {
  const auto options = effective_options(command);
  if (!options) {
    complain(options.error());
    return kExitUsage;
  }
  const auto code = run_campaign(*options, command.json, command.quiet);
  return code ? *code : complain(code.error());
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "run",
      "A campaign: every task gets one attempt per sweep, drafting until a kernel passes, then refining it.\n"
      "The same command continues an interrupted campaign.");
  auto state = std::make_shared<RunCommand>();
  state->values.resize(run_options().size());
  const RunOptions defaults;
  for (std::size_t i = 0; i < run_options().size(); ++i) {
    const Option& option = run_options()[i];
    const std::string shown = option.show(defaults);
    const std::string help = fmt::format("{} [{}; {}{}]", option.help, option.key, option.variable,
                                         shown.empty() ? "" : "; default " + shown);
    state->given.push_back(command->add_option(option.flag, state->values[i], help));
  }
  command->add_option("--config", state->config,
                      "TOML file with the keys above; flags and variables beat it");
  command->add_flag("--json", state->json, "One JSON object instead of the table");
  command->add_flag("--quiet", state->quiet, "No progress on stderr");
  command->callback([state, &exit_code] { exit_code = run(*state); });
}

}  // namespace evk
