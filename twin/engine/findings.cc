#include "twin/engine/findings.h"

#include <algorithm>
#include <cstdlib>

namespace evk::twin {

void Findings::declare(std::uint64_t loc, std::string text) {
  if (loc == 0 || loc >= kLocationsMax) return;
  if (locations_.size() <= loc) locations_.resize(loc + 1);
  locations_[loc] = std::move(text);
}

std::string Findings::text_of(std::uint32_t loc) const {
  return loc < locations_.size() ? locations_[loc] : "";
}

void Findings::place(std::uint32_t loc, std::string& file, int& line) const {
  const std::string text = text_of(loc);
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return;
  file = text.substr(0, colon);
  line = std::atoi(text.c_str() + colon + 1);
}

void Findings::add(const char* code, std::string message, const char* remedy, std::uint32_t loc, int block,
                   std::uint32_t other, bool note) {
  const auto key = std::tuple(std::string(code), loc, other);
  if (const auto found = known_.find(key); found != known_.end()) {
    ++list_[found->second].count;
    return;
  }
  if (full()) return;
  known_[key] = list_.size();
  Finding f;
  f.code = code;
  f.message = std::move(message);
  f.remedy = remedy;
  f.block = block;
  f.note = note;
  place(loc, f.file, f.line);
  place(other, f.other_file, f.other_line);
  list_.push_back(std::move(f));
}

void Findings::add_text(Finding finding) {
  if (!full()) list_.push_back(std::move(finding));
}

std::vector<Finding> Findings::take() {
  std::stable_partition(list_.begin(), list_.end(), [](const Finding& f) { return !f.note; });
  return std::move(list_);
}

}  // namespace evk::twin
