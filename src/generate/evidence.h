// What a context shows about the forms of constructs, and the choice that follows from it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "core/context.h"
#include "core/ids.h"
#include "generate/constructs.h"

namespace evk {

// An attempt of the same task that a context shows.
struct Tried {
  std::vector<Choice> choices;  // sorted; empty if the item does not tell
  bool feasible = false;
  std::string gate;
  std::vector<std::string> suspects;  // constructs that the finding's line names
};

class Evidence {
 public:
  // Reads the facts of all items, and the attempts of `task` among them.
  Evidence(const Context& context, const TaskId& task);

  // A form: what is shown as working is nearly always taken, what is shown as failing nearly never; where
  // nothing is shown, a newcomer's guess. `random` is this construct's own stream.
  std::string choose(const Construct& construct, Random random) const;
  // A schedule for a first draft: the careful form, unless the context shows another one at work.
  std::string choose_schedule(const Construct& construct, Random random) const;

  const std::vector<Tried>& tried() const { return tried_; }
  // The last failed attempt of the task that tells its choices, or null.
  const Tried* last_failure() const;
  bool was_tried(const std::vector<Choice>& choices) const;
  // Whether anything in the context shows this form at work.
  bool vouched(const Choice& choice) const { return weight_of(works_, choice) > weight_of(fails_, choice); }
  bool failed(const Choice& choice) const { return weight_of(fails_, choice) > weight_of(works_, choice); }

 private:
  static double weight_of(const std::map<Choice, double>& weights, const Choice& choice);
  void read_facts(const MemoryItem& item);
  void read_attempt(const MemoryItem& item);
  double keeps(const Tried& last, const Construct& construct) const;
  double guess_weight(const Construct& construct, const Form& form) const;

  std::map<Choice, double> works_, fails_, doubts_;
  std::vector<Tried> tried_;
};

// The choices that an attempt's item tells: the kernel's own list, else a "constructs:" line of its text,
// else a trace's facts.
std::vector<Choice> choices_of(const MemoryItem& item);

}  // namespace evk
