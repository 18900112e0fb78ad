// Collects what is wrong, once per code and place, with a count.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "twin/engine/session.h"

namespace evk::twin {

class Findings {
 public:
  // Declares the text ("file:line") of a location id. Ids beyond a bound are ignored, long texts are cut.
  void declare(std::uint64_t loc, const std::string& text);
  // Counts a finding that is known already at this place; false if it is new. Spares the making of its text.
  bool again(std::string_view code, std::uint32_t loc, std::uint32_t other = 0);
  // Notes a finding at `loc` (and `other`, 0 = none) of `block`; a repeated one only counts.
  void add(const char* code, std::string message, const char* remedy, std::uint32_t loc, int block,
           std::uint32_t other = 0, bool note = false);
  // A finding whose text the program's side made.
  void add_text(Finding finding);
  // Faults first, then notes, each in order of appearance.
  std::vector<Finding> take();
  std::string text_of(std::uint32_t loc) const;
  // So many faults that more teach nothing: the program may as well end.
  bool full() const { return faults_ >= kFaultsMax; }

  static constexpr std::uint64_t kLocationsMax = 1 << 16;

 private:
  static constexpr std::size_t kFaultsMax = 200, kNotesMax = 200;
  bool has_room(bool note);
  static constexpr std::size_t kTextMax = 512;
  void place(std::uint32_t loc, std::string& file, int& line) const;
  std::vector<std::string> locations_;
  std::vector<Finding> list_;
  std::size_t faults_ = 0, notes_ = 0;
  std::map<std::uint64_t, std::size_t> known_;  // by hash of code and places
};

}  // namespace evk::twin
