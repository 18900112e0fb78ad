#include "twin/engine/findings.h"

#include <algorithm>
#include <cstdlib>

#include "base/random.h"

namespace evk::twin {
namespace {

std::uint64_t key_of(std::string_view code, std::uint32_t loc, std::uint32_t other) {
  return mix(hash64(code), std::uint64_t{loc} << 32 | other);
}

}  // namespace

void Findings::declare(std::uint64_t loc, const std::string& text) {
  if (loc == 0 || loc >= kLocationsMax) return;
  if (locations_.size() <= loc) locations_.resize(loc + 1);
  locations_[loc] = text.substr(0, kTextMax);  // a copy: a hostile text must not keep its allocation
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

bool Findings::has_room(bool note) {
  std::size_t& n = note ? notes_ : faults_;
  if (n >= (note ? kNotesMax : kFaultsMax)) return false;
  ++n;
  return true;
}

bool Findings::again(std::string_view code, std::uint32_t loc, std::uint32_t other) {
  const auto found = known_.find(key_of(code, loc, other));
  if (found == known_.end()) return false;
  ++list_[found->second].count;
  return true;
}

void Findings::add(const char* code, std::string message, const char* remedy, std::uint32_t loc, int block,
                   std::uint32_t other, bool note) {
  if (again(code, loc, other) || !has_room(note)) return;
  known_[key_of(code, loc, other)] = list_.size();
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
  if (has_room(finding.note)) list_.push_back(std::move(finding));
}

std::vector<Finding> Findings::take() {
  std::stable_partition(list_.begin(), list_.end(), [](const Finding& f) { return !f.note; });
  return std::move(list_);
}

}  // namespace evk::twin
