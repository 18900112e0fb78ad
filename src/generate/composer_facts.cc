#include "generate/composer_facts.h"

#include <algorithm>
#include <set>

#include "generate/constructs.h"

namespace evk {
namespace {

// Choices that the findings' lines leave as the only suspect. A compiler reports each wrong line, so that
// each counts; of a run, only the first finding is sure not to follow from another.
std::set<std::string> blamed(const Candidate& candidate, const std::vector<Finding>& findings,
                             bool compiled) {
  std::set<std::string> all;
  for (const auto& finding : findings) {
    const SourceFile* file = candidate.file(finding.file);
    if (!file) continue;
    const auto suspects = suspects_of_line(file->text, finding.line, finding.code, compiled);
    if (suspects.size() == 1) all.insert(suspects.front());
    if (compiled) break;
  }
  return all;
}

// A copy that was cut short is noted, and shows as wrong values later.
std::vector<Finding> telling_notes(const Verdict& verdict) {
  std::vector<Finding> found;
  for (const auto& note : verdict.notes)
    if (note.code.find("count_rounded") != std::string::npos) found.push_back(note);
  return found;
}

std::set<std::string> blamed(const Candidate& candidate, const Verdict& verdict) {
  if (is_feasible(verdict)) return {};
  auto found = blamed(candidate, findings_of(verdict), is_compiled(verdict));
  if (found.empty()) found = blamed(candidate, telling_notes(verdict), true);
  return found;
}

}  // namespace

std::vector<Fact> facts_of(const Task&, const Candidate& candidate, const Verdict& verdict) {
  std::vector<Fact> facts;
  const bool feasible = is_feasible(verdict), compiled = is_compiled(verdict);
  const auto suspects = blamed(candidate, verdict);
  for (const auto& choice : candidate.choices) {
    const Construct* construct = construct_named(choice.construct);
    if (!construct || !has_form(*construct, choice.form)) continue;
    if (feasible || (compiled && construct->kind == ConstructKind::kSpelling))
      facts.push_back({choice, true});
    if (suspects.contains(choice.construct)) facts.push_back({choice, false});
  }
  std::sort(facts.begin(), facts.end());
  return facts;
}

}  // namespace evk
