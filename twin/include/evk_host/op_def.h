// Registration of an operator: inputs, outputs, attributes, tiling, inference, chips. OP_ADD hands it to the
// runner at load.
#pragma once

#include <initializer_list>
#include <list>
#include <string>
#include <vector>

#include "evk_host/context.h"

namespace ops {

enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3, VIRTUAL = 4 };

class OpParamDef {
 public:
  explicit OpParamDef(const char* n) : name(n) {}
  OpParamDef& ParamType(Option o) {
    option = o;
    return *this;
  }
  OpParamDef& DataType(std::vector<ge::DataType> t) {
    dtypes = std::move(t);
    return *this;
  }
  OpParamDef& DataTypeList(std::vector<ge::DataType> t) {
    dtypes = std::move(t);
    return *this;
  }
  OpParamDef& Format(std::vector<ge::Format> f) {
    formats = std::move(f);
    return *this;
  }
  OpParamDef& FormatList(std::vector<ge::Format> f) {
    formats = std::move(f);
    return *this;
  }
  OpParamDef& UnknownShapeFormat(std::vector<ge::Format>) { return *this; }
  OpParamDef& AutoContiguous() { return *this; }
  OpParamDef& IgnoreContiguous() { return *this; }
  OpParamDef& ValueDepend(Option) { return *this; }
  std::string name;
  Option option = REQUIRED;
  std::vector<ge::DataType> dtypes;
  std::vector<ge::Format> formats;
};

class OpAttrDef {
 public:
  explicit OpAttrDef(const char* n) : name(n) {}
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
  OpAttrDef& ListInt(std::vector<std::int64_t> v = {}) {
    value.list = std::move(v);
    return *this;
  }
  std::string name;
  Option option = REQUIRED;
  gert::RuntimeAttrs::Value value;
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

class OpAICoreDef {
 public:
  OpAICoreDef& SetTiling(TilingFunc f) {
    tiling = f;
    return *this;
  }
  OpAICoreDef& AddConfig(const char* soc) {
    socs.emplace_back(soc);
    return *this;
  }
  OpAICoreDef& AddConfig(const char* soc, const OpAICoreConfig&) {
    socs.emplace_back(soc);
    return *this;
  }
  TilingFunc tiling = nullptr;
  std::vector<std::string> socs;
};

class OpDef {
 public:
  explicit OpDef(const char* n) : name(n) {}
  OpParamDef& Input(const char* n) { return inputs.emplace_back(n); }
  OpParamDef& Output(const char* n) { return outputs.emplace_back(n); }
  OpAttrDef& Attr(const char* n) { return attrs.emplace_back(n); }
  OpAICoreDef& AICore() { return core; }
  OpDef& SetInferShape(ge::graphStatus (*f)(gert::InferShapeContext*)) {
    infer_shape = f;
    return *this;
  }
  OpDef& SetInferDataType(ge::graphStatus (*f)(gert::InferDataTypeContext*)) {
    infer_dtype = f;
    return *this;
  }
  std::string name;
  std::list<OpParamDef> inputs, outputs;  // a list: references given out stay valid
  std::list<OpAttrDef> attrs;
  OpAICoreDef core;
  ge::graphStatus (*infer_shape)(gert::InferShapeContext*) = nullptr;
  ge::graphStatus (*infer_dtype)(gert::InferDataTypeContext*) = nullptr;
};

}  // namespace ops

// Given by the runner: takes the registration of one operator. The object lives as long as the program.
extern "C" void evk_twin_register_op(ops::OpDef* op);

#define OP_ADD(Class)                                                               \
  static Class g_evk_op_##Class(#Class);                                            \
  namespace {                                                                       \
  const bool g_evk_added_##Class = (evk_twin_register_op(&g_evk_op_##Class), true); \
  }
