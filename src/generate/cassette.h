// Answers on file: one generator records what another says, one plays it back.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/generator.h"

namespace evk {

// SHA-256 over what makes a request: task, stage, prompt and the attempt's stream.
std::string key_of(const GenerateRequest& request);

// Passes requests on, and appends each answer to a file of one JSON object a line:
// {"key", "task", "prompt", "text", "model", "prompt_tokens", "answer_tokens"}.
class RecordingGenerator : public Generator {
 public:
  RecordingGenerator(std::unique_ptr<Generator> inner, std::string path)
      : inner_(std::move(inner)), path_(std::move(path)) {}
  // Fails as the inner generator does, or if the file cannot be written.
  Result<Answer> generate(const GenerateRequest& request) override;

 private:
  std::unique_ptr<Generator> inner_;
  std::string path_;
  std::mutex mutex_;
};

class ReplayGenerator : public Generator {
 public:
  // Reads the whole file. Fails on a line that is not such an object, naming it.
  static Result<std::unique_ptr<ReplayGenerator>> open(const std::string& path);
  // The recorded answer of an equal request. A request that was not recorded is an Error that shows where the
  // most similar recorded prompt differs first.
  Result<Answer> generate(const GenerateRequest& request) override;

 private:
  struct Recorded {
    std::string task, prompt;
    Answer answer;
  };
  std::string path_;
  std::map<std::string, Recorded> recorded_;
};

}  // namespace evk
