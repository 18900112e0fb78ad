// The contexts that tiling and inference functions are called with. The runner fills the public fields at the
// end.
#pragma once

#include <string>
#include <vector>

#include "evk_host/types.h"

namespace fe {
// The chip, as far as tiling asks.
struct PlatFormInfos {
  std::uint32_t aiv_cores = 0, aic_cores = 0;
  std::uint64_t ub_bytes = 0, l1_bytes = 0, l0a_bytes = 0, l0b_bytes = 0, l0c_bytes = 0, l2_bytes = 0,
                hbm_bytes = 0;
  std::string soc;
};
}  // namespace fe

namespace gert {

// Attributes in the order of registration.
class RuntimeAttrs {
 public:
  struct Value {
    std::int64_t integer = 0;
    float real = 0;
    bool flag = false;
    std::string text;
    std::vector<std::int64_t> list;
  };
  template <typename T>
  const T* GetAttrPointer(std::size_t i) const {
    if (i >= values.size()) return nullptr;
    const Value& v = values[i];
    if constexpr (sizeof(T) == sizeof(bool))
      return reinterpret_cast<const T*>(&v.flag);
    else if constexpr (T(0.5f) != T(0))
      return reinterpret_cast<const T*>(&v.real);
    else
      return reinterpret_cast<const T*>(&v.integer);
  }
  const std::int64_t* GetInt(std::size_t i) const { return i < values.size() ? &values[i].integer : nullptr; }
  const float* GetFloat(std::size_t i) const { return i < values.size() ? &values[i].real : nullptr; }
  const bool* GetBool(std::size_t i) const { return i < values.size() ? &values[i].flag : nullptr; }
  const char* GetStr(std::size_t i) const { return i < values.size() ? values[i].text.c_str() : nullptr; }
  std::size_t GetAttrNum() const { return values.size(); }
  std::vector<Value> values;
};

class TilingData {
 public:
  void* GetData() { return bytes.data(); }
  const void* GetData() const { return bytes.data(); }
  std::size_t GetCapacity() const { return bytes.size(); }
  std::size_t GetDataSize() const { return size; }
  void SetDataSize(std::size_t n) { size = n; }
  std::vector<unsigned char> bytes = std::vector<unsigned char>(16384);
  std::size_t size = 0;
};

class TilingContext {
 public:
  const StorageShape* GetInputShape(std::size_t i) const {
    return i < inputs.size() ? &inputs[i].shape : nullptr;
  }
  const StorageShape* GetRequiredInputShape(std::size_t i) const { return GetInputShape(i); }
  const StorageShape* GetOptionalInputShape(std::size_t i) const { return GetInputShape(i); }
  const StorageShape* GetOutputShape(std::size_t i) const {
    return i < outputs.size() ? &outputs[i].shape : nullptr;
  }
  const Tensor* GetInputTensor(std::size_t i) const { return i < inputs.size() ? &inputs[i] : nullptr; }
  const Tensor* GetRequiredInputTensor(std::size_t i) const { return GetInputTensor(i); }
  const Tensor* GetOptionalInputTensor(std::size_t i) const { return GetInputTensor(i); }
  const CompileTimeTensorDesc* GetInputDesc(std::size_t i) const {
    return i < input_descs.size() ? &input_descs[i] : nullptr;
  }
  const CompileTimeTensorDesc* GetOutputDesc(std::size_t i) const {
    return i < output_descs.size() ? &output_descs[i] : nullptr;
  }
  std::size_t GetComputeNodeInputNum() const { return inputs.size(); }
  std::size_t GetComputeNodeOutputNum() const { return outputs.size(); }
  const RuntimeAttrs* GetAttrs() const { return &attrs; }
  const char* GetNodeName() const { return name.c_str(); }
  const char* GetNodeType() const { return name.c_str(); }
  fe::PlatFormInfos* GetPlatformInfo() const { return &platform; }
  const void* GetCompileInfo() const { return nullptr; }
  std::size_t* GetWorkspaceSizes(std::size_t n) {
    if (n > 16) return nullptr;
    if (workspaces.size() < n) workspaces.resize(n, 0);
    return workspaces.data();
  }
  std::size_t GetWorkspaceNum() const { return workspaces.size(); }
  ge::graphStatus SetBlockDim(std::uint32_t n) {
    block_dim = n;
    return ge::GRAPH_SUCCESS;
  }
  ge::graphStatus SetSimdNumBlocks(std::uint32_t n) { return SetBlockDim(n); }
  std::uint32_t GetBlockDim() const { return block_dim; }
  ge::graphStatus SetTilingKey(std::uint64_t key) {
    tiling_key = key;
    return ge::GRAPH_SUCCESS;
  }
  std::uint64_t GetTilingKey() const { return tiling_key; }
  ge::graphStatus SetScheduleMode(std::uint32_t) { return ge::GRAPH_SUCCESS; }
  ge::graphStatus SetNeedAtomic(bool) { return ge::GRAPH_SUCCESS; }
  TilingData* GetRawTilingData() { return &tiling; }
  template <typename T>
  T* GetTilingData() {
    static_assert(sizeof(T) <= 16384, "tiling data larger than 16 KB");
    tiling.size = sizeof(T);
    return reinterpret_cast<T*>(tiling.bytes.data());
  }

  std::string name;
  std::vector<Tensor> inputs, outputs;
  std::vector<CompileTimeTensorDesc> input_descs, output_descs;
  RuntimeAttrs attrs;
  mutable fe::PlatFormInfos platform;
  std::vector<std::size_t> workspaces;
  std::uint32_t block_dim = 0;
  std::uint64_t tiling_key = 0;
  TilingData tiling;
};

class InferShapeContext {
 public:
  const Shape* GetInputShape(std::size_t i) const { return i < inputs.size() ? &inputs[i] : nullptr; }
  const Shape* GetOptionalInputShape(std::size_t i) const { return GetInputShape(i); }
  Shape* GetOutputShape(std::size_t i) { return i < outputs.size() ? &outputs[i] : nullptr; }
  const RuntimeAttrs* GetAttrs() const { return &attrs; }
  std::vector<Shape> inputs, outputs;
  RuntimeAttrs attrs;
};

class InferDataTypeContext {
 public:
  ge::DataType GetInputDataType(std::size_t i) const {
    return i < inputs.size() ? inputs[i] : ge::DT_UNDEFINED;
  }
  ge::DataType GetOutputDataType(std::size_t i) const {
    return i < outputs.size() ? outputs[i] : ge::DT_UNDEFINED;
  }
  ge::graphStatus SetOutputDataType(std::size_t i, ge::DataType t) {
    if (i >= outputs.size()) return ge::GRAPH_FAILED;
    outputs[i] = t;
    return ge::GRAPH_SUCCESS;
  }
  std::vector<ge::DataType> inputs, outputs;
};

}  // namespace gert
