// The constructs that a kernel's author decides about, and the forms that a newcomer knows for each.
//
// The table does not say which form is right: that is found by the verifier and remembered.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/candidate.h"

namespace evk {

enum class ConstructKind {
  kSpelling,   // how something is written: a wrong form does not compile
  kBehaviour,  // what the code does: a wrong form races, leaves its bounds or gives wrong values
  kSchedule,   // how fast the same result comes
};

struct Form {
  std::string_view name;
  double prior = 0;          // a newcomer's share of belief, before anything was read
  bool first_draft = false;  // of schedules: the careful form that a first draft takes
};

struct Construct {
  std::string_view name;
  ConstructKind kind = ConstructKind::kSpelling;
  std::vector<Form> forms;
};

// All constructs, sorted by name. Priors of one construct sum to 1.
const std::vector<Construct>& constructs();
// The construct named so, or null.
const Construct* construct_named(std::string_view name);
bool has_form(const Construct& construct, std::string_view form);

// Writes and reads "a=b; c=d". Reading skips what is not of that form.
std::string write_choices(const std::vector<Choice>& choices);
std::vector<Choice> read_choices(std::string_view text);
// The choices that a kernel states in its "// Constructs:" comment; empty if it has none.
std::vector<Choice> choices_in(const std::vector<SourceFile>& files);

// Constructs that the trailing comment of a generated line names: "...  // [copy.tail tail.length]".
std::vector<std::string> tags_of_line(std::string_view text, int line);

// The constructs of a line that can cause a finding of this code: spellings where nothing compiled, else
// behaviours, and of these the ones that the kind of finding is about (a race is a matter of handshakes,
// whatever line it shows at).
std::vector<std::string> suspects_of_line(std::string_view text, int line, std::string_view code,
                                          bool compiled);

}  // namespace evk
