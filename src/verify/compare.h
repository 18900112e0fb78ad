// Compares an output with its golden: by class (finite, infinite, NaN), then by a bound for each element that
// follows from the kind of operator, its reduction length and the data type. No share of wrong elements is
// forgiven.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/task.h"
#include "core/verdict.h"

namespace evk {

// Elements of any type, contiguous.
struct TensorView {
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;

  std::size_t size() const;                          // elements that `bytes` holds
  double at(std::size_t index) const;                // integers beyond 2^53 lose bits: see integer_at
  std::int64_t integer_at(std::size_t index) const;  // REQUIRES: an integer or bool type
};

struct Golden {
  TensorView truth;  // float64 for floating outputs, an integer type for exact ones
  std::optional<TensorView>
      reference;  // the same computed honestly in the output's precision: what rounding costs
  std::optional<TensorView> scale;  // sum of |terms| of each element
};

// For outputs that are indices: which values they point into, and along which dimension.
struct IndexSource {
  TensorView values;
  int dim = 0;
};

struct OutputComparison {
  ErrorStats stats;                    // by the strict bounds
  std::uint64_t paper_mismatched = 0;  // |error| > atol + rtol |truth|
  bool strict_pass = false, paper_pass = false;
};

// REQUIRES: `got` has the bytes that spec.type says (checked by the caller, who knows whose fault it would
// be). Sources of the bounds: verification protocol, section 2.3; those without a scale or reference tensor
// estimate the scale as sqrt(n) times the larger of |y| and the root mean square of the output.
OutputComparison compare_output(const OutputSpec& spec, const Tolerance& tolerance,
                                std::span<const std::byte> got, const Golden& golden,
                                const std::optional<IndexSource>& source = std::nullopt);

// The strict bound's parts for one output, for tests and reports.
struct BoundModel {
  double relative = 0;   // times |y|
  double row_floor = 0;  // times the largest |y| of the row
  double scale = 0;      // times the scale
  double ulps = 0;       // of the output's type at y
  double reference = 0;  // times the largest error of the reference in the row
};
BoundModel bound_model(const Tolerance& tolerance, DType dtype);

double half_to_double(std::uint16_t bits);
double bfloat16_to_double(std::uint16_t bits);

}  // namespace evk
