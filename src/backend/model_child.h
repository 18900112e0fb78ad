// The Python process in which a foreign candidate's model runs (probe/bridge.py): sandboxed, and without
// data.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"

namespace evk {

struct ModelChildConfig {
  std::string python;                      // an interpreter that can import torch
  std::string probe_folder;                // holds bridge.py
  std::chrono::milliseconds wall{30'000};  // of one answer
};

// One line of JSON each way. One thread at a time. An Error means that the machine cannot run it; a child
// that ended or is too slow answers nothing.
class ModelChild {
 public:
  static Result<std::unique_ptr<ModelChild>> start(const ModelChildConfig& config);
  virtual ~ModelChild() = default;
  virtual void send(const std::string& line) = 0;
  // The next line, without its end; empty if the child ended, said too much, or said nothing in time.
  virtual std::string receive() = 0;
};

}  // namespace evk
