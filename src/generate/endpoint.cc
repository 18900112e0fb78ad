#include "generate/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "generate/reply_parser.h"

namespace evk {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kAnthropicTokensMax = 32'000;
constexpr std::size_t kQuoteCharsMax = 300;
constexpr int kDepthMax = 64;

// Unset if the text is not JSON, or nests deeper than a message of an API does.
std::optional<Json> parse_json(std::string_view text) {
  int depth = 0;
  bool quoted = false, too_deep = false;
  for (std::size_t i = 0; i < text.size() && !too_deep; ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '{' || c == '[') too_deep = ++depth > kDepthMax;
    if (c == '}' || c == ']') --depth;
  }
  if (too_deep) return std::nullopt;
  auto json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return std::nullopt;
  return json;
}

// The member, or null: an object that lacks it and a value of another type read alike.
const Json& at(const Json& json, const char* key) {
  static const Json none;
  if (!json.is_object()) return none;
  const auto found = json.find(key);
  return found == json.end() ? none : *found;
}

std::string text_at(const Json& json, const char* key) {
  const Json& value = at(json, key);
  return value.is_string() ? value.get<std::string>() : "";
}

void count_at(const Json& json, const char* key, std::int64_t& into) {
  const Json& value = at(json, key);
  if (value.is_number_integer()) into = std::clamp<std::int64_t>(value.get<std::int64_t>(), 0, 1'000'000'000);
}

// A content: a string, or a list of blocks of which only text counts.
std::string content_text(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (content.is_array())
    for (const auto& block : content)
      if (text_at(block, "type") == "text") text += text_at(block, "text");
  return text;
}

bool read_openai(const Json& json, ChatBody& body) {
  if (at(json, "error").is_object()) {
    body.error = text_at(at(json, "error"), "message");
    if (body.error.empty()) body.error = "an error without a message";
    return true;
  }
  const Json& choices = at(json, "choices");
  if (!choices.is_array()) return false;
  if (const auto model = text_at(json, "model"); !model.empty()) body.answer.model = model;
  const Json& usage = at(json, "usage");
  count_at(usage, "prompt_tokens", body.answer.prompt_tokens);
  count_at(usage, "completion_tokens", body.answer.answer_tokens);
  count_at(usage, "prompt_cache_hit_tokens", body.answer.cached_tokens);  // DeepSeek's name
  count_at(at(usage, "prompt_tokens_details"), "cached_tokens", body.answer.cached_tokens);
  if (choices.empty()) return true;
  const Json& choice = choices[0];
  for (const char* part : {"message", "delta"}) {
    body.answer.text += content_text(at(at(choice, part), "content"));
    body.answer.text += text_at(at(choice, part), "refusal");
  }
  const auto reason = text_at(choice, "finish_reason");
  body.done = body.done || !reason.empty();
  body.cut = body.cut || reason == "length";
  return true;
}

// Anthropic counts what it read from its cache, and what it wrote there, apart from the rest of the prompt.
void count_anthropic(const Json& usage, Answer& answer) {
  std::int64_t fresh = 0, written = 0;
  if (at(usage, "input_tokens").is_number_integer()) {
    count_at(usage, "input_tokens", fresh);
    count_at(usage, "cache_creation_input_tokens", written);
    count_at(usage, "cache_read_input_tokens", answer.cached_tokens);
    answer.prompt_tokens = fresh + written + answer.cached_tokens;
  }
  count_at(usage, "output_tokens", answer.answer_tokens);
}

void note_stop(const std::string& reason, ChatBody& body) {
  body.done = body.done || !reason.empty();
  body.cut = body.cut || reason == "max_tokens" || reason == "model_context_window_exceeded";
}

bool read_anthropic(const Json& json, ChatBody& body) {
  const auto type = text_at(json, "type");
  if (type == "error") {
    body.error =
        fmt::format("{}: {}", text_at(at(json, "error"), "type"), text_at(at(json, "error"), "message"));
  } else if (type == "message" || type == "message_start") {
    const Json& message = type == "message" ? json : at(json, "message");
    body.answer.model = text_at(message, "model");
    body.answer.text += content_text(at(message, "content"));
    count_anthropic(at(message, "usage"), body.answer);
    note_stop(text_at(message, "stop_reason"), body);
  } else if (type == "content_block_delta") {
    if (text_at(at(json, "delta"), "type") == "text_delta")
      body.answer.text += text_at(at(json, "delta"), "text");
  } else if (type == "message_delta") {
    count_anthropic(at(json, "usage"), body.answer);
    note_stop(text_at(at(json, "delta"), "stop_reason"), body);
  }
  return !type.empty();
}

bool read_message(Dialect dialect, const Json& json, ChatBody& body) {
  return dialect == Dialect::kOpenAi ? read_openai(json, body) : read_anthropic(json, body);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_context_overflow(std::string_view body) {
  for (const char* words : {"context_length", "maximum context", "context window", "prompt is too long",
                            "exceeds the context", "too many tokens"})
    if (contains(body, words)) return true;
  return false;
}

std::string without(std::string text, const std::string& secret) {
  if (secret.empty()) return text;
  for (std::size_t p = text.find(secret); p != std::string::npos; p = text.find(secret, p))
    text.replace(p, secret.size(), "[key]");
  return text;
}

// One line of what the other side said. The key goes before the text is cut, which could leave a part of it.
std::string quoted(std::string text, const std::string& key) {
  const auto json = parse_json(text);
  if (json) {
    const auto message = text_at(at(*json, "error"), "message");
    if (!message.empty()) text = message;
  }
  text = without(std::move(text), key).substr(0, kQuoteCharsMax);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') c = ' ';
  return text;
}

class HttpEndpoint : public Endpoint {
 public:
  explicit HttpEndpoint(EndpointConfig config) : config_(std::move(config)) {}
  tl::expected<Answer, Refusal> ask(const std::string& prompt) override;

 private:
  std::string body_of(const std::string& prompt, const std::set<std::string>& dropped) const;
  HttpRequest request_of(std::string body) const;
  tl::unexpected<Refusal> refuse(Retry retry, const std::string& what,
                                 std::optional<std::int64_t> wait_s = std::nullopt) const;
  std::optional<std::string> refused_parameter(const HttpResponse& response,
                                               const std::set<std::string>& dropped) const;
  tl::expected<Answer, Refusal> answer_of(const HttpResponse& response) const;
  tl::unexpected<Refusal> trouble_of(const HttpResponse& response) const;
  tl::unexpected<Refusal> status_of(const HttpResponse& response) const;

  const EndpointConfig config_;
  std::mutex mutex_;
  std::set<std::string> dropped_;
};

std::string HttpEndpoint::body_of(const std::string& prompt, const std::set<std::string>& dropped) const {
  Json json = {{"model", config_.model}, {"messages", {{{"role", "user"}, {"content", prompt}}}}};
  const bool openai = config_.dialect == Dialect::kOpenAi;
  if (config_.stream && !dropped.contains("stream")) {
    json["stream"] = true;
    // Without it a streamed answer does not tell its tokens.
    if (openai && !dropped.contains("stream_options")) json["stream_options"] = {{"include_usage", true}};
  }
  if (config_.temperature && !dropped.contains("temperature")) json["temperature"] = *config_.temperature;
  if (!openai) json["max_tokens"] = config_.max_tokens.value_or(kAnthropicTokensMax);
  if (openai && config_.max_tokens) {
    // Newer models know the limit by the second name.
    if (!dropped.contains("max_tokens"))
      json["max_tokens"] = *config_.max_tokens;
    else if (!dropped.contains("max_completion_tokens"))
      json["max_completion_tokens"] = *config_.max_tokens;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

HttpRequest HttpEndpoint::request_of(std::string body) const {
  const bool openai = config_.dialect == Dialect::kOpenAi;
  HttpRequest request;
  request.url = config_.base_url + (openai ? "/chat/completions" : "/messages");
  request.headers = {"content-type: application/json"};
  if (!openai) request.headers.push_back("anthropic-version: 2023-06-01");
  if (!config_.key.empty())
    request.headers.push_back((openai ? "authorization: Bearer " : "x-api-key: ") + config_.key);
  request.body = std::move(body);
  request.ca_file = config_.ca_file;
  request.stall_s = config_.stall_s;
  request.deadline_s = config_.deadline_s;
  request.bytes_max = config_.bytes_max;
  return request;
}

tl::unexpected<Refusal> HttpEndpoint::refuse(Retry retry, const std::string& what,
                                             std::optional<std::int64_t> wait_s) const {
  return tl::unexpected(
      Refusal{{retry, without(fmt::format("{}: {}", config_.base_url, what), config_.key), {}}, wait_s});
}

std::optional<std::string> HttpEndpoint::refused_parameter(const HttpResponse& response,
                                                           const std::set<std::string>& dropped) const {
  if (response.status != 400 && response.status != 422) return std::nullopt;
  const auto sent = parse_json(body_of("", dropped));
  // Longer names first: each may hold a shorter one.
  for (const char* name :
       {"max_completion_tokens", "stream_options", "temperature", "max_tokens", "stream"}) {
    const bool demanded = config_.dialect == Dialect::kAnthropic && std::string_view(name) == "max_tokens";
    if (!demanded && sent->contains(name) && contains(response.body, name)) return name;
  }
  return std::nullopt;
}

tl::unexpected<Refusal> HttpEndpoint::trouble_of(const HttpResponse& response) const {
  switch (response.trouble) {
    case HttpTrouble::kTooLarge:
      return refuse(Retry::kNever, fmt::format("its answer is larger than {} bytes", config_.bytes_max));
    case HttpTrouble::kStalled:
      return refuse(Retry::kSameCall, fmt::format("no more bytes came: {}", response.why));
    case HttpTrouble::kTls:
      return refuse(Retry::kAfterFix,
                    fmt::format("TLS failed: {}; --ca-file FILE names another authority", response.why));
    case HttpTrouble::kBadUrl:
      return refuse(Retry::kAfterFix, fmt::format("{}; --base-url wants http:// or https://", response.why));
    default:
      return refuse(Retry::kSameCall, fmt::format("the connection failed: {}", response.why));
  }
}

tl::unexpected<Refusal> HttpEndpoint::status_of(const HttpResponse& response) const {
  const int status = response.status;
  const auto said = fmt::format("status {}: {}", status, quoted(response.body, config_.key));
  if (status == 408 || status == 409 || status == 429 || status >= 500)
    return refuse(Retry::kSameCall, said, response.wait_s);
  if (status >= 300 && status < 400)
    return refuse(Retry::kAfterFix,
                  fmt::format("status {}: it redirects to \"{}\"; give that as --base-url if "
                              "you trust it",
                              status, quoted(response.location, config_.key)));
  if (status == 401 || status == 403)
    return refuse(Retry::kAfterFix, said + "; set EVOKERNEL_API_KEY to a key that it takes");
  if (status == 404) return refuse(Retry::kAfterFix, said + "; check --base-url and --model");
  if (status == 413 || is_context_overflow(response.body))
    return refuse(Retry::kNever,
                  said + "; the prompt is larger than the model's context, give a smaller --slots");
  return refuse(Retry::kNever, said);
}

tl::expected<Answer, Refusal> HttpEndpoint::answer_of(const HttpResponse& response) const {
  if (response.trouble != HttpTrouble::kNone) return trouble_of(response);
  if (response.status != 200) return status_of(response);
  auto body = read_chat_body(config_.dialect, response.body);
  if (!body)
    return refuse(Retry::kSameCall,
                  fmt::format("not a message of this API: {}", quoted(response.body, config_.key)));
  if (!body->error.empty())
    return refuse(Retry::kSameCall, "it broke off: " + quoted(body->error, config_.key));
  if (!body->done) return refuse(Retry::kSameCall, "the stream ended in the middle of the answer");
  Answer answer = std::move(body->answer);
  if (answer.text.empty() && !body->cut) return refuse(Retry::kSameCall, "it answered nothing");
  if (body->cut) answer.text += fmt::format("\n{}\n", kCutMark);
  if (answer.model.empty()) answer.model = config_.model;
  answer.text = without(std::move(answer.text), config_.key);
  answer.model = without(std::move(answer.model), config_.key).substr(0, kQuoteCharsMax);
  return answer;
}

tl::expected<Answer, Refusal> HttpEndpoint::ask(const std::string& prompt) {
  // Ends: each round either answers or drops one of finitely many parameters.
  while (true) {
    std::set<std::string> dropped;
    {
      const std::lock_guard lock(mutex_);
      dropped = dropped_;
    }
    const HttpResponse response = http_send(request_of(body_of(prompt, dropped)));
    const auto refused =
        response.trouble == HttpTrouble::kNone ? refused_parameter(response, dropped) : std::nullopt;
    if (!refused) return answer_of(response);
    const std::lock_guard lock(mutex_);
    if (dropped_.insert(*refused).second)
      config_.note(fmt::format("{} refuses the parameter {}; it is left out", config_.base_url, *refused));
  }
}

}  // namespace

std::string_view default_base_url(Dialect dialect) {
  return dialect == Dialect::kOpenAi ? "https://api.openai.com/v1" : "https://api.anthropic.com/v1";
}

std::optional<ChatBody> read_chat_body(Dialect dialect, std::string_view text) {
  ChatBody body;
  const auto begin = text.find_first_not_of(" \r\n\t");
  if (begin == std::string_view::npos) return std::nullopt;
  if (text[begin] == '{') {
    const auto json = parse_json(text);
    if (!json || !read_message(dialect, *json, body)) return std::nullopt;
    return body;
  }
  bool any = false;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with("data:")) continue;
    line.remove_prefix(5);
    const auto json = parse_json(line);  // of "[DONE]" and of half a line: none
    if (json) any = read_message(dialect, *json, body) || any;
  }
  if (!any) return std::nullopt;
  return body;
}

std::unique_ptr<Endpoint> make_endpoint(EndpointConfig config) {
  while (config.base_url.ends_with('/')) config.base_url.pop_back();
  return std::make_unique<HttpEndpoint>(std::move(config));
}

}  // namespace evk
