#include "task/suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <optional>

namespace evk {
namespace {

namespace fs = std::filesystem;

std::string stem_of(const SuiteEntry& entry) { return fs::path(entry.file).stem().string(); }

// The digits that a text begins with, as a number.
std::optional<int> leading_number(const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() || text[0] == '-') return std::nullopt;
  return number;
}

bool natural_less(const SuiteEntry& a, const SuiteEntry& b) {
  const std::string left = stem_of(a), right = stem_of(b);
  const auto x = leading_number(left), y = leading_number(right);
  if (x && y && *x != *y) return *x < *y;
  if (x.has_value() != y.has_value()) return x.has_value();
  return left < right;
}

SuiteEntry entry_of(const fs::path& file, const fs::path& packs) {
  std::error_code error;
  const fs::path whole = fs::absolute(file, error).lexically_normal();
  SuiteEntry entry;
  entry.id.text = whole.parent_path().filename().string() + "/" + whole.stem().string();
  entry.file = whole.string();
  const fs::path pack = packs / whole.stem();
  if (!packs.empty() && fs::is_regular_file(pack / "task.json", error)) entry.shipped_pack = pack.string();
  return entry;
}

Result<std::vector<SuiteEntry>> entries_of_folder(const fs::path& folder, const fs::path& packs) {
  std::vector<SuiteEntry> entries;
  std::error_code error;
  for (const auto& each : fs::directory_iterator(folder, error)) {
    std::error_code ignored;
    const std::string name = each.path().filename().string();
    if (each.path().extension() == ".py" && name[0] != '_' && name[0] != '.' && each.is_regular_file(ignored))
      entries.push_back(entry_of(each.path(), packs));
  }
  if (error)
    return failure(
        fmt::format("cannot read folder {}: {}; check its permissions", folder.string(), error.message()),
        Retry::kAfterFix);
  if (entries.empty())
    return failure(fmt::format("folder {} holds no .py file; name a folder of task files", folder.string()),
                   Retry::kAfterFix);
  std::sort(entries.begin(), entries.end(), natural_less);
  return entries;
}

std::string own_suites(const fs::path& tasks) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& each : fs::directory_iterator(tasks, error))
    if (each.is_directory(error) && each.path().filename() != "packs")
      names.push_back(each.path().filename().string());
  std::sort(names.begin(), names.end());
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

// "Softmax_" and "softmax" are one name.
std::string folded(std::string name) {
  while (!name.empty() && name.back() == '_') name.pop_back();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

std::string without_number(const std::string& stem) {
  const auto end = stem.find_first_not_of("0123456789");
  return end != 0 && end != std::string::npos && stem[end] == '_' ? stem.substr(end + 1) : stem;
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string nearest(const std::vector<SuiteEntry>& entries, const std::string& wanted) {
  const auto distance = [&](const SuiteEntry& entry) {
    const std::string stem = folded(stem_of(entry));
    return std::min(edit_distance(stem, folded(wanted)), edit_distance(without_number(stem), folded(wanted)));
  };
  const auto best = std::min_element(entries.begin(), entries.end(),
                                     [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  return best == entries.end() ? "none" : stem_of(*best);
}

// Numbers from `first` to `last`, or a name.
struct Wanted {
  std::string text;
  std::optional<std::pair<int, int>> numbers;

  bool matches(const SuiteEntry& entry) const {
    const std::string stem = stem_of(entry);
    if (numbers) {
      const auto number = leading_number(stem);
      return number && *number >= numbers->first && *number <= numbers->second;
    }
    return entry.id.text == text || folded(stem) == folded(text) ||
           folded(without_number(stem)) == folded(text);
  }
};

bool digits(const std::string& text) {
  return !text.empty() && text.size() < 9 && text.find_first_not_of("0123456789") == std::string::npos;
}

Wanted wanted_of(const std::string& text) {
  Wanted wanted{text, std::nullopt};
  const auto dash = text.find('-');
  const std::string first = text.substr(0, dash),
                    last = dash == std::string::npos ? first : text.substr(dash + 1);
  if (digits(first) && digits(last)) wanted.numbers = {std::stoi(first), std::stoi(last)};
  return wanted;
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : list + ",") {
    if (c == ',') {
      if (!part.empty()) parts.push_back(part);
      part.clear();
    } else if (c != ' ') {
      part += c;
    }
  }
  return parts;
}

}  // namespace

Result<std::vector<SuiteEntry>> resolve_suite(const std::string& what, const std::string& root) {
  std::error_code error;
  const fs::path tasks = fs::path(root) / "tasks";
  if (fs::is_regular_file(what, error)) {
    if (fs::path(what).extension() != ".py")
      return failure(what + " is no .py file; name a KernelBench-form Python file", Retry::kAfterFix);
    return std::vector<SuiteEntry>{entry_of(what, {})};
  }
  if (fs::is_directory(what, error)) return entries_of_folder(what, {});
  const bool plain =
      !what.empty() && what.find('/') == std::string::npos && what[0] != '.' && what != "packs";
  if (plain && fs::is_directory(tasks / what, error))
    return entries_of_folder(tasks / what, tasks / "packs" / what);
  return failure(fmt::format("there is no file, folder or suite '{}'; name a .py file, a folder of them, or "
                             "one of our suites: {}",
                             what, own_suites(tasks)),
                 Retry::kAfterFix);
}

Result<std::vector<SuiteEntry>> select_tasks(const std::vector<SuiteEntry>& entries,
                                             const std::string& only) {
  const std::vector<std::string> parts = parts_of(only);
  if (parts.empty()) return entries;
  std::vector<Wanted> all;
  for (const std::string& part : parts) {
    all.push_back(wanted_of(part));
    const auto matches = [&](const SuiteEntry& entry) { return all.back().matches(entry); };
    if (std::none_of(entries.begin(), entries.end(), matches))
      return failure(fmt::format("no task matches '{}'; the nearest is {}", part, nearest(entries, part)),
                     Retry::kAfterFix);
  }
  std::vector<SuiteEntry> selected;
  for (const SuiteEntry& entry : entries)
    if (std::any_of(all.begin(), all.end(), [&](const Wanted& wanted) { return wanted.matches(entry); }))
      selected.push_back(entry);
  return selected;
}

}  // namespace evk
