// The tensors of one case, and the seam through which the verifier obtains them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "verify/compare.h"

namespace evk {

struct CaseTensor {
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;  // contiguous, little-endian
  TensorView view() const { return {dtype, shape, data}; }
};

// Of one output.
struct CaseGolden {
  CaseTensor truth;  // float64 for floating outputs; an integer type or bool for exact ones
  std::optional<CaseTensor> reference;  // honest rounding in the output's precision
  std::optional<CaseTensor> scale;      // sum of |terms|
  std::optional<CaseTensor> values;     // of an index: what it points into
};

struct CaseData {
  std::vector<CaseTensor> inputs;   // as ShapeSet::inputs
  std::vector<CaseGolden> goldens;  // as ShapeSet::outputs
};

// Values at a few positions of one output, for sizes at which whole goldens would be too large.
struct SampledGolden {
  std::vector<std::size_t> positions;  // in the output, ascending
  CaseGolden values;                   // one element for each position
};

struct TimedData {
  std::vector<CaseTensor> inputs;      // as ShapeSet::inputs
  std::vector<SampledGolden> goldens;  // as ShapeSet::outputs
};

class CaseReader {
 public:
  virtual ~CaseReader() = default;
  // Every tensor has the type and size that the shape set says. An Error names the file. Safe from several
  // threads.
  virtual Result<std::shared_ptr<const CaseData>> read(const Task& task, const ShapeSet& shapes,
                                                       const TaskCase& which) = 0;
  // Inputs for the timed sizes with what is expected at some positions; null if the task has none.
  virtual Result<std::shared_ptr<const TimedData>> read_timed(const Task&, const ShapeSet&) {
    return std::shared_ptr<const TimedData>();
  }
};

}  // namespace evk
