#include "backend/diagnostics.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <sstream>

namespace evk {
namespace {

constexpr std::size_t kMessageMax = 400;

struct Place {
  std::string file;
  int line = 0;
};

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  if (from.empty()) return text;
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// "path:12:5: rest" or "path:12: rest" at the beginning of a line.
std::optional<Place> place_at_start(std::string_view line, std::string_view& rest) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::size_t at = colon + 1;
  int number = 0;
  while (at < line.size() && std::isdigit(static_cast<unsigned char>(line[at])) != 0 && number < 10'000'000)
    number = number * 10 + (line[at++] - '0');
  if (at == colon + 1 || at >= line.size()) return std::nullopt;
  if (line[at] == ':') {  // a column
    std::size_t column = at + 1;
    while (column < line.size() && std::isdigit(static_cast<unsigned char>(line[column])) != 0) ++column;
    if (column > at + 1 && column < line.size() && (line[column] == ':' || line[column] == ',')) at = column;
  }
  rest = line.substr(at + 1);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return Place{std::string(line.substr(0, colon)), number};
}

bool in_candidate(const Place& place, const DiagnosticPaths& paths) {
  return place.file.starts_with(paths.source_dir);
}

std::string trimmed_message(std::string text) {
  if (text.size() > kMessageMax) {
    text.resize(kMessageMax);
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
    if (!text.empty() && (static_cast<unsigned char>(text.back()) & 0x80) != 0) text.pop_back();
    text += "...";
  }
  return text;
}

class Parser {
 public:
  Parser(const DiagnosticPaths& paths, std::size_t findings_max)
      : paths_(paths), findings_max_(findings_max) {}

  std::vector<Finding> run(std::string_view text) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line) && found_.size() < findings_max_;) take(line);
    return std::move(found_);
  }

 private:
  void take(const std::string& line) {
    if (const std::size_t symbol = line.find("undefined symbol"); symbol != std::string::npos)
      return add("compile.link_error", {}, line.substr(symbol), "define it, or correct its name");
    if (const std::size_t symbol = line.find("duplicate symbol"); symbol != std::string::npos)
      return add("compile.link_error", {}, line.substr(symbol), "define it once");
    note_include_chain(line);
    std::string_view rest;
    const std::optional<Place> place = place_at_start(line, rest);
    if (!place) return;
    if (in_candidate(*place, paths_))
      last_own_ = *place;  // "required from here" and the like stand before the error
    for (const std::string_view kind : {"error: ", "fatal error: "}) {
      if (!rest.starts_with(kind)) continue;
      const bool own = in_candidate(*place, paths_);
      add("compile.error", own ? *place : last_own_, std::string(rest.substr(kind.size())), "");
      if (!own) last_own_ = {};
      return;
    }
  }

  // "In file included from /in/a.cpp:3:" leads to errors of the header that it names.
  void note_include_chain(const std::string& line) {
    const std::size_t from = line.find("from ");
    if (from == std::string::npos) return;
    std::string_view rest;
    const auto place = place_at_start(std::string_view(line).substr(from + 5), rest);
    if (place && in_candidate(*place, paths_)) last_own_ = *place;
  }

  void add(const char* code, const Place& place, std::string message, const char* remedy) {
    Finding finding;
    finding.code = code;
    finding.message = trimmed_message(scrubbed(message, paths_));
    finding.remedy = remedy;
    if (!place.file.empty()) {
      finding.file = place.file.substr(paths_.source_dir.size());
      finding.line = place.line;
    }
    found_.push_back(std::move(finding));
  }

  const DiagnosticPaths& paths_;
  const std::size_t findings_max_;
  std::vector<Finding> found_;
  Place last_own_;
};

}  // namespace

std::vector<Finding> parse_diagnostics(std::string_view text, const DiagnosticPaths& paths,
                                       std::size_t findings_max) {
  return Parser(paths, findings_max).run(text);
}

std::string scrubbed(std::string_view text, const DiagnosticPaths& paths, std::size_t bytes_max) {
  std::string out(text.substr(0, bytes_max));
  out = replace_all(std::move(out), paths.source_dir, "");
  if (!paths.include_dir.empty()) out = replace_all(std::move(out), paths.include_dir + "/", "");
  std::erase_if(out, [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
  });
  return out;
}

}  // namespace evk
