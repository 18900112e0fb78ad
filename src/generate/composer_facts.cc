#include "generate/composer_facts.h"

#include <algorithm>
#include <set>

#include "generate/constructs.h"

namespace evk {
namespace {

// Constructs that the findings' lines name, of the kind that can cause such a finding. A compiler reports
// each wrong line, so that each counts; of a run, only the first finding is sure not to follow from another.
std::set<std::string> suspects_of(const Candidate& candidate, const std::vector<Finding>& findings,
                                  bool compiled) {
  std::set<std::string> all;
  for (const auto& finding : findings) {
    const SourceFile* file = candidate.file(finding.file);
    if (!file || finding.note) continue;
    std::set<std::string> suspects;
    for (const auto& tag : tags_of_line(file->text, finding.line))
      if ((construct_named(tag)->kind == ConstructKind::kSpelling) != compiled) suspects.insert(tag);
    if (suspects.size() == 1) all.merge(suspects);
    if (compiled) break;
  }
  return all;
}

}  // namespace

std::vector<Fact> facts_of(const Task&, const Candidate& candidate, const Verdict& verdict) {
  std::vector<Fact> facts;
  const bool feasible = is_feasible(verdict), compiled = is_compiled(verdict);
  const auto suspects =
      feasible ? std::set<std::string>{} : suspects_of(candidate, findings_of(verdict), compiled);
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
