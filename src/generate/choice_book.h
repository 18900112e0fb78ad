// The decisions taken while one kernel is printed: each construct is decided when the printer first asks for
// it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "generate/constructs.h"

namespace evk {

class ChoiceBook {
 public:
  // `choose` names a form of the construct; it is asked once per construct.
  explicit ChoiceBook(std::function<std::string(const Construct&)> choose) : choose_(std::move(choose)) {}
  // REQUIRES: the construct exists, and `choose` answers one of its forms.
  const std::string& form(std::string_view construct);
  bool is(std::string_view construct, std::string_view form_name) { return form(construct) == form_name; }
  // All decisions so far, sorted by construct.
  std::vector<Choice> taken() const;

 private:
  std::function<std::string(const Construct&)> choose_;
  std::map<std::string, std::string, std::less<>> taken_;
};

// A book that answers from `choices`, and with the first form of a construct that they do not name.
ChoiceBook book_of(const std::vector<Choice>& choices);

}  // namespace evk
