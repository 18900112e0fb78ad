#include "task/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

}  // namespace

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
