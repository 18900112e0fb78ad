#include "core/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

namespace evk {
namespace {

using nlohmann::json;

const std::vector<Finding> kNoFindings;

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

json to_json(const std::vector<Finding>& findings) {
  json list = json::array();
  for (const auto& f : findings) list.push_back(evk::to_json(f));
  return list;
}

json to_json(const ErrorStats& s) {
  return {{"case", s.case_id},
          {"hidden", s.hidden},
          {"output", s.output},
          {"elements", s.elements},
          {"mismatched", s.mismatched},
          {"abs_max", s.abs_max},
          {"rel_max", s.rel_max},
          {"over_tolerance_max", s.over_tolerance_max},
          {"centred_rel", s.centred_rel},
          {"nan", s.nan_count},
          {"inf", s.inf_count},
          {"unwritten", s.unwritten},
          {"first", s.first},
          {"region_low", s.region_low},
          {"region_high", s.region_high}};
}

// Numbers that JSON cannot hold (infinite errors) are stored as null by the library; they read back as
// infinity.
double number(const json& j, const char* key) {
  const json& v = j.at(key);
  return v.is_null() ? HUGE_VAL : v.get<double>();
}

Finding finding_from(const json& j) {
  Finding f;
  f.code = j.at("code").get<std::string>();
  f.message = j.at("message").get<std::string>();
  f.remedy = j.value("remedy", "");
  f.file = j.value("file", "");
  f.line = j.value("line", 0);
  f.other_file = j.value("other_file", "");
  f.other_line = j.value("other_line", 0);
  f.count = j.value("count", std::uint64_t{1});
  f.note = j.value("note", false);
  return f;
}

std::vector<Finding> findings_from(const json& j) {
  std::vector<Finding> list;
  for (const auto& f : j) list.push_back(finding_from(f));
  return list;
}

ErrorStats stats_from(const json& j) {
  ErrorStats s;
  s.case_id = j.at("case").get<std::string>();
  s.hidden = j.at("hidden").get<bool>();
  s.output = j.at("output").get<std::string>();
  s.elements = j.at("elements").get<std::uint64_t>();
  s.mismatched = j.at("mismatched").get<std::uint64_t>();
  s.abs_max = number(j, "abs_max");
  s.rel_max = number(j, "rel_max");
  s.over_tolerance_max = number(j, "over_tolerance_max");
  s.centred_rel = number(j, "centred_rel");
  s.nan_count = j.at("nan").get<std::uint64_t>();
  s.inf_count = j.at("inf").get<std::uint64_t>();
  s.unwritten = j.at("unwritten").get<std::uint64_t>();
  s.first = j.at("first").get<std::vector<std::int64_t>>();
  s.region_low = j.at("region_low").get<std::vector<std::int64_t>>();
  s.region_high = j.at("region_high").get<std::vector<std::int64_t>>();
  return s;
}

std::vector<ErrorStats> stats_list_from(const json& j) {
  std::vector<ErrorStats> list;
  for (const auto& s : j) list.push_back(stats_from(s));
  return list;
}

json to_json(const std::vector<ErrorStats>& stats) {
  json list = json::array();
  for (const auto& s : stats) list.push_back(to_json(s));
  return list;
}

json to_json(const Profile& p) {
  return {{"metric", p.metric}, {"bottleneck", p.bottleneck}, {"hot_lines", p.hot_lines}};
}

Profile profile_from(const json& j) {
  Profile p;
  p.metric = j.at("metric").get<std::map<std::string, double>>();
  p.bottleneck = j.at("bottleneck").get<std::string>();
  p.hot_lines = j.at("hot_lines").get<std::vector<std::string>>();
  return p;
}

Outcome outcome_from(const json& j) {
  const auto kind = j.at("kind").get<std::string>();
  if (kind == "rejected") return Rejected{findings_from(j.at("findings"))};
  if (kind == "unbuilt") return Unbuilt{findings_from(j.at("findings")), j.at("log").get<std::string>()};
  if (kind == "stopped") return Stopped{j.at("limit").get<std::string>(), findings_from(j.at("findings"))};
  if (kind == "faulted") return Faulted{findings_from(j.at("findings"))};
  if (kind == "mismatched")
    return Mismatched{stats_list_from(j.at("stats")), findings_from(j.at("findings"))};
  if (kind == "unsteady") return Unsteady{number(j, "fastest_ns"), number(j, "slowest_ns")};
  if (kind == "measured")
    return Measured{number(j, "latency_ns"), j.at("simulated").get<bool>(), profile_from(j.at("profile"))};
  throw std::invalid_argument("unknown outcome kind '" + kind + "'");
}

json to_json(const Outcome& outcome) {
  return std::visit(
      Overloaded{
          [](const Rejected& o) -> json {
            return {{"kind", "rejected"}, {"findings", to_json(o.findings)}};
          },
          [](const Unbuilt& o) -> json {
            return {{"kind", "unbuilt"}, {"findings", to_json(o.findings)}, {"log", o.log}};
          },
          [](const Stopped& o) -> json {
            return {{"kind", "stopped"}, {"limit", o.limit}, {"findings", to_json(o.findings)}};
          },
          [](const Faulted& o) -> json {
            return {{"kind", "faulted"}, {"findings", to_json(o.findings)}};
          },
          [](const Mismatched& o) -> json {
            return {{"kind", "mismatched"}, {"stats", to_json(o.stats)}, {"findings", to_json(o.findings)}};
          },
          [](const Unsteady& o) -> json {
            return {{"kind", "unsteady"}, {"fastest_ns", o.fastest_ns}, {"slowest_ns", o.slowest_ns}};
          },
          [](const Measured& o) -> json {
            return {{"kind", "measured"},
                    {"latency_ns", o.latency_ns},
                    {"simulated", o.simulated},
                    {"profile", to_json(o.profile)}};
          }},
      outcome);
}

std::string place(const std::string& file, int line) {
  return file.empty() ? "" : fmt::format("{}:{}: ", file, line);
}

std::string line_of(const Finding& f) {
  std::string text = place(f.file, f.line) + fmt::format("[{}] {}", f.code, f.message);
  if (f.count > 1) text += fmt::format(" ({} times)", f.count);
  if (!f.other_file.empty()) text += fmt::format(" (other access at {}:{})", f.other_file, f.other_line);
  if (!f.remedy.empty()) text += "\n  remedy: " + f.remedy;
  return text + "\n";
}

std::string line_of(const ErrorStats& s) {
  // A hidden case is never described beyond its being wrong: feedback must not become an oracle for it.
  if (s.hidden)
    return fmt::format("hidden case: output {} has {} wrong elements of {}\n", s.output, s.mismatched,
                       s.elements);
  std::string text = fmt::format(
      "case {}: output {}: {} of {} elements wrong ({:.2f} %), max abs error {:.3g}, max rel error {:.3g}, "
      "{:.3g} times the bound, {} NaN, {} Inf, {} never written",
      s.case_id, s.output, s.mismatched, s.elements,
      100.0 * static_cast<double>(s.mismatched) / static_cast<double>(s.elements ? s.elements : 1), s.abs_max,
      s.rel_max, s.over_tolerance_max, s.nan_count, s.inf_count, s.unwritten);
  if (!s.first.empty())
    text += fmt::format("; first at [{}], all within [{}]..[{}]", fmt::join(s.first, ","),
                        fmt::join(s.region_low, ","), fmt::join(s.region_high, ","));
  return text + "\n";
}

}  // namespace

bool is_feasible(const Verdict& v) {
  return std::holds_alternative<Unsteady>(v.outcome) || std::holds_alternative<Measured>(v.outcome);
}

bool is_compiled(const Verdict& v) {
  return !std::holds_alternative<Rejected>(v.outcome) && !std::holds_alternative<Unbuilt>(v.outcome);
}

std::optional<double> latency_ns(const Verdict& v) {
  const auto* measured = std::get_if<Measured>(&v.outcome);
  return measured ? std::optional(measured->latency_ns) : std::nullopt;
}

std::string gate_of(const Verdict& v) {
  return std::visit(
      Overloaded{[](const Rejected&) { return "screen"; }, [](const Unbuilt&) { return "compile"; },
                 [](const Stopped&) { return "run"; }, [](const Faulted&) { return "run"; },
                 [](const Mismatched&) { return "compare"; }, [](const Unsteady&) { return "passed"; },
                 [](const Measured&) { return "passed"; }},
      v.outcome);
}

const std::vector<Finding>& findings_of(const Verdict& v) {
  return std::visit(
      [](const auto& o) -> const std::vector<Finding>& {
        if constexpr (requires { o.findings; })
          return o.findings;
        else
          return kNoFindings;
      },
      v.outcome);
}

std::string code_of(const Verdict& v) {
  if (is_feasible(v)) return "passed";
  const auto& findings = findings_of(v);
  return findings.empty() ? gate_of(v) + ".failed" : findings.front().code;
}

std::string feedback_of(const Verdict& v, std::size_t chars_max) {
  std::string text;
  if (const auto* m = std::get_if<Measured>(&v.outcome))
    text = fmt::format("passed; {} latency {:.0f} ns; bottleneck {}\n",
                       m->simulated ? "simulated" : "measured", m->latency_ns, m->profile.bottleneck);
  else
    text = fmt::format("failed at gate {}\n", gate_of(v));
  for (const auto& f : findings_of(v)) text += line_of(f);
  if (const auto* mismatched = std::get_if<Mismatched>(&v.outcome))
    for (const auto& s : mismatched->stats) text += line_of(s);
  if (const auto* unbuilt = std::get_if<Unbuilt>(&v.outcome); unbuilt && unbuilt->findings.empty())
    text += unbuilt->log;
  if (const auto* stopped = std::get_if<Stopped>(&v.outcome))
    text += "limit reached: " + stopped->limit + "\n";
  for (const auto& n : v.notes) text += "note: " + line_of(n);
  constexpr std::string_view kCut = "\n[cut]";
  if (text.size() > chars_max)
    text = text.substr(0, chars_max - std::min(chars_max, kCut.size())) + std::string(kCut);
  return text;
}

json to_json(const Finding& f) {
  json j = {{"code", f.code}, {"message", f.message}};
  if (!f.remedy.empty()) j["remedy"] = f.remedy;
  if (!f.file.empty()) j["file"] = f.file, j["line"] = f.line;
  if (!f.other_file.empty()) j["other_file"] = f.other_file, j["other_line"] = f.other_line;
  if (f.count != 1) j["count"] = f.count;
  if (f.note) j["note"] = true;
  return j;
}

json to_json(const Verdict& v) {
  json j = {{"outcome", to_json(v.outcome)},
            {"notes", to_json(v.notes)},
            {"errors", to_json(v.errors)},
            {"harness", v.harness},
            {"checks", v.checks}};
  j["paper_pass"] = v.paper_pass ? json(*v.paper_pass) : json(nullptr);
  return j;
}

Result<Verdict> verdict_from(const json& j) {
  try {
    Verdict v;
    v.outcome = outcome_from(j.at("outcome"));
    v.notes = findings_from(j.at("notes"));
    v.errors = stats_list_from(j.at("errors"));
    v.harness = j.at("harness").get<std::string>();
    if (j.contains("checks")) v.checks = j.at("checks").get<std::vector<std::string>>();
    if (!j.at("paper_pass").is_null()) v.paper_pass = j.at("paper_pass").get<bool>();
    return v;
  } catch (const std::exception& e) {
    return failure(fmt::format("stored verdict is damaged: {}", e.what()));
  }
}

}  // namespace evk
