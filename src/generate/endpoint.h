// A model behind HTTP: any OpenAI-compatible chat endpoint, or Anthropic's messages.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/generator.h"
#include "generate/http.h"

namespace evk {

// Why one call gave no answer.
struct Refusal {
  Error error;
  std::optional<std::int64_t> wait_s;  // the endpoint asks to wait so long
};

// One call, never repeated: whoever asks decides about patience.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  // Safe to call from several threads.
  virtual tl::expected<Answer, Refusal> ask(const std::string& prompt) = 0;
};

enum class Dialect { kOpenAi, kAnthropic };

// The API's usual address: "https://api.openai.com/v1", "https://api.anthropic.com/v1".
std::string_view default_base_url(Dialect dialect);

struct EndpointConfig {
  Dialect dialect = Dialect::kOpenAi;
  std::string base_url;  // without "/chat/completions"
  std::string model;
  std::string key;  // sent in a header alone; cut out of every text that leaves this class
  std::string ca_file;
  std::optional<std::int64_t> max_tokens;  // of the answer; Anthropic demands one and gets 32000 if unset
  std::optional<double> temperature;
  bool stream = true;
  int stall_s = 300, deadline_s = 3600;
  std::size_t bytes_max = 16u << 20;
  std::function<void(const std::string&)> note = [](const std::string&) {};  // one line; from any thread
};

// What a body of status 200 says, streamed or whole.
struct ChatBody {
  Answer answer;      // only the text; thinking is left out
  bool done = false;  // the body says that it is complete
  bool cut = false;   // by the token limit
  std::string error;  // an error told within the stream
};
// Unset if the body is no such message (HTML, JSON of another form, deeper than 64 levels).
std::optional<ChatBody> read_chat_body(Dialect dialect, std::string_view body);

// Refusals: kSameCall for 408, 409, 429, 5xx, silence, broken connections, half a stream, an empty answer and
// bodies that are no message; kAfterFix for TLS, redirects, 401, 403, 404 and addresses; kNever for a prompt
// larger than the model's context, too large answers and other 4xx. A parameter that a 400 names is left out
// from then on, with a note, and the call is made again at once.
std::unique_ptr<Endpoint> make_endpoint(EndpointConfig config);

}  // namespace evk
