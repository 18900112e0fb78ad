#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace evk {

void check_failed(const char* file, int line, const char* what, const std::string& message) {
  std::fprintf(stderr, "%s:%d: check failed: %s%s%s\n", file, line, what, message.empty() ? "" : ": ",
               message.c_str());
  std::abort();
}

}  // namespace evk
