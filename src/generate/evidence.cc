#include "generate/evidence.h"

#include <algorithm>

namespace evk {
namespace {

// How much one item's word counts.
double trust_in(const MemoryItem& item) {
  if (item.kind == ItemKind::kTrace && item.feasible) return 3;
  if (item.kind == ItemKind::kApi) return 1.5;
  return 1;
}

constexpr double kUseWhatWorks = 0.98;  // else a guess: an author does not always follow what was read
constexpr double kKeepUnblamed = 0.9;
constexpr double kChangesWithoutLine = 1.5;  // decisions that change, on average, where nobody is blamed
constexpr double kShownToFail = 0.03;        // factors on a newcomer's belief
constexpr double kOnlySuspect = 0.03, kOneOfSeveral = 0.35, kWithoutLine = 0.5;

std::size_t drawn(const std::vector<double>& weights, Random& random) {
  double total = 0;
  for (const double weight : weights) total += weight;
  double left = random.uniform() * total;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if ((left -= weights[i]) < 0) return i;
  return weights.size() - 1;
}

bool sorted_before(const Choice& a, const Choice& b) { return a < b; }

// An attempt that ended here had compiled.
bool had_compiled(const std::string& gate) {
  return gate == "run" || gate == "compare" || gate == "measure" || gate == "passed";
}

}  // namespace

std::vector<Choice> choices_of(const MemoryItem& item) {
  std::vector<Choice> found = choices_in(item.files);
  if (found.empty()) {
    constexpr std::string_view kMark = "constructs:";
    const auto at = item.text.find(kMark);
    if (at != std::string::npos)
      found = read_choices(std::string_view(item.text).substr(at + kMark.size(),
                                                              item.text.find('\n', at) - at - kMark.size()));
  }
  if (found.empty() && item.kind == ItemKind::kTrace)
    for (const auto& fact : item.facts) found.push_back(fact.choice);
  std::sort(found.begin(), found.end(), sorted_before);
  return found;
}

Evidence::Evidence(const Context& context, const TaskId& task) {
  for (const auto& shown : context.items)
    if (shown.item) read_facts(*shown.item);
  for (const auto& shown : context.items) {
    if (!shown.item || !shown.item->task || *shown.item->task != task) continue;
    if (shown.item->kind == ItemKind::kTrace || shown.item->kind == ItemKind::kExperience)
      read_attempt(*shown.item);
  }
}

void Evidence::read_facts(const MemoryItem& item) {
  // A failed trace lists what it was made of, as choices that did not work together; which of them is at
  // fault it does not say.
  const bool lists_only = item.kind == ItemKind::kTrace && !item.feasible;
  for (const auto& fact : item.facts) {
    const Construct* construct = lists_only ? nullptr : construct_named(fact.choice.construct);
    if (construct && has_form(*construct, fact.choice.form))
      (fact.works ? works_ : fails_)[fact.choice] += trust_in(item);
  }
}

void Evidence::read_attempt(const MemoryItem& item) {
  Tried tried;
  tried.choices = choices_of(item);
  tried.feasible = item.feasible;
  tried.gate = item.gate;
  if (!item.feasible)
    for (const auto& file : item.files)
      if (file.path == item.finding_file)
        tried.suspects = suspects_of_line(file.text, item.finding_line, item.code, had_compiled(item.gate));
  // Where several are suspected, those that the context shows at work are not.
  const auto cleared = [&](const std::string& name) {
    return std::any_of(tried.choices.begin(), tried.choices.end(),
                       [&](const Choice& c) { return c.construct == name && vouched(c); });
  };
  if (std::count_if(tried.suspects.begin(), tried.suspects.end(), cleared) < std::ssize(tried.suspects))
    std::erase_if(tried.suspects, cleared);
  for (const auto& choice : tried.choices) {
    const Construct* construct = construct_named(choice.construct);
    if (!construct) continue;
    const bool spelling = construct->kind == ConstructKind::kSpelling;
    const bool suspect =
        std::find(tried.suspects.begin(), tried.suspects.end(), choice.construct) != tried.suspects.end();
    if (spelling && had_compiled(item.gate)) works_[choice] += 2;
    if (item.feasible) continue;
    double factor = 1;
    if (suspect)
      factor = tried.suspects.size() == 1 ? kOnlySuspect : kOneOfSeveral;
    else if (tried.suspects.empty() && spelling != had_compiled(item.gate))
      factor = kWithoutLine;
    if (factor < 1) doubts_[choice] = (doubts_.contains(choice) ? doubts_[choice] : 1) * factor;
  }
  tried_.push_back(std::move(tried));
}

double Evidence::weight_of(const std::map<Choice, double>& weights, const Choice& choice) {
  const auto found = weights.find(choice);
  return found == weights.end() ? 0 : found->second;
}

const Tried* Evidence::last_failure() const {
  for (auto it = tried_.rbegin(); it != tried_.rend(); ++it)
    if (!it->feasible && !it->choices.empty()) return &*it;
  return nullptr;
}

bool Evidence::was_tried(const std::vector<Choice>& choices) const {
  return std::any_of(tried_.begin(), tried_.end(), [&](const Tried& t) { return t.choices == choices; });
}

double Evidence::guess_weight(const Construct& construct, const Form& form) const {
  const Choice choice{std::string(construct.name), std::string(form.name)};
  double weight = form.prior;
  if (failed(choice)) weight *= kShownToFail;
  const auto doubt = doubts_.find(choice);
  return doubt == doubts_.end() ? weight : weight * doubt->second;
}

// What the last failure did is mostly kept: the next try mends what is blamed, or a few things if nothing is.
double Evidence::keeps(const Tried& last, const Construct& construct) const {
  if (!last.suspects.empty())
    return std::find(last.suspects.begin(), last.suspects.end(), construct.name) == last.suspects.end()
               ? kKeepUnblamed
               : 0;
  const bool compiled = had_compiled(last.gate);
  const auto in_doubt = std::count_if(last.choices.begin(), last.choices.end(), [&](const Choice& choice) {
    const Construct* other = construct_named(choice.construct);
    return other && other->kind != ConstructKind::kSchedule &&
           (other->kind == ConstructKind::kSpelling) != compiled && !vouched(choice);
  });
  if ((construct.kind == ConstructKind::kSpelling) == compiled) return kKeepUnblamed;
  return std::max(0.3, 1 - kChangesWithoutLine / std::max(1.0, static_cast<double>(in_doubt)));
}

std::string Evidence::choose(const Construct& construct, Random random) const {
  std::vector<double> shown, guess;
  for (const auto& form : construct.forms) {
    const Choice choice{std::string(construct.name), std::string(form.name)};
    shown.push_back(std::max(0.0, weight_of(works_, choice) - weight_of(fails_, choice)));
    guess.push_back(guess_weight(construct, form));
  }
  const auto best = std::max_element(shown.begin(), shown.end());
  if (*best > 0 && random.coin(kUseWhatWorks))
    return std::string(construct.forms[static_cast<std::size_t>(best - shown.begin())].name);
  if (const Tried* last = last_failure())
    for (const auto& choice : last->choices)
      if (choice.construct == construct.name && has_form(construct, choice.form) && !failed(choice) &&
          random.coin(keeps(*last, construct)))
        return choice.form;
  return std::string(construct.forms[drawn(guess, random)].name);
}

std::string Evidence::choose_schedule(const Construct& construct, Random random) const {
  constexpr double kFollowOthers = 0.3;
  std::vector<double> shown;
  std::string careful;
  for (const auto& form : construct.forms) {
    const Choice choice{std::string(construct.name), std::string(form.name)};
    if (form.first_draft) careful = form.name;
    shown.push_back(form.first_draft ? 0
                                     : std::max(0.0, weight_of(works_, choice) - weight_of(fails_, choice)));
  }
  const bool any = std::any_of(shown.begin(), shown.end(), [](double w) { return w > 0; });
  if (!any || !random.coin(kFollowOthers)) return careful;
  return std::string(construct.forms[drawn(shown, random)].name);
}

}  // namespace evk
