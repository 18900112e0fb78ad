// How the composer learns over sweeps, against a scripted verifier: a candidate is right if every choice is a
// right form. The script stands for compiler and twin; memory and retrieval are reduced to what the composer
// can notice of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "generate/composer.h"
#include "generate/composer_facts.h"
#include "generate/constructs.h"
#include "generate/reply_parser.h"
#include "generate/sample_tasks.h"

namespace evk {
namespace {

// Forms that a compiler, a race, a bound or a value refuses.
const std::set<Choice>& wrong_forms() {
  static const std::set<Choice> all = [] {
    std::set<Choice> found;
    for (const auto& [construct, right] :
         std::map<std::string, std::set<std::string>>{{"act.relu", {"Relu", "maxs"}},
                                                      {"act.leaky_relu", {"LeakyRelu", "two_sided"}},
                                                      {"div.by_scalar", {"reciprocal_muls", "duplicate_div"}},
                                                      {"act.softplus", {"split_at_zero", "log_of_exp"}}})
      for (const auto& form : construct_named(construct)->forms)
        if (!right.contains(std::string(form.name))) found.insert({construct, std::string(form.name)});
    for (const auto& construct : constructs()) {
      if (construct.kind == ConstructKind::kSchedule) continue;
      const bool listed = std::any_of(found.begin(), found.end(),
                                      [&](const Choice& c) { return c.construct == construct.name; });
      if (listed || construct.name == "act.softplus") continue;
      for (std::size_t i = 1; i < construct.forms.size(); ++i)
        found.insert({std::string(construct.name), std::string(construct.forms[i].name)});
    }
    return found;
  }();
  return all;
}

// Behaviours whose failure the twin sees at a line; the others give wrong values.
bool faults(const Choice& choice) {
  static const std::set<Choice> all = {
      {"copy.tail", "rounded_up"}, {"tail.length", "full_tile"},      {"queue.sync", "skipped"},
      {"queue.free", "kept"},      {"row.long", "whole_row"},         {"ub.budget", "inputs_only"},
      {"buffer.align", "exact"},   {"block.split", "ceil_unclamped"}, {"block.meet", "none"}};
  return all.contains(choice);
}

std::vector<Finding> findings_at(const Candidate& candidate, const std::string& construct,
                                 const std::string& code) {
  std::vector<Finding> findings;
  for (const auto& file : candidate.files) {
    int line = 0;
    std::istringstream stream(file.text);
    for (std::string text; std::getline(stream, text);) {
      ++line;
      const auto tags = tags_of_line(text, 1);
      if (std::find(tags.begin(), tags.end(), construct) == tags.end()) continue;
      Finding finding;
      finding.code = code;
      finding.file = file.path;
      finding.line = line;
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

Verdict scripted_verdict(const Candidate& candidate) {
  Unbuilt unbuilt;
  Faulted faulted;
  bool mismatch = false;
  for (const auto& choice : candidate.choices) {
    if (!wrong_forms().contains(choice)) continue;
    if (construct_named(choice.construct)->kind == ConstructKind::kSpelling) {
      for (auto& finding : findings_at(candidate, choice.construct, "compile.error"))
        unbuilt.findings.push_back(std::move(finding));
    } else if (faults(choice)) {
      for (auto& finding : findings_at(candidate, choice.construct, "twin.fault"))
        faulted.findings.push_back(std::move(finding));
    } else {
      mismatch = true;
    }
  }
  Verdict verdict;
  if (!unbuilt.findings.empty())
    verdict.outcome = unbuilt;
  else if (!faulted.findings.empty())
    verdict.outcome = faulted;
  else if (mismatch)
    verdict.outcome = Mismatched{};
  else
    verdict.outcome = Measured{};
  return verdict;
}

// --- memory
// ----------------------------------------------------------------------------------------------------------

std::vector<std::string> quoted_after(const std::string& text, const std::string& key) {
  std::vector<std::string> found;
  const auto at = text.find("\n" + key + " = [");
  if (at == std::string::npos) return found;
  const std::string list = text.substr(at, text.find('\n', at + 1) - at);
  for (std::size_t i = list.find('"'); i != std::string::npos; i = list.find('"', i + 1)) {
    const auto end = list.find('"', i + 1);
    found.push_back(list.substr(i + 1, end - i - 1));
    i = end;
  }
  return found;
}

std::vector<MemoryItem> seeds() {
  std::vector<MemoryItem> items;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(EVK_SOURCE_DIR "/knowledge/ascendc"))
    if (entry.path().extension() == ".md") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    MemoryItem item;
    item.kind = path.parent_path().filename() == "api" ? ItemKind::kApi : ItemKind::kPractice;
    item.name = path.stem();
    item.names = quoted_after(text.str(), "names");
    item.answers = quoted_after(text.str(), "answers");
    item.static_bundle = text.str().find("\nstatic = true\n") != std::string::npos;
    for (const auto* key : {"shows", "avoid"})
      for (const auto& word : quoted_after(text.str(), key))
        item.facts.push_back({{word.substr(0, word.find('=')), word.substr(word.find('=') + 1)},
                              std::string_view(key) == "shows"});
    items.push_back(std::move(item));
  }
  return items;
}

TEST(Knowledge, speaks_of_constructs_and_forms_that_exist) {
  for (const auto& item : seeds())
    for (const auto& fact : item.facts) {
      const Construct* construct = construct_named(fact.choice.construct);
      ASSERT_TRUE(construct) << item.name << ": " << fact.choice.construct;
      EXPECT_TRUE(has_form(*construct, fact.choice.form))
          << item.name << ": " << fact.choice.construct << "=" << fact.choice.form;
      EXPECT_TRUE(fact.works != wrong_forms().contains(fact.choice) || fact.choice.form == "log_of_exp")
          << item.name << ": " << fact.choice.form;
    }
}

std::set<std::string> words_of(const std::string& code) {
  std::set<std::string> words;
  std::string word;
  for (const char ch : code + " ") {
    if (std::isalnum(static_cast<unsigned char>(ch)) || ch == '_')
      word += ch;
    else if (!word.empty())
      words.insert(std::exchange(word, ""));
  }
  return words;
}

struct TaskState {
  std::optional<MemoryItem> last_failure;
  std::set<std::string> error_words;  // names on the lines that failed
  bool solved = false;
  bool compared = false;  // the last failure was a mismatch
};

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed)
      : seed_(seed), tasks_(sample::usual_tasks()), seeds_(seeds()), states_(tasks_.size()) {}

  // Tasks solved after each sweep.
  std::vector<int> run(int sweeps) {
    std::vector<int> solved;
    for (int sweep = 1; sweep <= sweeps; ++sweep) {
      std::vector<MemoryItem> made;
      for (std::size_t i = 0; i < tasks_.size(); ++i)
        if (!states_[i].solved) attempt(i, sweep, made);
      for (auto& item : made) memory_.push_back(std::move(item));
      solved.push_back(static_cast<int>(
          std::count_if(states_.begin(), states_.end(), [](const TaskState& s) { return s.solved; })));
    }
    return solved;
  }

 private:
  void show(Context& context, const MemoryItem& item) const {
    ContextItem shown;
    shown.item = std::make_shared<const MemoryItem>(item);
    context.items.push_back(std::move(shown));
  }

  Context context_for(std::size_t index, Random random) const {
    constexpr int kTraces = 3, kExperiences = 2, kExact = 6, kPitfalls = 2, kNear = 6;
    Context context;
    const TaskState& state = states_[index];
    int exact = 0, pitfalls = 0;
    for (const auto& item : seeds_) {
      const bool named = std::any_of(item.names.begin(), item.names.end(), [&](const std::string& name) {
        return state.error_words.contains(name);
      });
      const bool answers =
          state.compared &&
          std::find(item.answers.begin(), item.answers.end(), "compare.mismatch") != item.answers.end() &&
          random.coin(0.4);
      if (item.static_bundle || (item.kind == ItemKind::kApi && named && exact++ < kExact) ||
          (answers && pitfalls++ < kPitfalls))
        show(context, item);
    }
    for (int i = 0; i < kNear; ++i) show(context, seeds_[random.below(seeds_.size())]);
    std::vector<const MemoryItem*> traces, experiences;
    for (const auto& item : memory_) (item.kind == ItemKind::kTrace ? traces : experiences).push_back(&item);
    for (int i = 0; i < kTraces && !traces.empty(); ++i) show(context, *traces[random.below(traces.size())]);
    for (int i = 0; i < kExperiences && !experiences.empty(); ++i)
      show(context, *experiences[random.below(experiences.size())]);
    if (state.last_failure) show(context, *state.last_failure);
    return context;
  }

  void attempt(std::size_t index, int sweep, std::vector<MemoryItem>& made) {
    const Task& task = tasks_[index];
    const Context context = context_for(index, Random::of(seed_, sweep, task.name, "retrieve"));
    Composer composer;
    const auto answer =
        composer.generate({task, context, "", Random::of(seed_, sweep, task.name, "generate")});
    const auto parsed = parse_reply(answer->text, task, nullptr);
    ASSERT_TRUE(std::holds_alternative<Candidate>(parsed)) << std::get<Finding>(parsed).message;
    const Candidate& candidate = std::get<Candidate>(parsed);
    const Verdict verdict = scripted_verdict(candidate);
    MemoryItem item;
    item.task = task.id;
    item.feasible = is_feasible(verdict);
    item.kind = item.feasible ? ItemKind::kTrace : ItemKind::kExperience;
    item.gate = gate_of(verdict);
    item.facts = facts_of(task, candidate, verdict);
    made.push_back(item);
    remember(states_[index], item, candidate, verdict);
  }

  static void remember(TaskState& state, MemoryItem item, const Candidate& candidate,
                       const Verdict& verdict) {
    state.solved = item.feasible;
    state.compared = std::holds_alternative<Mismatched>(verdict.outcome);
    item.kind = ItemKind::kTrace;
    item.files = candidate.files;
    for (const auto& finding : findings_of(verdict)) {
      if (item.finding_file.empty()) {
        item.finding_file = finding.file;
        item.finding_line = finding.line;
      }
      std::istringstream stream(candidate.file(finding.file)->text);
      std::string text;
      for (int i = 0; i < finding.line; ++i) std::getline(stream, text);
      state.error_words.merge(words_of(text));
    }
    state.last_failure = std::move(item);
  }

  std::uint64_t seed_;
  std::vector<Task> tasks_;
  std::vector<MemoryItem> seeds_, memory_;
  std::vector<TaskState> states_;
};

TEST(ComposerOverSweeps, solves_few_tasks_at_first_and_nearly_all_by_its_memory) {
  double first = 0, last = 0;
  constexpr int kRuns = 5;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    const auto solved = Simulation(seed).run(15);
    std::string curve;
    for (const int n : solved) curve += " " + std::to_string(n);
    RecordProperty("seed" + std::to_string(seed), curve);
    std::printf("solved of %zu by sweep:%s\n", sample::usual_tasks().size(), curve.c_str());
    first += solved.front() / static_cast<double>(kRuns);
    last += solved.back() / static_cast<double>(kRuns);
  }
  EXPECT_LE(first, 0.3 * 24);
  EXPECT_GE(last, 20);
}

}  // namespace
}  // namespace evk
