#include "cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace evk {
namespace {

template <typename T>
Status parse_number(const std::string& text, T low, T high, T& into) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < low || value > high)
    return failure(fmt::format("'{}' is not a number from {} to {}", text, low, high));
  into = value;
  return {};
}

Status parse_choice(const std::string& text, const std::vector<std::string>& known, std::string& into) {
  if (std::find(known.begin(), known.end(), text) == known.end())
    return failure(fmt::format("'{}' is none of {}", text, fmt::join(known, ", ")));
  into = text;
  return {};
}

Option text_option(const char* flag, const char* key, const char* variable, const char* help,
                   std::string RunOptions::*field) {
  return {flag,
          key,
          variable,
          help,
          [field](RunOptions& o, const std::string& text) -> Status {
            o.*field = text;
            return {};
          },
          [field](const RunOptions& o) { return o.*field; }};
}

Option choice_option(const char* flag, const char* key, const char* variable, const char* help,
                     std::string RunOptions::*field, std::vector<std::string> known) {
  return {
      flag,
      key,
      variable,
      help,
      [field, known](RunOptions& o, const std::string& text) { return parse_choice(text, known, o.*field); },
      [field](const RunOptions& o) { return o.*field; }};
}

template <typename T>
Option number_option(const char* flag, const char* key, const char* variable, const char* help,
                     T RunOptions::*field, T low, T high) {
  return {flag,
          key,
          variable,
          help,
          [field, low, high](RunOptions& o, const std::string& text) {
            return parse_number(text, low, high, o.*field);
          },
          [field](const RunOptions& o) { return fmt::format("{}", o.*field); }};
}

std::vector<Option> make_table() {
  using R = RunOptions;
  return {
      text_option("--suite", "campaign.suite", "EVK_SUITE",
                  "Tasks: 'demo', a folder of KernelBench files, or one file.", &R::suite),
      text_option("--only", "campaign.only", "EVK_ONLY",
                  "Which of them: leading numbers and names, '19-32,36,softmax'.", &R::only),
      choice_option("--backend", "campaign.backend", "EVK_BACKEND", "Where kernels are built and run.",
                    &R::backend, {"ascendc_twin"}),
      text_option("--device", "campaign.device", "EVK_DEVICE", "Simulated device: a file of twin/devices.",
                  &R::device),
      choice_option("--generator", "generate.generator", "EVK_GENERATOR",
                    "Who writes kernels: 'composer' (built in), 'openai' (any OpenAI-compatible endpoint), "
                    "'anthropic', "
                    "'command' (any program), 'replay' (a cassette). Keys: variable EVOKERNEL_API_KEY.",
                    &R::generator, {"composer", "openai", "anthropic", "command", "replay"}),
      text_option("--base-url", "generate.base_url", "EVK_BASE_URL",
                  "Endpoint, as 'http://localhost:8000/v1'; by default the vendor's.", &R::base_url),
      text_option("--model", "generate.model", "EVK_MODEL", "Name of the endpoint's model.", &R::model),
      number_option<std::int64_t>("--answer-tokens", "generate.answer_tokens", "EVK_ANSWER_TOKENS",
                                  "Limit of an answer, in tokens; 0 sends none.", &R::answer_tokens, 0,
                                  10'000'000),
      number_option<double>("--temperature", "generate.temperature", "EVK_TEMPERATURE",
                            "Sampling temperature, 0 to 2; -1 sends none.", &R::temperature, -1, 2),
      choice_option("--stream", "generate.stream", "EVK_STREAM", "Ask for a streamed answer.", &R::stream,
                    {"yes", "no"}),
      text_option("--ca-file", "generate.ca_file", "EVK_CA_FILE",
                  "PEM file of the authorities that the endpoint's certificate is checked against.",
                  &R::ca_file),
      number_option<int>("--tries", "generate.tries", "EVK_TRIES", "Calls for one answer, 1 to 100.",
                         &R::tries, 1, 100),
      number_option<int>("--stall", "generate.stall_s", "EVK_STALL",
                         "Silence that ends a call, in s, 1 to 3600.", &R::stall_s, 1, 3600),
      number_option<int>("--pause", "generate.pause_ms", "EVK_PAUSE",
                         "Pause before the second call, in ms; doubles with each.", &R::pause_ms, 1, 60'000),
      number_option<int>("--calls-per-minute", "generate.calls_per_minute", "EVK_CALLS_PER_MINUTE",
                         "Calls of the endpoint at most; 0 is no limit.", &R::calls_per_minute, 0, 60'000),
      number_option<std::int64_t>("--budget-tokens", "generate.budget_tokens", "EVK_BUDGET_TOKENS",
                                  "Tokens, asked and answered, that this process may use; 0 is no limit.",
                                  &R::budget_tokens, 0, INT64_MAX / 2),
      number_option<double>("--budget-usd", "generate.budget_usd", "EVK_BUDGET_USD",
                            "Money that this process may spend, by --prices; 0 is no limit.", &R::budget_usd,
                            0, 1e9),
      number_option<std::int64_t>("--budget-minutes", "generate.budget_minutes", "EVK_BUDGET_MINUTES",
                                  "Minutes in which this process may ask; 0 is no limit.", &R::budget_minutes,
                                  0, 1'000'000),
      text_option("--prices", "generate.prices", "EVK_PRICES",
                  "TOML file: [\"MODEL\"] prompt = USD, answer = USD and, if it differs, cached = USD, per "
                  "million tokens.",
                  &R::prices),
      text_option("--command", "generate.command", "EVK_COMMAND",
                  "Program of --generator command: prompt on stdin, answer on stdout.", &R::command),
      text_option("--cassette", "generate.cassette", "EVK_CASSETTE",
                  "Recorded answers of --generator replay.", &R::cassette),
      text_option("--record", "generate.record", "EVK_RECORD", "File to record every answer to.", &R::record),
      choice_option("--tolerance", "verify.tolerance", "EVK_TOLERANCE",
                    "Comparison that decides: 'strict' or 'paper' (1e-2).", &R::tolerance,
                    {"strict", "paper"}),
      number_option<std::int64_t>("--sweeps", "campaign.sweeps", "EVK_SWEEPS",
                                  "Attempts that each task may use, 1 to 10000.", &R::sweeps, 1, 10000),
      number_option<std::uint64_t>("--seed", "campaign.seed", "EVK_SEED", "Names every random draw.",
                                   &R::seed, 0, UINT64_MAX),
      number_option<std::int64_t>("--slots", "retrieve.slots", "EVK_SLOTS",
                                  "N: items chosen by value per attempt, 0 to 50.", &R::slots, 0, 50),
      number_option<double>("--alpha", "learn.alpha", "EVK_ALPHA",
                            "Share of each reward that is learnt, 0 to 1.", &R::alpha, 0, 1),
      number_option<double>("--lambda", "retrieve.lambda", "EVK_LAMBDA",
                            "Pool size at first, in multiples of N, 1 to 1000.", &R::lambda_start, 1, 1000),
      number_option<double>("--lambda-max", "retrieve.lambda_max", "EVK_LAMBDA_MAX",
                            "Pool size at most, in multiples of N.", &R::lambda_max, 1, 1000),
      number_option<double>("--epsilon", "retrieve.epsilon", "EVK_EPSILON",
                            "Share of slots filled by chance in the first sweep, 0 to 1.", &R::epsilon_start,
                            0, 1),
      number_option<double>("--epsilon-end", "retrieve.epsilon_end", "EVK_EPSILON_END",
                            "The same in the last sweep.", &R::epsilon_end, 0, 1),
      choice_option("--policy", "retrieve.policy", "EVK_POLICY",
                    "Rank by 'value' (learnt), 'similarity' (ablation), 'ucb1', 'thompson', or 'memrl' "
                    "(z-scores of both).",
                    &R::policy, {"value", "similarity", "ucb1", "thompson", "memrl"}),
      choice_option("--memory", "retrieve.memory", "EVK_MEMORY",
                    "Memory 'shared' by all tasks, 'isolated' (ablation), or 'frozen' as the store began.",
                    &R::memory, {"shared", "isolated", "frozen"}),
      number_option<double>("--ucb-c", "retrieve.ucb_c", "EVK_UCB_C",
                            "Width of the bonus of --policy ucb1, 0 to 100.", &R::ucb_c, 0, 100),
      number_option<double>("--mix", "retrieve.mix", "EVK_MIX",
                            "Share of value against similarity in --policy memrl, 0 to 1.", &R::mix, 0, 1),
      number_option<double>("--mmr", "retrieve.mmr", "EVK_MMR",
                            "Share of an item's score against its likeness to those chosen, 0.01 to 1; 1 "
                            "ignores likeness.",
                            &R::mmr, 0.01, 1),
      number_option<double>("--shrinkage", "retrieve.shrinkage", "EVK_SHRINKAGE",
                            "Weight, in uses, of the mean of an item's kind and category in its value; 0 = "
                            "none.",
                            &R::shrinkage, 0, 1000),
      choice_option("--quotas", "retrieve.quotas", "EVK_QUOTAS",
                    "Slots by 'roles' and source tasks, or 'none': one pool, the paper's text.", &R::quotas,
                    {"roles", "none"}),
      choice_option("--lambda-rule", "retrieve.lambda_rule", "EVK_LAMBDA_RULE",
                    "Pool size: 'plateau' doubles when nothing new is solved, 'paper' jumps at sweep 24, "
                    "'const', 'linear'.",
                    &R::lambda_rule, {"plateau", "paper", "const", "linear"}),
      choice_option("--epsilon-rule", "retrieve.epsilon_rule", "EVK_EPSILON_RULE",
                    "Chance over the sweeps: 'linear', 'const', or 'inverse' (divided by the sweep).",
                    &R::epsilon_rule, {"linear", "const", "inverse"}),
      number_option<double>("--step-offset", "learn.step_offset", "EVK_STEP_OFFSET",
                            "Learn 1 / (n + this) of an item's n-th reward instead of alpha; 0 = alpha.",
                            &R::step_offset, 0, 1000),
      choice_option("--q0", "learn.q0", "EVK_Q0",
                    "Worth of a never-used item in drafting: 'task_mean', 'zero', 'global_mean', 'const'.",
                    &R::q0, {"task_mean", "zero", "global_mean", "const"}),
      number_option<double>("--q0-value", "learn.q0_value", "EVK_Q0_VALUE", "That of --q0 const, -3 to 3.",
                            &R::q0_value, -3, 3),
      choice_option("--start-q0", "learn.start_q0", "EVK_START_Q0",
                    "First value of a start point: its 'own' reward, or 'zero'.", &R::start_q0,
                    {"own", "zero"}),
      choice_option("--credit", "learn.credit", "EVK_CREDIT",
                    "What a use earns in drafting: the 'reward', or its 'advantage' over the task's mean.",
                    &R::credit, {"reward", "advantage"}),
      number_option<double>("--leave-one-out", "retrieve.leave_one_out", "EVK_LEAVE_ONE_OUT",
                            "Share of the attempts that withhold one chosen item to learn what it is worth, "
                            "0 to 0.5.",
                            &R::leave_one_out, 0, 0.5),
      choice_option("--duplicates", "verify.duplicates", "EVK_DUPLICATES",
                    "Verdict of an earlier attempt of the task is taken over for 'exact' the same code, for "
                    "'near' the same (comments and space apart), or 'never'.",
                    &R::duplicates, {"exact", "near", "never"}),
      number_option<int>("--jobs", "campaign.jobs", "EVK_JOBS",
                         "Attempts at once, 1 to 256. Changes the speed only.", &R::jobs, 1, 256),
      text_option("--store", "campaign.store", "EVK_STORE",
                  "The campaign's record; the same store continues it.", &R::store),
      text_option("--out", "campaign.out", "EVK_OUT", "Folder for the best kernel of each task.", &R::out),
      text_option("--cache", "campaign.cache", "EVK_CACHE", "Folder for task packs and compiled headers.",
                  &R::cache),
  };
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row.back();
}

Status set_by_key(RunOptions& options, const std::string& key, const std::string& value,
                  const std::string& path) {
  std::vector<std::string> known;
  for (const auto& option : run_options()) {
    if (key == option.key) {
      const Status set = option.set(options, value);
      return set ? set : failure(fmt::format("{}: {}: {}", path, key, set.error().message));
    }
    known.emplace_back(option.key);
  }
  return failure(
      fmt::format("{}: unknown key '{}'; did you mean '{}'?", path, key, nearest_name(key, known)));
}

Result<std::string> text_of(const toml::node& node) {
  if (const auto v = node.value_exact<std::string>()) return *v;
  if (const auto v = node.value_exact<std::int64_t>()) return fmt::format("{}", *v);
  if (const auto v = node.value_exact<double>()) return fmt::format("{}", *v);
  return failure("is neither a text nor a number");
}

}  // namespace

const std::vector<Option>& run_options() {
  static const std::vector<Option> table = make_table();
  return table;
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& known) {
  if (known.empty()) return "";
  return *std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
    return edit_distance(a, name) < edit_distance(b, name);
  });
}

Status apply_file(RunOptions& options, const std::string& text, const std::string& path) {
  try {
    const toml::table root = toml::parse(text);
    for (const auto& [section, node] : root) {
      const toml::table* table = node.as_table();
      if (!table)
        return failure(
            fmt::format("{}: '{}' stands outside a section; write it as [section]", path, section.str()));
      for (const auto& [name, value] : *table) {
        const std::string key = fmt::format("{}.{}", section.str(), name.str());
        const auto shown = text_of(value);
        if (!shown) return failure(fmt::format("{}: {} {}", path, key, shown.error().message));
        EVK_TRY_STATUS(set_by_key(options, key, *shown, path));
      }
    }
  } catch (const toml::parse_error& e) {
    return failure(fmt::format("{}:{}: {}", path, e.source().begin.line, std::string(e.description())));
  }
  return {};
}

Status apply_environment(RunOptions& options) {
  for (const auto& option : run_options())
    if (const char* value = std::getenv(option.variable)) {
      const Status set = option.set(options, value);
      if (!set) return failure(fmt::format("{}: {}", option.variable, set.error().message));
    }
  return {};
}

}  // namespace evk
