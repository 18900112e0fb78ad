#include "generate/cassette.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/sha256.h"

namespace evk {
namespace {

constexpr std::size_t kLineBytesMax = 32u << 20;

std::size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

// The line of `text` that holds `at`, cut to a readable length.
std::string line_at(std::string_view text, std::size_t at) {
  at = std::min(at, text.size());
  const auto before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const auto begin = before == std::string_view::npos ? 0 : before + 1;
  return std::string(text.substr(begin, std::min<std::size_t>(text.find('\n', at) - begin, 160)));
}

}  // namespace

std::string key_of(const GenerateRequest& request) {
  Random stream = request.random;
  Sha256 sha;
  sha.field(request.task.id.text)
      .field(name_of(request.context.stage))
      .field(request.prompt)
      .field(std::to_string(stream.next()));
  return sha.hex();
}

Result<Answer> RecordingGenerator::generate(const GenerateRequest& request) {
  EVK_TRY(Answer answer, inner_->generate(request));
  const nlohmann::json line = {{"key", key_of(request)},
                               {"task", request.task.id.text},
                               {"prompt", request.prompt},
                               {"text", answer.text},
                               {"model", answer.model},
                               {"prompt_tokens", answer.prompt_tokens},
                               {"answer_tokens", answer.answer_tokens}};
  const std::lock_guard lock(mutex_);
  std::ofstream file(path_, std::ios::app | std::ios::binary);
  file << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  if (!file.flush()) return failure(fmt::format("{}: cannot be written", path_), Retry::kAfterFix);
  return answer;
}

Result<std::unique_ptr<ReplayGenerator>> ReplayGenerator::open(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure(fmt::format("{}: cannot be read", path), Retry::kAfterFix);
  auto made = std::make_unique<ReplayGenerator>();
  made->path_ = path;
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    const auto wrong = [&] {
      return failure(fmt::format("{}:{}: not a recorded answer", path, number), Retry::kAfterFix);
    };
    if (text.empty()) continue;
    const auto json =
        text.size() > kLineBytesMax ? nlohmann::json() : nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) return wrong();
    for (const auto* key : {"key", "task", "prompt", "text", "model"})
      if (!json.contains(key) || !json[key].is_string()) return wrong();
    for (const auto* key : {"prompt_tokens", "answer_tokens"})
      if (!json.contains(key) || !json[key].is_number_integer()) return wrong();
    Recorded recorded{json["task"],
                      json["prompt"],
                      {json["text"], json["model"], json["prompt_tokens"], json["answer_tokens"]}};
    made->recorded_[json["key"]] = std::move(recorded);
  }
  return made;
}

Result<Answer> ReplayGenerator::generate(const GenerateRequest& request) {
  const auto found = recorded_.find(key_of(request));
  if (found != recorded_.end()) return found->second.answer;
  const Recorded* nearest = nullptr;
  std::size_t common = 0;
  for (const auto& [key, recorded] : recorded_) {
    const std::size_t same =
        common_prefix(recorded.prompt, request.prompt) + (recorded.task == request.task.id.text ? 1 : 0);
    if (!nearest || same > common) {
      nearest = &recorded;
      common = same;
    }
  }
  if (!nearest)
    return failure(fmt::format("{}: holds no answers; record some first", path_), Retry::kAfterFix);
  const std::size_t at = common_prefix(nearest->prompt, request.prompt);
  if (nearest->prompt == request.prompt)
    return failure(
        fmt::format("{}: the prompt for {} was recorded for {} in another attempt; record this campaign anew",
                    path_, request.task.id.text, nearest->task),
        Retry::kAfterFix);
  return failure(
      fmt::format("{}: no answer for this prompt of {}; the nearest recorded one differs first at byte {}: "
                  "recorded \"{}\", asked \"{}\"",
                  path_, request.task.id.text, at, line_at(nearest->prompt, at), line_at(request.prompt, at)),
      Retry::kAfterFix);
}

}  // namespace evk
