// EVK_CHECK(condition, message...): our own bug is found here and the program ends, in release builds too.
// A bad candidate is never a failed check (it is a Verdict); a failing disk is never one (it is an Error).
#pragma once

#include <fmt/format.h>

#include <string>

namespace evk {

// Prints `file:line: check failed: what: message` on stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* what, const std::string& message);

}  // namespace evk

#define EVK_CHECK(condition, ...)                                                         \
  do {                                                                                    \
    if (!(condition)) [[unlikely]]                                                        \
      ::evk::check_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
  } while (false)
