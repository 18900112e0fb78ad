// Collects what is wrong, once per code and place, with a count.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "twin/engine/session.h"

namespace evk::twin {

class Findings {
 public:
  // Declares the text ("file:line") of a location id. Ids beyond a bound are ignored.
  void declare(std::uint64_t loc, std::string text);
  // Notes a finding at `loc` (and `other`, 0 = none) of `block`; a repeated one only counts.
  void add(const char* code, std::string message, const char* remedy, std::uint32_t loc, int block,
           std::uint32_t other = 0, bool note = false);
  // A finding whose text the program's side made.
  void add_text(Finding finding);
  // Faults first, then notes, each in order of appearance.
  std::vector<Finding> take();
  std::string text_of(std::uint32_t loc) const;
  bool full() const { return list_.size() >= kMax; }

 private:
  static constexpr std::size_t kMax = 200;
  static constexpr std::uint64_t kLocationsMax = 1 << 16;
  void place(std::uint32_t loc, std::string& file, int& line) const;
  std::vector<std::string> locations_;
  std::vector<Finding> list_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, std::size_t> known_;
};

}  // namespace evk::twin
