// Result<T>: a value, or an Error that says why we could not do our work.
//
//   Result<Pack> load_pack(const Path& path);
//   EVK_TRY(Pack pack, load_pack(path));        // hands the Error on to the caller
//
// A bad candidate is not an Error: it is a Verdict.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace evk {

// What the caller may do about an Error.
enum class Retry {
  kNever,     // bad input, or a limit that the same call meets again
  kSameCall,  // busy or broken off: the same call may succeed
  kAfterFix,  // succeeds once a person mends what the message names
};

struct Error {
  Retry retry = Retry::kNever;
  std::string message;  // one line, lower case, no full stop; names the file or id, and the remedy
  std::string context;  // "task relu > verify > compile", outermost first; empty at the source

  // "context: message", or the message alone.
  std::string text() const { return context.empty() ? message : context + ": " + message; }
};

template <typename T>
using Result = tl::expected<T, Error>;

using Status = Result<void>;

// An Error that repeating the same call cannot mend.
inline tl::unexpected<Error> failure(std::string message, Retry retry = Retry::kNever) {
  return tl::unexpected<Error>(Error{retry, std::move(message), {}});
}

// The Error of `result` with `where` put before its context. REQUIRES: !result.
template <typename T>
tl::unexpected<Error> in_context(std::string where, Result<T>&& result) {
  Error error = std::move(result).error();
  error.context = error.context.empty() ? std::move(where) : std::move(where) + " > " + error.context;
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace evk

#define EVK_CONCAT_INNER(a, b) a##b
#define EVK_CONCAT(a, b) EVK_CONCAT_INNER(a, b)

// Declares `declaration` from the value of `expression`, or returns its Error.
#define EVK_TRY(declaration, ...) EVK_TRY_INNER(EVK_CONCAT(evk_result_, __LINE__), declaration, __VA_ARGS__)
#define EVK_TRY_INNER(result, declaration, ...)                                  \
  auto result = (__VA_ARGS__);                                                   \
  if (!result) return ::tl::unexpected<::evk::Error>(std::move(result).error()); \
  declaration = *std::move(result)

// Returns the Error of a Status, if it is one.
#define EVK_TRY_STATUS(...)                                                                \
  do {                                                                                     \
    auto evk_status = (__VA_ARGS__);                                                       \
    if (!evk_status) return ::tl::unexpected<::evk::Error>(std::move(evk_status).error()); \
  } while (false)
