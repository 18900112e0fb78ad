#include "verify/run_request.h"

#include <charconv>

#include "base/sha256.h"

namespace evk {

RunRequest empty_request(const Task& task, const ShapeSet& shapes) {
  RunRequest request;
  request.op = task.name;
  for (const TensorSpec& input : shapes.inputs) request.inputs.push_back({input.name, input.type, {}});
  for (const OutputSpec& output : shapes.outputs) request.outputs.push_back({output.name, output.type, {}});
  return request;
}

std::uint64_t poison_of(const Task& task, const Candidate& candidate, const std::string& what, int run,
                        const std::string& secret) {
  const std::string digest = Sha256()
                                 .field(task.id.text)
                                 .field(candidate.hash())
                                 .field(what)
                                 .field(std::to_string(run))
                                 .field(secret)
                                 .hex();
  std::uint64_t value = 0;
  std::from_chars(digest.data(), digest.data() + 16, value, 16);
  return value | 1;
}

const ShapeSet* timed_shapes(const Task& task) {
  for (const char* id : {"bench", "small"}) {
    if (const ShapeSet* shapes = task.shapes(id)) return shapes;
  }
  return task.shape_sets.empty() ? nullptr : &task.shape_sets.front();
}

std::vector<const ShapeSet*> verified_shapes(const Task& task) {
  std::vector<const ShapeSet*> sets;
  for (const char* id : {"small", "ragged"}) {
    if (const ShapeSet* shapes = task.shapes(id); shapes != nullptr && !shapes->cases.empty())
      sets.push_back(shapes);
  }
  for (const ShapeSet& shapes : task.shape_sets) {
    if (sets.empty() && !shapes.cases.empty()) sets.push_back(&shapes);
  }
  return sets;
}

std::uint64_t output_bytes(const ShapeSet& shapes) {
  std::uint64_t bytes = 0;
  for (const OutputSpec& output : shapes.outputs)
    bytes += static_cast<std::uint64_t>(output.type.elements() * bytes_of(output.type.dtype));
  return bytes;
}

}  // namespace evk
