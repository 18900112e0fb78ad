// Reads what a compiler or linker printed and turns it into findings about the candidate's own lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/verdict.h"

namespace evk {

// Where the compiler saw the candidate's files, and a folder whose name is of no interest to its author.
struct DiagnosticPaths {
  std::string source_dir = "/in/";
  std::string include_dir;
};

// At most `findings_max` findings with code "compile.error" (or "compile.link_error" for the linker's). An
// error within a header is told at the candidate's line that led there.
std::vector<Finding> parse_diagnostics(std::string_view text, const DiagnosticPaths& paths,
                                       std::size_t findings_max = 5);

// The text with folder names taken out and control characters removed, at most `bytes_max` bytes.
std::string scrubbed(std::string_view text, const DiagnosticPaths& paths, std::size_t bytes_max = 16 * 1024);

}  // namespace evk
