#include "generate/choice_book.h"

#include "base/check.h"

namespace evk {

const std::string& ChoiceBook::form(std::string_view construct) {
  const auto known = taken_.find(construct);
  if (known != taken_.end()) return known->second;
  const Construct* found = construct_named(construct);
  EVK_CHECK(found, "no construct {}", construct);
  std::string chosen = choose_(*found);
  EVK_CHECK(has_form(*found, chosen), "{} has no form {}", construct, chosen);
  return taken_.emplace(std::string(construct), std::move(chosen)).first->second;
}

std::vector<Choice> ChoiceBook::taken() const {
  std::vector<Choice> all;
  for (const auto& [construct, form] : taken_) all.push_back({construct, form});
  return all;
}

ChoiceBook book_of(const std::vector<Choice>& choices) {
  return ChoiceBook([choices](const Construct& construct) {
    for (const auto& choice : choices)
      if (choice.construct == construct.name && has_form(construct, choice.form)) return choice.form;
    return std::string(construct.forms.front().name);
  });
}

}  // namespace evk
