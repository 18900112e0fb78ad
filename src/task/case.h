// Loads the tensors of one case of a task.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/task.h"
#include "task/safetensors.h"

namespace evk {

// What is expected of one output.
struct StoredGolden {
  StoredTensor truth;  // float64 for floating outputs, the output's own type for others
  std::optional<StoredTensor>
      reference;  // float outputs: the same as torch computes it in the output's precision
  std::optional<StoredTensor> scale;   // sum of |terms| of each element, float32
  std::optional<StoredTensor> values;  // for indices: what they point into
};

// The tensors point into the two files, which live as long as this does.
struct LoadedCase {
  std::vector<StoredTensor> inputs;   // as ShapeSet::inputs
  std::vector<StoredGolden> goldens;  // as ShapeSet::outputs
  std::shared_ptr<const Safetensors> inputs_file, expected_file;
};

// What is expected of one output at some positions; no positions: not looked at.
struct StoredSample {
  std::vector<std::size_t> positions;  // ascending, within the output
  StoredGolden golden;                 // of as many elements
};

struct LoadedTimed {
  std::vector<std::vector<std::byte>> inputs;  // as ShapeSet::inputs, drawn
  std::vector<StoredSample> samples;           // as ShapeSet::outputs
  std::shared_ptr<const Safetensors> expected_file;
};

// REQUIRES: shapes.timed. Fails on anything that is not as the shape set says.
Result<LoadedTimed> load_timed(const Task& task, const ShapeSet& shapes);

// Every tensor has the type and shape that the shape set says. An Error names the file and the tensor.
// REQUIRES: `shapes` is one of task.shape_sets and `which` one of its cases.
Result<LoadedCase> load_case(const Task& task, const ShapeSet& shapes, const TaskCase& which);

}  // namespace evk
