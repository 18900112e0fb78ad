// Asks any program: the prompt on its standard input, the answer from its standard output.
#pragma once

#include <chrono>
#include <string>

#include "core/generator.h"

namespace evk {

struct CommandConfig {
  std::string command;                          // run by /bin/sh -c, with this process's environment
  std::chrono::milliseconds deadline{600'000};  // then its whole process group is killed
  std::size_t answer_bytes_max = 4u << 20;
};

class CommandGenerator : public Generator {
 public:
  explicit CommandGenerator(CommandConfig config) : config_(std::move(config)) {}
  // Fails, with advice to repeat the call, if the program does not start, ends with another status than 0,
  // says nothing, says too much, or passes the deadline. Whatever the outcome, no process of its group is
  // left.
  Result<Answer> generate(const GenerateRequest& request) override;

 private:
  CommandConfig config_;
};

}  // namespace evk
