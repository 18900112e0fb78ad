#include "generate/composer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "generate/evidence.h"
#include "generate/kernel_printer.h"

namespace evk {
namespace {

constexpr int kRedrawsMax = 24;

// A finished decision: every construct the kernel needs, and the kernel itself.
struct Composition {
  std::vector<SourceFile> files;
  std::vector<Choice> choices;
  std::string hypothesis;
};

std::string identifier(const std::string& name) {
  std::string made;
  for (const char ch : name)
    made += std::isalnum(static_cast<unsigned char>(ch))
                ? static_cast<char>(std::tolower(static_cast<unsigned char>(ch)))
                : '_';
  if (made.empty() || std::isdigit(static_cast<unsigned char>(made.front()))) made = "op_" + made;
  return made;
}

Random stream_of(std::uint64_t key, const Construct& construct) {
  return Random(mix(key, hash64(construct.name)));
}

class Composing {
 public:
  Composing(const GenerateRequest& request, const KernelPlan& plan)
      : request_(request),
        plan_(plan),
        evidence_(request.context, request.task.id),
        random_(request.random) {}

  Composition run() {
    const MemoryItem* start = request_.context.start();
    const std::vector<Choice> base = start ? choices_of(*start) : std::vector<Choice>{};
    Composition made;
    // An attempt that was made before teaches nothing new.
    for (int i = 0; i < kRedrawsMax; ++i) {
      made = base.empty() ? draft() : refine(*start, base);
      if (!evidence_.was_tried(made.choices) && made.choices != base) break;
    }
    return made;
  }

 private:
  Composition draft() {
    const std::uint64_t key = random_.next();
    Composition made = print([&](const Construct& construct) {
      const Random random = stream_of(key, construct);
      return construct.kind == ConstructKind::kSchedule ? evidence_.choose_schedule(construct, random)
                                                        : evidence_.choose(construct, random);
    });
    made.hypothesis = draft_hypothesis(made.choices);
    return made;
  }

  std::string draft_hypothesis(const std::vector<Choice>& choices) const {
    std::string changed;
    if (const Tried* last = evidence_.last_failure())
      for (const auto& choice : choices)
        if (std::find(last->choices.begin(), last->choices.end(), choice) == last->choices.end() &&
            changed.size() < 160)
          changed += (changed.empty() ? "" : ", ") + choice.construct + "=" + choice.form;
    if (!changed.empty()) return "the last attempt fails by a form that changes here: " + changed;
    const auto vouched =
        std::count_if(choices.begin(), choices.end(), [&](const Choice& c) { return evidence_.vouched(c); });
    return fmt::format("a careful first kernel; {} of its {} decisions are shown by the context", vouched,
                       choices.size());
  }

  Composition refine(const MemoryItem& start, const std::vector<Choice>& base) {
    const std::uint64_t key = random_.next();
    const std::vector<Choice> changes = changes_of(start, base);
    Composition made = print([&](const Construct& construct) {
      for (const auto* from : {&changes, &base})
        for (const auto& choice : *from)
          if (choice.construct == construct.name && has_form(construct, choice.form)) return choice.form;
      const Random random = stream_of(key, construct);
      return construct.kind == ConstructKind::kSchedule ? evidence_.choose_schedule(construct, random)
                                                        : evidence_.choose(construct, random);
    });
    made.hypothesis = fmt::format("{} relieves a kernel that is {}", write_choices(changes),
                                  start.bottleneck.empty() ? "not yet diagnosed" : start.bottleneck);
    return made;
  }

  // One or two decisions of `base` that change: drawn by what practices and other traces suggest, blindly
  // where they say nothing.
  std::vector<Choice> changes_of(const MemoryItem& start, const std::vector<Choice>& base) {
    constexpr double kSecondChange = 0.4;
    std::map<Choice, double> weights = suggestions(start, base);
    std::vector<Choice> changes;
    for (int i = 0; i < 2 && !weights.empty(); ++i) {
      if (i == 1 && !random_.coin(kSecondChange)) break;
      const Choice drawn = draw(weights);
      changes.push_back(drawn);
      std::erase_if(weights, [&](const auto& entry) { return entry.first.construct == drawn.construct; });
    }
    return changes;
  }

  std::map<Choice, double> suggestions(const MemoryItem& start, const std::vector<Choice>& base) const {
    constexpr double kBlind = 0.15, kPractice = 1, kPracticeForThis = 6, kTrace = 2, kRepeated = 0.2,
                     kFailed = 0.1;
    std::map<Choice, double> weights;
    const auto differs = [&](const Choice& choice) {
      return std::any_of(base.begin(), base.end(), [&](const Choice& b) {
        return b.construct == choice.construct && b.form != choice.form;
      });
    };
    for (const auto& construct : constructs()) {
      if (construct.kind != ConstructKind::kSchedule) continue;
      for (const auto& form : construct.forms)
        weights[{std::string(construct.name), std::string(form.name)}] = kBlind;
    }
    for (const auto& shown : request_.context.items) {
      const MemoryItem& item = *shown.item;
      const bool practice = item.kind == ItemKind::kPractice,
                 trace = item.kind == ItemKind::kTrace && item.feasible;
      if (shown.by == SelectedBy::kStart || (!practice && !trace)) continue;
      for (const auto& fact : item.facts) {
        const Construct* construct = construct_named(fact.choice.construct);
        if (!fact.works || !construct || (trace && construct->kind != ConstructKind::kSchedule)) continue;
        weights[fact.choice] +=
            practice ? (answers(item, start.bottleneck) ? kPracticeForThis : kPractice) : kTrace;
      }
    }
    std::erase_if(weights, [&](const auto& entry) { return !differs(entry.first); });
    for (auto& [choice, weight] : weights) {
      if (evidence_.failed(choice)) weight *= kFailed;
      for (const auto& tried : evidence_.tried())
        if (std::find(tried.choices.begin(), tried.choices.end(), choice) != tried.choices.end())
          weight *= kRepeated;
    }
    return weights;
  }

  static bool answers(const MemoryItem& item, const std::string& bottleneck) {
    return std::any_of(item.answers.begin(), item.answers.end(), [&](const std::string& label) {
      return !label.empty() && bottleneck.find(label) != std::string::npos;
    });
  }

  Choice draw(const std::map<Choice, double>& weights) {
    double total = 0;
    for (const auto& [choice, weight] : weights) total += weight;
    double left = random_.uniform() * total;
    for (const auto& [choice, weight] : weights)
      if ((left -= weight) < 0) return choice;
    return weights.rbegin()->first;
  }

  Composition print(const std::function<std::string(const Construct&)>& choose) const {
    ChoiceBook book(choose);
    Composition made;
    made.files = print_project(identifier(request_.task.name), plan_, book);
    made.choices = book.taken();
    return made;
  }

  const GenerateRequest& request_;
  const KernelPlan& plan_;
  Evidence evidence_;
  Random random_;
};

std::string answer_text(const Composition& made) {
  std::string text =
      fmt::format("Hypothesis: {}\nConstructs: {}\n", made.hypothesis, write_choices(made.choices));
  for (const auto& file : made.files)
    text += fmt::format("\n```cpp title=\"{}\"\n{}```\n", file.path, file.text);
  return text;
}

// A rough count, as chat services report it: four characters a token.
std::int64_t tokens_in(const std::string& text) { return static_cast<std::int64_t>(text.size() / 4); }

}  // namespace

Result<Answer> Composer::generate(const GenerateRequest& request) {
  Answer answer;
  answer.model = "composer";
  answer.prompt_tokens = tokens_in(request.prompt);
  const ShapeSet* small = request.task.shapes("small");
  if (!small) {
    answer.text = "No kernel: the task has no shape set \"small\".";
  } else if (const auto lowered = lower(small->graph);
             const auto* unsupported = std::get_if<Unsupported>(&lowered)) {
    answer.text = fmt::format("No kernel: the composer has no lowering for {}.", unsupported->why);
  } else {
    answer.text = answer_text(Composing(request, std::get<KernelPlan>(lowered)).run());
  }
  answer.answer_tokens = tokens_in(answer.text);
  return answer;
}

}  // namespace evk
