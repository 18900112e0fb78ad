#include "verify/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace evk {
namespace {

constexpr double kUnit = 0x1p-24;  // rounding unit of float32

template <typename T>
T load(std::span<const std::byte> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

struct FloatFormat {
  double ulp_relative, normal_min, finite_max,
      overflow;  // `overflow`: the smallest value that rounds to infinity
};

FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {0x1p-10, 0x1p-14, 65504.0, 65520.0};
    case DType::kBFloat16:
      return {0x1p-7, 0x1p-126, 0x1.fep127, 0x1.ffp127};
    case DType::kFloat64:
      return {0x1p-52, std::numeric_limits<double>::min(), std::numeric_limits<double>::max(),
              std::numeric_limits<double>::infinity()};
    default:
      return {0x1p-23, 0x1p-126, 0x1.fffffep127, 0x1.ffffffp127};
  }
}

enum class Class { kFinite, kPlusInf, kMinusInf, kNan };

Class class_of(double value) {
  if (std::isnan(value)) return Class::kNan;
  if (std::isinf(value)) return value > 0 ? Class::kPlusInf : Class::kMinusInf;
  return Class::kFinite;
}

// A legal order of roundings may end on either side of the largest finite value.
bool near_overflow(double truth, const FloatFormat& format) {
  return std::abs(std::abs(truth) - format.overflow) <= 2 * format.ulp_relative * format.overflow;
}

std::vector<std::int64_t> unravel(std::size_t index, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    const auto extent = static_cast<std::size_t>(std::max<std::int64_t>(shape[d], 1));
    at[d] = static_cast<std::int64_t>(index % extent);
    index /= extent;
  }
  return at;
}

// Keeps the first mismatch and the box around all of them.
void add_to_region(std::size_t index, const std::vector<std::int64_t>& shape, ErrorStats& stats) {
  const std::vector<std::int64_t> at = unravel(index, shape);
  if (stats.mismatched == 1) stats.first = stats.region_low = stats.region_high = at;
  for (std::size_t d = 0; d < at.size(); ++d) {
    stats.region_low[d] = std::min(stats.region_low[d], at[d]);
    stats.region_high[d] = std::max(stats.region_high[d], at[d]);
  }
}

class FloatComparison {
 public:
  FloatComparison(const OutputSpec& spec, const Tolerance& tolerance, TensorView got, const Golden& golden)
      : spec_(spec),
        tolerance_(tolerance),
        got_(std::move(got)),
        golden_(golden),
        format_(format_of(spec.type.dtype)),
        model_(bound_model(tolerance, spec.type.dtype)) {}

  OutputComparison run() {
    out_.stats.output = spec_.name;
    out_.stats.elements = got_.size();
    measure_truth();
    for (std::size_t begin = 0; begin < got_.size(); begin += row_)
      compare_row(begin, std::min(begin + row_, got_.size()));
    finish();
    return std::move(out_);
  }

 private:
  void measure_truth() {
    const std::int64_t last = spec_.type.shape.empty() ? 1 : spec_.type.shape.back();
    // The largest of a handful of values says little about what rounding may cost, so short rows are taken
    // together.
    row_ = last >= 8 ? static_cast<std::size_t>(last) : std::max<std::size_t>(got_.size(), 1);
    double sum = 0, squares = 0;
    std::size_t finite = 0;
    for (std::size_t i = 0; i < got_.size(); ++i) {
      const double y = golden_.truth.at(i);
      if (!std::isfinite(y)) continue;
      sum += y;
      squares += y * y;
      ++finite;
    }
    if (finite == 0) return;
    mean_ = sum / static_cast<double>(finite);
    rms_ = std::sqrt(squares / static_cast<double>(finite));
  }

  void compare_row(std::size_t begin, std::size_t end) {
    double largest = 0, reference_error = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const double y = golden_.truth.at(i);
      if (!std::isfinite(y)) continue;
      largest = std::max(largest, std::abs(y));
      if (!golden_.reference) continue;
      const double error = std::abs(golden_.reference->at(i) - y);
      if (std::isfinite(error)) reference_error = std::max(reference_error, error);
    }
    for (std::size_t i = begin; i < end; ++i) compare_element(i, largest, reference_error);
  }

  double bound(double y, std::size_t index, double row_largest, double reference_error) const {
    const double n = static_cast<double>(std::max<std::int64_t>(tolerance_.reduction_length, 1));
    const double scale =
        golden_.scale ? golden_.scale->at(index) : std::sqrt(n) * std::max(std::abs(y), rms_);
    const double ulp = format_.ulp_relative * std::max(std::abs(y), format_.normal_min);
    double bound = model_.relative * std::abs(y) + model_.row_floor * row_largest + model_.scale * scale +
                   model_.ulps * ulp;
    bound = std::max(bound, model_.reference * reference_error);
    // Subnormal results may be flushed to zero.
    return bound + (model_.ulps > 0 || model_.relative > 0 ? format_.normal_min : 0);
  }

  void compare_element(std::size_t i, double row_largest, double reference_error) {
    const double y = golden_.truth.at(i), value = got_.at(i);
    out_.stats.nan_count += std::isnan(value) ? 1 : 0;
    out_.stats.inf_count += std::isinf(value) ? 1 : 0;
    const double as_type =
        std::abs(y) >= format_.overflow ? std::copysign(std::numeric_limits<double>::infinity(), y) : y;
    const Class expected = class_of(as_type), seen = class_of(value);
    if (expected != seen) {
      const bool legal =
          near_overflow(y, format_) && seen != Class::kNan && std::signbit(value) == std::signbit(y);
      if (!legal) miss(i);
      if (!legal) ++out_.paper_mismatched;
      return;
    }
    if (expected != Class::kFinite) return;
    const double error = std::abs(value - y), limit = bound(y, i, row_largest, reference_error);
    error_squares_ += error * error;
    deviation_squares_ += (y - mean_) * (y - mean_);
    out_.stats.abs_max = std::max(out_.stats.abs_max, error);
    if (y != 0) out_.stats.rel_max = std::max(out_.stats.rel_max, error / std::abs(y));
    if (limit > 0) out_.stats.over_tolerance_max = std::max(out_.stats.over_tolerance_max, error / limit);
    if (!(error <= limit)) miss(i);
    if (!(error <= tolerance_.atol + tolerance_.rtol * std::abs(y))) ++out_.paper_mismatched;
  }

  void miss(std::size_t index) {
    ++out_.stats.mismatched;
    add_to_region(index, spec_.type.shape, out_.stats);
  }

  void finish() {
    // Against its own spread: near-constant outputs pass element by element whatever the kernel does.
    if (deviation_squares_ > 0) out_.stats.centred_rel = std::sqrt(error_squares_ / deviation_squares_);
    const bool spread =
        out_.stats.centred_rel <= tolerance_.centred_rel ||
        error_squares_ <= kUnit * kUnit * 16 * rms_ * rms_ * static_cast<double>(out_.stats.elements);
    out_.strict_pass = out_.stats.mismatched == 0 && spread;
    out_.paper_pass = out_.paper_mismatched == 0;
  }

  const OutputSpec& spec_;
  const Tolerance& tolerance_;
  const TensorView got_;
  const Golden& golden_;
  const FloatFormat format_;
  const BoundModel model_;
  OutputComparison out_;
  std::size_t row_ = 1;
  double mean_ = 0, rms_ = 0, error_squares_ = 0, deviation_squares_ = 0;
};

// Where an index along `dim` leads: the flat position in `values` for output position `at`.
class IndexReader {
 public:
  // Without a source, no index leads anywhere.
  IndexReader(const IndexSource* source, const std::vector<std::int64_t>& out_shape) : source_(source) {
    if (source == nullptr) return;
    const auto& shape = source->values.shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (static_cast<int>(d) < source->dim) outer_ *= static_cast<std::size_t>(shape[d]);
      if (static_cast<int>(d) > source->dim) inner_ *= static_cast<std::size_t>(shape[d]);
    }
    extent_ = shape.empty() ? 1 : static_cast<std::size_t>(shape[static_cast<std::size_t>(source->dim)]);
    std::size_t outputs = 1;
    for (const std::int64_t n : out_shape) outputs *= static_cast<std::size_t>(n);
    per_line_ = outer_ * inner_ == 0 ? 0 : outputs / (outer_ * inner_);
    fits_ = per_line_ > 0 && per_line_ * outer_ * inner_ == outputs;
  }
  // The value at `index` on the line of output `position`; empty if the index is out of range.
  std::optional<double> value(std::size_t position, std::int64_t index) const {
    if (!fits_ || index < 0 || static_cast<std::size_t>(index) >= extent_) return std::nullopt;
    const std::size_t outer = position / (per_line_ * inner_), inner = position % inner_;
    return source_->values.at((outer * extent_ + static_cast<std::size_t>(index)) * inner_ + inner);
  }

 private:
  const IndexSource* source_;
  std::size_t outer_ = 1, inner_ = 1, extent_ = 1, per_line_ = 0;
  bool fits_ = false;
};

std::int64_t exact_truth(const TensorView& truth, std::size_t index) {
  return is_floating(truth.dtype) ? static_cast<std::int64_t>(std::llrint(truth.at(index)))
                                  : truth.integer_at(index);
}

OutputComparison compare_exact(const OutputSpec& spec, const TensorView& got, const Golden& golden,
                               const std::optional<IndexSource>& source) {
  OutputComparison out;
  out.stats.output = spec.name;
  out.stats.elements = got.size();
  const IndexReader reader(source ? &*source : nullptr, spec.type.shape);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::int64_t seen = got.integer_at(i), wanted = exact_truth(golden.truth, i);
    bool same = seen == wanted;
    if (!same) {
      const auto value = reader.value(i, seen), best = reader.value(i, wanted);
      same = value && best && *value == *best;  // another place of the same value is as good
    }
    if (same) continue;
    ++out.stats.mismatched;
    out.stats.abs_max =
        std::max(out.stats.abs_max, std::abs(static_cast<double>(seen) - static_cast<double>(wanted)));
    add_to_region(i, spec.type.shape, out.stats);
  }
  out.paper_mismatched = out.stats.mismatched;
  out.stats.over_tolerance_max = out.stats.mismatched > 0 ? out.stats.abs_max : 0;
  out.strict_pass = out.paper_pass = out.stats.mismatched == 0;
  return out;
}

}  // namespace

double half_to_double(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  if (exponent == 31)
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

double bfloat16_to_double(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::size_t TensorView::size() const { return bytes.size() / static_cast<std::size_t>(bytes_of(dtype)); }

double TensorView::at(std::size_t index) const {
  switch (dtype) {
    case DType::kFloat32:
      return load<float>(bytes, index);
    case DType::kFloat64:
      return load<double>(bytes, index);
    case DType::kFloat16:
      return half_to_double(load<std::uint16_t>(bytes, index));
    case DType::kBFloat16:
      return bfloat16_to_double(load<std::uint16_t>(bytes, index));
    default:
      return static_cast<double>(integer_at(index));
  }
}

std::int64_t TensorView::integer_at(std::size_t index) const {
  switch (dtype) {
    case DType::kInt8:
      return load<std::int8_t>(bytes, index);
    case DType::kUInt8:
      return load<std::uint8_t>(bytes, index);
    case DType::kInt16:
      return load<std::int16_t>(bytes, index);
    case DType::kInt32:
      return load<std::int32_t>(bytes, index);
    case DType::kInt64:
      return load<std::int64_t>(bytes, index);
    // A byte that is neither 0 nor 1 is no truth value: it compares unequal to both.
    case DType::kBool:
      return load<std::uint8_t>(bytes, index);
    default:
      EVK_CHECK(false, "not an integer type: {}", name_of(dtype));
  }
  return 0;
}

BoundModel bound_model(const Tolerance& tolerance, DType dtype) {
  const double n = static_cast<double>(std::max<std::int64_t>(tolerance.reduction_length, 1));
  const double d = std::max(tolerance.transcendentals, 0);
  const bool narrow = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  const std::string& kind = tolerance.op_class;
  BoundModel model;
  if (kind == "copy") {
    // The golden is rounded by the reader's type: half an ulp covers a golden kept in float64.
    model.ulps = narrow ? 0.5 : 0;
    if (dtype == DType::kFloat32) model.relative = kUnit;
    return model;
  }
  if (kind == "one_rounding") {
    model.ulps = narrow ? 1 : 2;
    return model;
  }
  model.reference = 8;
  if (kind == "sum" || kind == "scan") {
    model.scale = 4 * std::sqrt(n) * kUnit;
    model.ulps = narrow ? 1 : 4;
  } else if (kind == "normalisation") {
    model.relative = (16 + 4 * std::sqrt(n)) * kUnit;
    model.row_floor = 4 * (1 + d) * kUnit;
    model.ulps = narrow ? 2 : 0;
  } else if (kind == "elementwise") {
    model.relative = std::min(16 * (1 + d) * 0x1p-23, 0x1p-17);
    model.row_floor = 4 * (1 + d) * kUnit;
    model.ulps = narrow ? (dtype == DType::kFloat16 && d > 3 ? 4 : 2) : 0;
  } else {  // composite
    model.relative = (16 * (1 + d) + 4 * std::sqrt(n)) * kUnit;
    model.row_floor = 4 * (1 + d) * kUnit;
    model.scale = 4 * std::sqrt(n) * kUnit;
    model.ulps = 2;
  }
  return model;
}

OutputComparison compare_output(const OutputSpec& spec, const Tolerance& tolerance,
                                std::span<const std::byte> got, const Golden& golden,
                                const std::optional<IndexSource>& source) {
  const TensorView view{spec.type.dtype, spec.type.shape, got};
  EVK_CHECK(view.size() == static_cast<std::size_t>(spec.type.elements()), "output {} has {} elements",
            spec.name, view.size());
  EVK_CHECK(golden.truth.size() == view.size(), "golden of {} has {} elements", spec.name,
            golden.truth.size());
  if (is_floating(spec.type.dtype) && spec.compare == CompareBy::kFloat)
    return FloatComparison(spec, tolerance, view, golden).run();
  if (is_floating(spec.type.dtype)) {
    Tolerance exact = tolerance;
    exact.op_class = "copy";
    return FloatComparison(spec, exact, view, golden).run();
  }
  return compare_exact(spec, view, golden, spec.compare == CompareBy::kIndexValue ? source : std::nullopt);
}

}  // namespace evk
