#include "campaign/known_verdicts.h"

#include <cctype>

namespace evk {
namespace {

// Reads C++ from the front; appends to `out` what is kept.
class PlainReader {
 public:
  explicit PlainReader(std::string_view source) : rest_(source) {}

  std::string read() {
    while (!rest_.empty()) step();
    while (!out_.empty() && std::isspace(static_cast<unsigned char>(out_.back()))) out_.pop_back();
    return std::move(out_);
  }

 private:
  void step() {
    const char c = rest_.front();
    if (rest_.substr(0, 2) == "//") {
      skip(rest_.find('\n'));
    } else if (rest_.substr(0, 2) == "/*") {
      const auto end = rest_.find("*/", 2);
      skip(end == std::string_view::npos ? end : end + 2);
      space(' ');
    } else if (c == '"' || c == '\'') {
      quoted(c);
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      rest_.remove_prefix(1);
      space(c == '\n' && in_directive_ ? '\n' : ' ');
      if (c == '\n') in_directive_ = false, line_is_empty_ = true;
    } else {
      if (c == '#' && line_is_empty_) begin_directive();
      line_is_empty_ = false;
      keep(1);
    }
  }
  void begin_directive() {
    if (!out_.empty() && out_.back() == ' ') out_.back() = '\n';
    in_directive_ = true;
  }
  void space(char c) {
    if (out_.empty() || out_.back() == '\n') return;
    if (out_.back() != ' ')
      out_ += c;
    else if (c == '\n')
      out_.back() = c;
  }
  void quoted(char quote) {
    std::size_t end = 1;
    while (end < rest_.size() && rest_[end] != quote) end += rest_[end] == '\\' ? 2 : 1;
    keep(end + 1);
    line_is_empty_ = false;
  }
  void keep(std::size_t n) {
    out_ += rest_.substr(0, n);
    skip(n);
  }
  void skip(std::size_t n) { rest_.remove_prefix(n < rest_.size() ? n : rest_.size()); }

  std::string_view rest_;
  std::string out_;
  bool in_directive_ = false, line_is_empty_ = true;
};

}  // namespace

std::string_view name_of(Duplicates duplicates) {
  switch (duplicates) {
    case Duplicates::kExact:
      return "exact";
    case Duplicates::kNear:
      return "near";
    case Duplicates::kNever:
      return "never";
  }
  return "exact";
}

std::string plain_source(std::string_view source) { return PlainReader(source).read(); }

std::string KnownVerdicts::key_of(const TaskId& task, const Candidate& candidate) const {
  if (duplicates_ == Duplicates::kExact) return task.text + '\n' + candidate.hash();
  Candidate plain;
  for (const auto& file : candidate.files) plain.files.push_back({file.path, plain_source(file.text)});
  return task.text + '\n' + plain.hash();
}

void KnownVerdicts::add(const Attempt& attempt) {
  if (duplicates_ == Duplicates::kNever || !attempt.verdict || attempt.candidate.files.empty()) return;
  verdicts_.emplace(key_of(attempt.task, attempt.candidate), *attempt.verdict);
}

std::optional<Verdict> KnownVerdicts::find(const TaskId& task, const Candidate& candidate) const {
  if (verdicts_.empty()) return std::nullopt;
  const auto found = verdicts_.find(key_of(task, candidate));
  return found == verdicts_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace evk
