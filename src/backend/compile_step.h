// Runs the compiler on a candidate's files, sandboxed, and keeps results by content.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "backend/ascendc_twin.h"
#include "backend/backend.h"
#include "twin/engine/session.h"

namespace evk {

class CompileStep {
 public:
  static Result<std::unique_ptr<CompileStep>> create(const AscendCTwinConfig& config,
                                                     twin::BuildRecipe recipe);

  // Objects of kernel and host code, linked to one shared object. Safe from several threads.
  Result<BuildOutcome> build(const Candidate& candidate);

  // Of headers, compiler and flags.
  const std::string& version() const { return version_; }

 private:
  enum class Part { kKernel, kHost };
  using Compiled = std::variant<std::string, BuildFailed>;  // bytes of an object, or why there is none

  CompileStep(const AscendCTwinConfig& config, twin::BuildRecipe recipe);
  Status prepare();
  Status precompile(Part part);
  Result<Compiled> compile(const Candidate& candidate, const SourceFile& source, Part part);
  Result<Compiled> link(const std::vector<std::string>& objects);
  Result<Compiled> invoke(const std::vector<std::string>& arguments, std::vector<struct PlacedFile> files,
                          const std::string& product, std::uint64_t scratch_bytes);
  std::vector<std::string> flags(Part part) const;
  std::string prelude(Part part) const;  // the header whose precompiled form is used; empty if there is none
  std::string key_of(const Candidate& candidate, const SourceFile& source, Part part) const;

  const AscendCTwinConfig config_;
  const twin::BuildRecipe recipe_;
  std::string version_, header_dir_;
  std::mutex mutex_;
  std::map<std::string, Compiled> compiled_;  // bounded: see remember()
  void remember(const std::string& key, const Compiled& compiled);
};

}  // namespace evk
