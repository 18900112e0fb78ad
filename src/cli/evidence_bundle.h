// A bundle: a folder that holds a kernel with all that is needed to verify it again, and what was found.
//
//   bundle.json     what it is of, hashes of every file, the verdict and the harness that came to it
//   kernel/...      the candidate's files
//   pack/...        the task pack
//   attempt.json    the record of the attempt
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/candidate.h"
#include "core/verdict.h"

namespace evk {

inline constexpr std::uint64_t kBundleFileBytesMax = 256ull << 20, kBundleBytesMax = 1ull << 30;
inline constexpr std::size_t kBundleFilesMax = 512;

struct Bundle {
  std::string task;
  std::string source_sha256;
  std::string pack_hash;  // of the pack's files, names and contents
  Candidate kernel;
  Verdict verdict;
  nlohmann::json attempt;
};

// Writes the bundle into the new folder `out`, the pack copied from `pack_folder`. Fails if `out` exists.
Status write_bundle(const std::string& out, Bundle bundle, const std::string& pack_folder);

// Reads and checks a bundle of unknown origin: plain files only, no link anywhere, no path that leaves the
// folder, sizes bounded, nothing unlisted, every hash as listed. The Error names the file and the rule.
Result<Bundle> read_bundle(const std::string& folder);

}  // namespace evk
