// The contexts that tiling and inference functions are called with. The runner fills the public fields at the
// end, and owns what they point to. No containers here: every operator's host source pays for what this
// header instantiates.
#pragma once

#include <type_traits>

#include "evk_host/types.h"

namespace fe {
// The chip, as far as tiling asks.
struct PlatFormInfos {
  std::uint32_t aiv_cores = 0, aic_cores = 0;
  std::uint64_t ub_bytes = 0, l1_bytes = 0, l0a_bytes = 0, l0b_bytes = 0, l0c_bytes = 0, l2_bytes = 0,
                hbm_bytes = 0;
  const char* soc = "";
};
}  // namespace fe

namespace gert {

// A list that an attribute holds.
template <typename T>
class TypedContinuousVector {
 public:
  std::size_t GetSize() const { return size; }
  const T* GetData() const { return data; }
  const T* data = nullptr;
  std::size_t size = 0;
};

// Attributes in the order of registration.
class RuntimeAttrs {
 public:
  struct Value {
    std::int64_t integer = 0;
    float real = 0;
    bool flag = false;
    const char* text = "";
    TypedContinuousVector<std::int64_t> list;
    TypedContinuousVector<float> reals;
  };
  template <typename T>
  const T* GetAttrPointer(std::size_t i) const {
    if (i >= count) return nullptr;
    const Value& v = values[i];
    if constexpr (std::is_same_v<T, char>)
      return v.text;
    else if constexpr (std::is_same_v<T, bool>)
      return &v.flag;
    else if constexpr (std::is_floating_point_v<T>)
      return reinterpret_cast<const T*>(&v.real);
    else
      return reinterpret_cast<const T*>(&v.integer);
  }
  const std::int64_t* GetInt(std::size_t i) const { return i < count ? &values[i].integer : nullptr; }
  const float* GetFloat(std::size_t i) const { return i < count ? &values[i].real : nullptr; }
  const bool* GetBool(std::size_t i) const { return i < count ? &values[i].flag : nullptr; }
  const char* GetStr(std::size_t i) const { return i < count ? values[i].text : nullptr; }
  const TypedContinuousVector<std::int64_t>* GetListInt(std::size_t i) const {
    return i < count ? &values[i].list : nullptr;
  }
  const TypedContinuousVector<float>* GetListFloat(std::size_t i) const {
    return i < count ? &values[i].reals : nullptr;
  }
  std::size_t GetAttrNum() const { return count; }

  const Value* values = nullptr;
  std::size_t count = 0;
};

class TilingData {
 public:
  void* GetData() { return bytes; }
  const void* GetData() const { return bytes; }
  std::size_t GetCapacity() const { return capacity; }
  std::size_t GetDataSize() const { return size; }
  void SetDataSize(std::size_t n) { size = n; }

  void* bytes = nullptr;
  std::size_t capacity = 0, size = 0;
};

// Tensors of one side of an operator.
template <typename T>
struct TensorList {
  const T* at(std::size_t i) const { return i < count ? data + i : nullptr; }
  T* data = nullptr;
  std::size_t count = 0;
};

class TilingContext {
 public:
  static constexpr std::size_t kTilingBytesMax = 16384, kWorkspacesMax = 16;

  const StorageShape* GetInputShape(std::size_t i) const { return shape_of(inputs.at(i)); }
  const StorageShape* GetRequiredInputShape(std::size_t i) const { return GetInputShape(i); }
  const StorageShape* GetOptionalInputShape(std::size_t i) const { return GetInputShape(i); }
  const StorageShape* GetDynamicInputShape(std::size_t i, std::size_t relative) const {
    return GetInputShape(i + relative);
  }
  const StorageShape* GetOutputShape(std::size_t i) const { return shape_of(outputs.at(i)); }
  const Tensor* GetInputTensor(std::size_t i) const { return inputs.at(i); }
  const Tensor* GetRequiredInputTensor(std::size_t i) const { return inputs.at(i); }
  const Tensor* GetOptionalInputTensor(std::size_t i) const { return inputs.at(i); }
  const Tensor* GetDynamicInputTensor(std::size_t i, std::size_t relative) const {
    return inputs.at(i + relative);
  }
  const CompileTimeTensorDesc* GetInputDesc(std::size_t i) const { return input_descs.at(i); }
  const CompileTimeTensorDesc* GetRequiredInputDesc(std::size_t i) const { return input_descs.at(i); }
  const CompileTimeTensorDesc* GetOptionalInputDesc(std::size_t i) const { return input_descs.at(i); }
  const CompileTimeTensorDesc* GetDynamicInputDesc(std::size_t i, std::size_t relative) const {
    return input_descs.at(i + relative);
  }
  const CompileTimeTensorDesc* GetOutputDesc(std::size_t i) const { return output_descs.at(i); }
  std::size_t GetComputeNodeInputNum() const { return inputs.count; }
  std::size_t GetComputeNodeOutputNum() const { return outputs.count; }
  const RuntimeAttrs* GetAttrs() const { return &attrs; }
  const char* GetNodeName() const { return name; }
  const char* GetNodeType() const { return name; }
  fe::PlatFormInfos* GetPlatformInfo() const { return &platform; }
  const void* GetCompileInfo() const { return compile_info; }
  template <typename T>
  const T* GetCompileInfo() const {
    return static_cast<const T*>(compile_info);
  }
  // Never fewer than one: kernels are launched with a workspace argument even if its size is 0.
  std::size_t* GetWorkspaceSizes(std::size_t n) {
    if (n > kWorkspacesMax) return nullptr;
    if (n > workspace_count) workspace_count = n;
    return workspaces;
  }
  std::size_t GetWorkspaceNum() const { return workspace_count; }
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
    static_assert(sizeof(T) <= kTilingBytesMax, "tiling data larger than 16 KB");
    tiling.size = sizeof(T);
    return static_cast<T*>(tiling.bytes);
  }

  const char* name = "";
  TensorList<Tensor> inputs, outputs;
  TensorList<CompileTimeTensorDesc> input_descs, output_descs;
  RuntimeAttrs attrs;
  mutable fe::PlatFormInfos platform;
  const void* compile_info = nullptr;
  std::size_t workspaces[kWorkspacesMax] = {};
  std::size_t workspace_count = 0;
  std::uint32_t block_dim = 0;
  std::uint64_t tiling_key = 0;
  TilingData tiling;

 private:
  static const StorageShape* shape_of(const Tensor* t) { return t ? &t->shape : nullptr; }
};

// For functions that prepare data once for an operator, before its tiling.
class TilingParseContext {
 public:
  static constexpr std::size_t kCompileInfoBytesMax = 4096;
  template <typename T>
  T* GetCompiledInfo() {
    static_assert(sizeof(T) <= kCompileInfoBytesMax, "compile info larger than 4 KB");
    return static_cast<T*>(compile_info);
  }
  fe::PlatFormInfos* GetPlatformInfo() const { return platform; }
  const char* GetNodeName() const { return name; }

  void* compile_info = nullptr;
  fe::PlatFormInfos* platform = nullptr;
  const char* name = "";
};

class InferShapeContext {
 public:
  const Shape* GetInputShape(std::size_t i) const { return inputs.at(i); }
  const Shape* GetRequiredInputShape(std::size_t i) const { return inputs.at(i); }
  const Shape* GetOptionalInputShape(std::size_t i) const { return inputs.at(i); }
  Shape* GetOutputShape(std::size_t i) { return i < outputs.count ? outputs.data + i : nullptr; }
  const RuntimeAttrs* GetAttrs() const { return &attrs; }
  const char* GetNodeName() const { return ""; }
  TensorList<Shape> inputs, outputs;
  RuntimeAttrs attrs;
};

class InferDataTypeContext {
 public:
  ge::DataType GetInputDataType(std::size_t i) const {
    return i < inputs.count ? inputs.data[i] : ge::DT_UNDEFINED;
  }
  ge::DataType GetOutputDataType(std::size_t i) const {
    return i < outputs.count ? outputs.data[i] : ge::DT_UNDEFINED;
  }
  ge::graphStatus SetOutputDataType(std::size_t i, ge::DataType t) {
    if (i >= outputs.count) return ge::GRAPH_FAILED;
    outputs.data[i] = t;
    return ge::GRAPH_SUCCESS;
  }
  TensorList<ge::DataType> inputs, outputs;
};

}  // namespace gert
