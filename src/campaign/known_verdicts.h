// Verdicts of finished attempts by their code: a candidate that a task has had before need not be verified
// again. One writer or many readers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/attempt.h"

namespace evk {

enum class Duplicates {
  kExact,  // equal files; the verifier gives equal candidates equal verdicts, so this changes the speed alone
  kNear,   // equal but for comments and white space
  kNever,
};
std::string_view name_of(Duplicates duplicates);  // "exact", "near", "never"

class KnownVerdicts {
 public:
  explicit KnownVerdicts(Duplicates duplicates) : duplicates_(duplicates) {}
  // Keeps the verdict of an attempt that has code and a verdict; the first one of equal code stays.
  void add(const Attempt& attempt);
  std::optional<Verdict> find(const TaskId& task, const Candidate& candidate) const;
  std::size_t size() const { return verdicts_.size(); }

 private:
  std::string key_of(const TaskId& task, const Candidate& candidate) const;

  Duplicates duplicates_;
  std::map<std::string, Verdict> verdicts_;
};

// C++ without comments, and with each run of white space as one space; texts in quotes and the lines of the
// preprocessor stay apart.
std::string plain_source(std::string_view source);

}  // namespace evk
