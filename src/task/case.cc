#include "task/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

namespace evk {
namespace {

class CaseFile {
 public:
  static Result<CaseFile> open(const Task& task, const std::string& name) {
    CaseFile made;
    made.path_ = task.folder + "/" + name;
    EVK_TRY(made.file_, Safetensors::open(made.path_));
    return made;
  }

  Result<StoredTensor> tensor(const std::string& name, const TensorType& type) const {
    const StoredTensor* found = file_->find(name);
    if (!found) return failure(fmt::format("{}: has no tensor {}; make the pack again", path_, name));
    if (found->type != type)
      return failure(fmt::format("{}: tensor {} is {}[{}] and should be {}[{}]; make the pack again", path_,
                                 name, name_of(found->type.dtype), fmt::join(found->type.shape, ","),
                                 name_of(type.dtype), fmt::join(type.shape, ",")));
    return *found;
  }

  Result<std::optional<StoredTensor>> optional(const std::string& name, const TensorType& type) const {
    if (!file_->find(name)) return std::optional<StoredTensor>();
    EVK_TRY(StoredTensor found, tensor(name, type));
    return std::optional(std::move(found));
  }

  const std::shared_ptr<const Safetensors>& file() const { return file_; }

 private:
  std::string path_;
  std::shared_ptr<const Safetensors> file_;
};

// "input.x", "param.weight": forward inputs and parameters may bear the same name.
std::string stored_name(const ShapeSet& shapes, std::size_t index) {
  const TensorSpec& spec = shapes.inputs[index];
  for (const GraphInput& head : shapes.graph.inputs) {
    if (static_cast<std::size_t>(head.index) != index) continue;
    if (head.kind == GraphInputKind::kParam) return "param." + spec.name;
    if (head.kind == GraphInputKind::kBuffer) return "buffer." + spec.name;
    if (head.kind == GraphInputKind::kConst) return "const." + spec.name;
  }
  return "input." + spec.name;
}

Result<StoredGolden> golden_of(const CaseFile& file, const OutputSpec& output, std::size_t index) {
  StoredGolden golden;
  TensorType truth = output.type, scale = output.type;
  if (is_floating(truth.dtype)) truth.dtype = DType::kFloat64;
  scale.dtype = DType::kFloat32;
  const auto named = [&](const char* what) { return fmt::format("{}.{}", what, index); };
  EVK_TRY(golden.truth, file.tensor(named("truth"), truth));
  EVK_TRY(golden.reference, file.optional(named("reference"), output.type));
  EVK_TRY(golden.scale, file.optional(named("scale"), scale));
  if (const StoredTensor* values = file.file()->find(named("values"))) golden.values = *values;
  return golden;
}

// Integers and exact float64 steps only: the probe draws the same numbers.
std::uint32_t drawn_bits(std::uint32_t seed, std::uint64_t index) {
  auto v = static_cast<std::uint32_t>(index * 2654435761u + seed);
  v ^= v >> 15;
  v *= 2246822519u;
  v ^= v >> 13;
  v *= 3266489917u;
  v ^= v >> 16;
  return v >> 8;
}

std::vector<std::byte> drawn(const TimedDraw& draw, std::int64_t elements) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(elements) * sizeof(float));
  for (std::size_t k = 0; k < static_cast<std::size_t>(elements); ++k) {
    const auto value = static_cast<float>(draw.low + draw.step * drawn_bits(draw.seed, k));
    std::memcpy(bytes.data() + k * sizeof(float), &value, sizeof(float));
  }
  return bytes;
}

Result<std::vector<std::size_t>> positions_of(const StoredTensor& stored, std::int64_t elements) {
  std::vector<std::size_t> positions;
  std::int64_t last = -1;
  for (std::size_t at = 0; at + 8 <= stored.bytes.size(); at += 8) {
    std::int64_t position = 0;
    std::memcpy(&position, stored.bytes.data() + at, 8);
    if (position <= last || position >= elements)
      return failure("positions of a timed case must ascend within the output; make the pack again");
    positions.push_back(static_cast<std::size_t>(last = position));
  }
  return positions;
}

Result<StoredSample> sample_of(const CaseFile& file, const OutputSpec& output, std::size_t index) {
  StoredSample sample;
  const StoredTensor* stored = file.file()->find(fmt::format("positions.{}", index));
  if (stored == nullptr) return sample;
  if (stored->type.dtype != DType::kInt64)
    return failure("positions of a timed case must be int64; make the pack again");
  EVK_TRY(sample.positions, positions_of(*stored, output.type.elements()));
  OutputSpec spec = output;
  spec.type.shape = {static_cast<std::int64_t>(sample.positions.size())};
  EVK_TRY(sample.golden, golden_of(file, spec, index));
  return sample;
}

}  // namespace

Result<LoadedTimed> load_timed(const Task& task, const ShapeSet& shapes) {
  LoadedTimed loaded;
  EVK_TRY(const CaseFile expected, CaseFile::open(task, shapes.timed->expected_file));
  for (std::size_t i = 0; i < shapes.inputs.size(); ++i) {
    const TensorType& type = shapes.inputs[i].type;
    if (type.dtype != DType::kFloat32 || type.elements() > (std::int64_t{1} << 28))
      return failure(fmt::format("{}: input {} cannot be drawn; make the pack again",
                                 shapes.timed->expected_file, shapes.inputs[i].name));
    loaded.inputs.push_back(drawn(shapes.timed->draws[i], type.elements()));
  }
  for (std::size_t i = 0; i < shapes.outputs.size(); ++i) {
    EVK_TRY(StoredSample sample, sample_of(expected, shapes.outputs[i], i));
    loaded.samples.push_back(std::move(sample));
  }
  loaded.expected_file = expected.file();
  return loaded;
}

Result<LoadedCase> load_case(const Task& task, const ShapeSet& shapes, const TaskCase& which) {
  LoadedCase loaded;
  EVK_TRY(const CaseFile inputs, CaseFile::open(task, which.inputs_file));
  EVK_TRY(const CaseFile expected, CaseFile::open(task, which.expected_file));
  for (std::size_t i = 0; i < shapes.inputs.size(); ++i) {
    EVK_TRY(StoredTensor tensor, inputs.tensor(stored_name(shapes, i), shapes.inputs[i].type));
    loaded.inputs.push_back(std::move(tensor));
  }
  for (std::size_t i = 0; i < shapes.outputs.size(); ++i) {
    EVK_TRY(StoredGolden golden, golden_of(expected, shapes.outputs[i], i));
    loaded.goldens.push_back(std::move(golden));
  }
  loaded.inputs_file = inputs.file();
  loaded.expected_file = expected.file();
  return loaded;
}

}  // namespace evk
