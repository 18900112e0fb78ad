// The seam between the agent and whatever writes kernels: a model, a command, a cassette, the composer.
#pragma once

#include <optional>
#include <string>

#include "base/random.h"
#include "base/result.h"
#include "core/candidate.h"
#include "core/context.h"
#include "core/task.h"

namespace evk {

struct GenerateRequest {
  const Task& task;
  const Context& context;
  std::string prompt;  // the exact text that a model is sent
  Random random;       // this attempt's own stream
};

struct Answer {
  std::string text;   // as it came; the reply parser makes a Candidate of it
  std::string model;  // who answered: "composer", "gpt-5.2", ...
  std::int64_t prompt_tokens = 0, answer_tokens = 0;
  // Costs, which need not repeat when an attempt does.
  std::int64_t calls = 0;          // of an endpoint or a program, refused ones included
  std::int64_t cached_tokens = 0;  // of prompt_tokens, those that the endpoint had in its cache
  std::optional<double> usd;       // by the price table; unset without one
};

class Generator {
 public:
  virtual ~Generator() = default;
  // Answers the request. Fails only if nothing could be asked or nothing came back; a useless answer is an
  // Answer. Safe to call from several threads at once.
  virtual Result<Answer> generate(const GenerateRequest& request) = 0;
};

}  // namespace evk
