// Candidates in the forms of other systems, turned into source files of ours, glue and a model.
//
//   MultiKernelBench, six strings: project_json_src, host_tiling_src, host_operator_src, kernel_src,
//     python_bind_src, model_src (module-level constants of a Python file).
//   MultiKernelBench, direct launch: a JSON object with `sources` of {path, content} and `entry.model`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/candidate.h"

namespace evk {

enum class ForeignFormat { kMultiKernelBench, kDirectLaunch };

struct ForeignCandidate {
  Candidate kernels;                 // op_host/ and op_kernel/, what the screen reads
  std::vector<SourceFile> glue;      // C++ between the model and the kernels
  std::string model;                 // Python text
  std::string entry;                 // name of the model's class
  std::string operator_name;         // of the first kernel, snake case: what task.name is for our own form
  std::vector<std::string> modules;  // Python modules whose functions are the glue's
};

// What the six strings are, by name, as the Python text defines them.
using ForeignStrings = std::vector<std::pair<std::string, std::string>>;

// Fails if a string is missing or is none; the message names it.
Result<ForeignCandidate> read_six_strings(const ForeignStrings& strings);
// Fails on anything that is not such an object; the message names the field.
Result<ForeignCandidate> read_direct_launch(std::string_view json_text);

}  // namespace evk
