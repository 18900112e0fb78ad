// Registration of an operator: inputs, outputs, attributes, tiling, inference, chips. OP_ADD and
// IMPL_OP_OPTILING hand it to the runner at load. What is registered lies in memory of the runner's, in
// arrays of fixed size.
#pragma once

#include <initializer_list>

#include "evk_host/context.h"

// Given by the runner: zeroed memory that lives as long as the program.
extern "C" void* evk_twin_allocate(std::size_t bytes);

namespace ops {

enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3, VIRTUAL = 4 };

namespace evk_detail {

constexpr std::size_t kNameMax = 64, kListMax = 64, kTensorsMax = 64, kAttrsMax = 32, kSocsMax = 16;

inline void copy_name(char (&into)[kNameMax], const char* from) {
  std::size_t i = 0;
  for (; from && from[i] && i + 1 < kNameMax; ++i) into[i] = from[i];
  into[i] = '\0';
}
template <typename T>
T* allocate(std::size_t n) {
  return static_cast<T*>(evk_twin_allocate(n * sizeof(T)));
}

}  // namespace evk_detail

class OpParamDef {
 public:
  OpParamDef& ParamType(Option o) {
    option = o;
    return *this;
  }
  OpParamDef& DataType(std::initializer_list<ge::DataType> t) { return set_dtypes(t.begin(), t.size()); }
  OpParamDef& DataTypeList(std::initializer_list<ge::DataType> t) { return set_dtypes(t.begin(), t.size()); }
  template <typename List>
  OpParamDef& DataType(const List& t) {
    return set_dtypes(t.data(), t.size());
  }
  template <typename List>
  OpParamDef& DataTypeList(const List& t) {
    return set_dtypes(t.data(), t.size());
  }
  OpParamDef& Format(std::initializer_list<ge::Format>) { return *this; }
  OpParamDef& FormatList(std::initializer_list<ge::Format>) { return *this; }
  OpParamDef& UnknownShapeFormat(std::initializer_list<ge::Format>) { return *this; }
  template <typename List>
  OpParamDef& Format(const List&) {
    return *this;
  }
  template <typename List>
  OpParamDef& FormatList(const List&) {
    return *this;
  }
  template <typename List>
  OpParamDef& UnknownShapeFormat(const List&) {
    return *this;
  }
  OpParamDef& AutoContiguous() { return *this; }
  OpParamDef& IgnoreContiguous() { return *this; }
  OpParamDef& ValueDepend(Option) { return *this; }

  char name[evk_detail::kNameMax];
  Option option;
  std::size_t dtype_count;
  ge::DataType dtypes[evk_detail::kListMax];

 private:
  OpParamDef& set_dtypes(const ge::DataType* t, std::size_t n) {
    dtype_count = n < evk_detail::kListMax ? n : evk_detail::kListMax;
    for (std::size_t i = 0; i < dtype_count; ++i) dtypes[i] = t[i];
    return *this;
  }
};

class OpAttrDef {
 public:
  OpAttrDef& AttrType(Option o) {
    option = o;
    return *this;
  }
  OpAttrDef& Int(std::int64_t v = 0) {
    value.integer = v;
    return *this;
  }
  OpAttrDef& Float(float v = 0) {
    value.real = v;
    return *this;
  }
  OpAttrDef& Bool(bool v = false) {
    value.flag = v;
    return *this;
  }
  OpAttrDef& String(const char* v = "") {
    value.text = v;
    return *this;
  }
  OpAttrDef& ListInt(std::initializer_list<std::int64_t> v = {}) { return set_list(value.list, v); }
  OpAttrDef& ListFloat(std::initializer_list<float> v = {}) { return set_list(value.reals, v); }

  char name[evk_detail::kNameMax];
  Option option;
  gert::RuntimeAttrs::Value value;

 private:
  template <typename T>
  OpAttrDef& set_list(gert::TypedContinuousVector<T>& into, std::initializer_list<T> v) {
    T* copy = evk_detail::allocate<T>(v.size());
    for (std::size_t i = 0; i < v.size(); ++i) copy[i] = v.begin()[i];
    into.data = copy;
    into.size = v.size();
    return *this;
  }
};

class OpAICoreConfig {
 public:
  OpAICoreConfig& DynamicCompileStaticFlag(bool) { return *this; }
  OpAICoreConfig& DynamicFormatFlag(bool) { return *this; }
  OpAICoreConfig& DynamicRankSupportFlag(bool) { return *this; }
  OpAICoreConfig& DynamicShapeSupportFlag(bool) { return *this; }
  OpAICoreConfig& NeedCheckSupportFlag(bool) { return *this; }
  OpAICoreConfig& PrecisionReduceFlag(bool) { return *this; }
  OpAICoreConfig& ExtendCfgInfo(const char*, const char*) { return *this; }
};

using TilingFunc = ge::graphStatus (*)(gert::TilingContext*);
using TilingParseFunc = ge::graphStatus (*)(gert::TilingParseContext*);
using InferShapeFunc = ge::graphStatus (*)(gert::InferShapeContext*);
using InferDataTypeFunc = ge::graphStatus (*)(gert::InferDataTypeContext*);

class OpAICoreDef {
 public:
  OpAICoreDef& SetTiling(TilingFunc f) {
    tiling = f;
    return *this;
  }
  OpAICoreDef& AddConfig(const char* soc) {
    if (soc_count < evk_detail::kSocsMax) evk_detail::copy_name(socs[soc_count++], soc);
    return *this;
  }
  OpAICoreDef& AddConfig(const char* soc, const OpAICoreConfig&) { return AddConfig(soc); }

  TilingFunc tiling;
  std::size_t soc_count;
  char socs[evk_detail::kSocsMax][evk_detail::kNameMax];
};

// What an operator registered.
struct OpData {
  char name[evk_detail::kNameMax];
  std::size_t input_count, output_count, attr_count;
  OpParamDef inputs[evk_detail::kTensorsMax], outputs[evk_detail::kTensorsMax];
  OpAttrDef attrs[evk_detail::kAttrsMax];
  OpAICoreDef core;
  InferShapeFunc infer_shape;
  InferDataTypeFunc infer_dtype;
};

class OpDef {
 public:
  explicit OpDef(const char* n) : data(evk_detail::allocate<OpData>(1)) {
    evk_detail::copy_name(data->name, n);
  }
  OpParamDef& Input(const char* n) {
    return add(data->inputs, data->input_count, evk_detail::kTensorsMax, n);
  }
  OpParamDef& Output(const char* n) {
    return add(data->outputs, data->output_count, evk_detail::kTensorsMax, n);
  }
  OpAttrDef& Attr(const char* n) { return add(data->attrs, data->attr_count, evk_detail::kAttrsMax, n); }
  OpAICoreDef& AICore() { return data->core; }
  OpDef& SetInferShape(InferShapeFunc f) {
    data->infer_shape = f;
    return *this;
  }
  OpDef& SetInferDataType(InferDataTypeFunc f) {
    data->infer_dtype = f;
    return *this;
  }
  OpData* data;

 private:
  // Beyond the end of an array the last entry is named anew: no operator has that many.
  template <typename T>
  static T& add(T* list, std::size_t& count, std::size_t max, const char* n) {
    T& entry = list[count < max ? count++ : max - 1];
    evk_detail::copy_name(entry.name, n);
    entry.option = REQUIRED;
    return entry;
  }
};

}  // namespace ops

// Given by the runner: an operator's registration, and a tiling function that is registered apart from it.
extern "C" {
void evk_twin_register_op(ops::OpData* op);
void evk_twin_register_tiling(ops::TilingFunc tiling, ops::TilingParseFunc parse);
}

namespace ops {
namespace evk_detail {

class OptilingRegister {
 public:
  OptilingRegister Tiling(TilingFunc f) const {
    evk_twin_register_tiling(f, nullptr);
    return *this;
  }
  template <typename CompileInfo>
  OptilingRegister TilingParse(TilingParseFunc f) const {
    evk_twin_register_tiling(nullptr, f);
    return *this;
  }
  OptilingRegister TilingInputsDataDependency(std::initializer_list<int>) const { return *this; }
};
// Inference is not run: the launch knows its shapes.
class InferRegister {
 public:
  InferRegister InferShape(InferShapeFunc) const { return *this; }
  InferRegister InferDataType(InferDataTypeFunc) const { return *this; }
};

}  // namespace evk_detail
}  // namespace ops

#define OP_ADD(Class)                    \
  static Class g_evk_op_##Class(#Class); \
  static const bool g_evk_added_##Class = (evk_twin_register_op(g_evk_op_##Class.data), true)
#define IMPL_OP_OPTILING(Op) \
  static const ::ops::evk_detail::OptilingRegister g_evk_tiling_##Op = ::ops::evk_detail::OptilingRegister()
#define IMPL_OP_INFERSHAPE(Op) \
  static const ::ops::evk_detail::InferRegister g_evk_infer_##Op = ::ops::evk_detail::InferRegister()

// Logging of the host side goes nowhere.
#define OP_LOGD(...) static_cast<void>(0)
#define OP_LOGI(...) static_cast<void>(0)
#define OP_LOGW(...) static_cast<void>(0)
#define OP_LOGE(...) static_cast<void>(0)
#define OP_CHECK(condition, log, ...) \
  if (condition) {                    \
    log;                              \
    __VA_ARGS__;                      \
  }
#define OP_CHECK_IF(condition, log, ...) OP_CHECK(condition, log, __VA_ARGS__)
#define OP_CHECK_NULL_WITH_CONTEXT(context, pointer) \
  if ((pointer) == nullptr) return ge::GRAPH_FAILED
