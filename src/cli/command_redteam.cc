// evokernel redteam: every known trick through the gates.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/make_parts.h"
#include "cli/resources.h"
#include "verify/red_team.h"

namespace evk {
namespace {

struct Counts {
  int caught = 0, missed = 0, false_alarms = 0, passed = 0;

  void add(RedTeamEnd end) {
    switch (end) {
      case RedTeamEnd::kCaught:
        ++caught;
        return;
      case RedTeamEnd::kOtherCode:
        ++caught;
        return;  // refused, though for another reason than expected
      case RedTeamEnd::kMissed:
        ++missed;
        return;
      case RedTeamEnd::kFalseAlarm:
        ++false_alarms;
        return;
      case RedTeamEnd::kPassed:
        ++passed;
        return;
    }
  }
};

// By the gate that should decide.
using Matrix = std::map<std::string, Counts>;

void print_matrix(const Matrix& matrix) {
  fmt::print("\n{:<10} {:>7} {:>7} {:>12} {:>7}\n", "gate", "caught", "missed", "false alarm", "passed");
  for (const auto& [gate, counts] : matrix)
    fmt::print("{:<10} {:>7} {:>7} {:>12} {:>7}\n", gate == "passed" ? "(honest)" : gate, counts.caught,
               counts.missed, counts.false_alarms, counts.passed);
}

nlohmann::json json_of(const Matrix& matrix) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [gate, counts] : matrix)
    out[gate] = {{"caught", counts.caught},
                 {"missed", counts.missed},
                 {"false_alarms", counts.false_alarms},
                 {"passed", counts.passed}};
  return out;
}

std::string word_of(RedTeamEnd end) {
  switch (end) {
    case RedTeamEnd::kCaught:
      return "caught";
    case RedTeamEnd::kMissed:
      return "MISSED";
    case RedTeamEnd::kFalseAlarm:
      return "FALSE ALARM";
    case RedTeamEnd::kPassed:
      return "passed";
    case RedTeamEnd::kOtherCode:
      return "caught (other reason)";
  }
  return "";
}

Result<int> red_team(const RunOptions& options, bool json) {
  EVK_TRY(const auto root, resource_root());
  const std::string cache = options.cache.empty() ? default_cache_folder() : options.cache;
  EVK_TRY(const auto cases, read_red_team(root + "/tests/redteam"));
  EVK_TRY(const auto verifier, make_verifier(options, root, cache, red_team_reader()));
  Counts counts;
  Matrix matrix;
  nlohmann::json list = nlohmann::json::array();
  for (const auto& one : cases) {
    EVK_TRY(const RedTeamResult result, run_red_team_case(*verifier, one));
    counts.add(result.end);
    matrix[result.expected_gate].add(result.end);
    list.push_back({{"name", result.name},
                    {"expected_gate", result.expected_gate},
                    {"gate", result.gate},
                    {"code", result.code},
                    {"message", result.message},
                    {"end", word_of(result.end)}});
    if (!json)
      fmt::print("{:<24} {:<22} gate {:<8} {:<32} {}\n", result.name, word_of(result.end), result.gate,
                 result.code, one.why);
  }
  if (json) {
    print_json({{"schema", 1},
                {"caught", counts.caught},
                {"missed", counts.missed},
                {"false_alarms", counts.false_alarms},
                {"honest_passed", counts.passed},
                {"matrix", json_of(matrix)},
                {"cases", list}});
  } else {
    print_matrix(matrix);
    fmt::print("\n{} tricks caught, {} missed; {} honest kernels passed, {} false alarms.\n", counts.caught,
               counts.missed, counts.passed, counts.false_alarms);
  }
  return counts.missed + counts.false_alarms == 0 ? kExitDone : kExitFinding;
}

}  // namespace

void add_redteam(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("redteam",
                                         "Every known trick, and honest kernels that look like one, through "
                                         "the gates. Exit code 1: a miss or a false alarm");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "One JSON object instead of text");
  command->callback([json, &exit_code] {
    const auto code = red_team({}, *json);
    exit_code = code ? *code : complain(code.error());
  });
}

}  // namespace evk
