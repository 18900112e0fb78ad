#include "core/candidate.h"

#include "base/sha256.h"

namespace evk {

const SourceFile* Candidate::file(std::string_view path) const {
  for (const auto& f : files)
    if (f.path == path) return &f;
  return nullptr;
}

std::string Candidate::hash() const {
  Sha256 sha;
  for (const auto& f : files) sha.field(f.path).field(f.text);
  return sha.hex();
}

}  // namespace evk
