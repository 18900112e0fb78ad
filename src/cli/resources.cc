#include "cli/resources.h"

#include <cstdlib>
#include <filesystem>

namespace evk {
namespace fs = std::filesystem;

std::string executable_folder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path().string();
}

Result<std::string> resource_root() {
  const auto holds_all = [](const fs::path& folder) {
    std::error_code ignored;
    return fs::is_directory(folder / "knowledge", ignored) && fs::is_directory(folder / "twin", ignored);
  };
  if (const char* home = std::getenv("EVOKERNEL_HOME")) {
    if (holds_all(home)) return std::string(home);
    return failure(std::string("EVOKERNEL_HOME=") + home +
                       " has no knowledge/ and twin/; point it at EvoKernel's folder",
                   Retry::kAfterFix);
  }
  for (fs::path folder = executable_folder(); folder.has_relative_path(); folder = folder.parent_path())
    if (holds_all(folder)) return folder.string();
  return failure(
      "cannot find knowledge/ and twin/ above the program; set EVOKERNEL_HOME to EvoKernel's folder",
      Retry::kAfterFix);
}

std::string default_cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::string(cache) + "/evokernel";
  const char* home = std::getenv("HOME");
  return std::string(home && *home ? home : "/tmp") + "/.cache/evokernel";
}

}  // namespace evk
