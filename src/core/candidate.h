// What a generator wrote: a set of files, never one string.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace evk {

struct SourceFile {
  std::string path;  // relative, with '/': "op_kernel/softmax.cpp"
  std::string text;
  auto operator<=>(const SourceFile&) const = default;
};

// A decision the author of a kernel took: which *form* it used for a *construct* ("tail" -> "data_copy_pad").
struct Choice {
  std::string construct;
  std::string form;
  auto operator<=>(const Choice&) const = default;
};

struct Candidate {
  std::vector<SourceFile> files;  // sorted by path
  std::vector<Choice> choices;    // as the answer declared them; empty if it did not
  std::string hypothesis;         // one line: what the author expects of the change; may be empty

  const SourceFile* file(std::string_view path) const;
  // SHA-256 over paths and texts: equal sources have equal hashes.
  std::string hash() const;
};

}  // namespace evk
