"""demo/rms_norm in the form of six strings: two operators behind one glue, an attribute, a parameter, views between them."""

project_json_src = '''
[
  {"op": "RowRmsCustom",
   "input_desc": [{"name": "x", "format": ["ND"], "type": ["float"], "param_type": "required"}],
   "output_desc": [{"name": "y", "format": ["ND"], "type": ["float"], "param_type": "required"}],
   "attr": [{"name": "epsilon", "type": ["float"], "default_value": 0.5, "param_type": "optional"}]},
  {"op": "ColumnGainCustom",
   "input_desc": [{"name": "x", "format": ["ND"], "type": ["float"], "param_type": "required"},
                  {"name": "gain", "format": ["ND"], "type": ["float"], "param_type": "required"}],
   "output_desc": [{"name": "y", "format": ["ND"], "type": ["float"], "param_type": "required"}]}
]
'''

host_tiling_src = '''
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(RowsTilingData)
  TILING_DATA_FIELD_DEF(uint32_t, rows);
  TILING_DATA_FIELD_DEF(uint32_t, columns);
  TILING_DATA_FIELD_DEF(float, epsilon);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(RowRmsCustom, RowsTilingData)
REGISTER_TILING_DATA_CLASS(ColumnGainCustom, RowsTilingData)
}
'''

host_operator_src = '''
#include "row_rms_custom_tiling.h"
#include "register/op_def_registry.h"

namespace optiling {
static ge::graphStatus Rows(gert::TilingContext* context, float epsilon) {
  const gert::Shape shape = context->GetInputShape(0)->GetStorageShape();
  RowsTilingData tiling;
  tiling.set_rows(static_cast<uint32_t>(shape.GetDim(0)));
  tiling.set_columns(static_cast<uint32_t>(shape.GetDim(1)));
  tiling.set_epsilon(epsilon);
  context->SetBlockDim(20);
  tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
  context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
  context->GetWorkspaceSizes(1)[0] = 0;
  return ge::GRAPH_SUCCESS;
}
static ge::graphStatus RmsTiling(gert::TilingContext* context) {
  return Rows(context, *context->GetAttrs()->GetAttrPointer<float>(0));
}
static ge::graphStatus GainTiling(gert::TilingContext* context) { return Rows(context, 0.0f); }
}

namespace ops {
class RowRmsCustom : public OpDef {
 public:
  explicit RowRmsCustom(const char* name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Attr("epsilon").AttrType(OPTIONAL).Float(0.5);
    this->AICore().SetTiling(optiling::RmsTiling);
    this->AICore().AddConfig("ascend910b");
  }
};
class ColumnGainCustom : public OpDef {
 public:
  explicit ColumnGainCustom(const char* name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Input("gain").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->AICore().SetTiling(optiling::GainTiling);
    this->AICore().AddConfig("ascend910b");
  }
};
OP_ADD(RowRmsCustom);
OP_ADD(ColumnGainCustom);
}
'''

kernel_src = '''
#include "kernel_operator.h"
using namespace AscendC;

class Rows {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, uint32_t rows, uint32_t columns) {
    rows_ = rows;
    columns_ = columns;
    x_.SetGlobalBuffer((__gm__ DTYPE_X*)x, rows * columns);
    y_.SetGlobalBuffer((__gm__ DTYPE_Y*)y, rows * columns);
    const uint32_t bytes = (columns * 4 + 31) / 32 * 32;
    pipe_.InitBuffer(in_, 1, bytes);
    pipe_.InitBuffer(out_, 1, bytes);
    pipe_.InitBuffer(work_, bytes);
    pipe_.InitBuffer(one_, 32);
  }
  __aicore__ inline void Rms(float epsilon) {
    for (uint32_t row = GetBlockIdx(); row < rows_; row += GetBlockNum()) {
      LocalTensor<float> x = Load(row), y = out_.AllocTensor<float>(), work = work_.Get<float>(), one = one_.Get<float>();
      Mul(y, x, x, columns_);
      ReduceSum(one, y, work, columns_);
      Muls(one, one, 1.0f / columns_, 8);
      Adds(one, one, epsilon, 8);
      Sqrt(one, one, 8);
      Muls(y, x, 1.0f / one.GetValue(0), columns_);
      Store(row, x, y);
    }
  }
  __aicore__ inline void Gain(GM_ADDR gain) {
    GlobalTensor<float> g;
    g.SetGlobalBuffer((__gm__ float*)gain, columns_);
    LocalTensor<float> factors = work_.Get<float>();
    DataCopyPad(factors, g, {1, columns_ * 4, 0, 0, 0}, {false, 0, 0, 0});
    PipeBarrier<PIPE_ALL>();
    for (uint32_t row = GetBlockIdx(); row < rows_; row += GetBlockNum()) {
      LocalTensor<float> x = Load(row), y = out_.AllocTensor<float>();
      Mul(y, x, factors, columns_);
      Store(row, x, y);
    }
  }

 private:
  __aicore__ inline LocalTensor<float> Load(uint32_t row) {
    LocalTensor<float> x = in_.AllocTensor<float>();
    DataCopyPad(x, x_[row * columns_], {1, columns_ * 4, 0, 0, 0}, {false, 0, 0, 0});
    in_.EnQue(x);
    return in_.DeQue<float>();
  }
  __aicore__ inline void Store(uint32_t row, LocalTensor<float> x, LocalTensor<float> y) {
    in_.FreeTensor(x);
    out_.EnQue(y);
    y = out_.DeQue<float>();
    DataCopyPad(y_[row * columns_], y, {1, columns_ * 4, 0, 0, 0});
    out_.FreeTensor(y);
  }
  TPipe pipe_;
  TQue<QuePosition::VECIN, 1> in_;
  TQue<QuePosition::VECOUT, 1> out_;
  TBuf<QuePosition::VECCALC> work_, one_;
  GlobalTensor<float> x_, y_;
  uint32_t rows_, columns_;
};

extern "C" __global__ __aicore__ void row_rms_custom(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA(t, tiling);
  Rows rows;
  rows.Init(x, y, t.rows, t.columns);
  rows.Rms(t.epsilon);
}
extern "C" __global__ __aicore__ void column_gain_custom(GM_ADDR x, GM_ADDR gain, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA(t, tiling);
  Rows rows;
  rows.Init(x, y, t.rows, t.columns);
  rows.Gain(gain);
}
'''

python_bind_src = '''
#include <torch/extension.h>
#include "pytorch_npu_helper.hpp"

at::Tensor row_rms(const at::Tensor& x, double epsilon) {
  TORCH_CHECK(x.dim() == 2, "rows and columns");
  at::Tensor y = at::empty_like(x);
  EXEC_NPU_CMD(aclnnRowRmsCustom, x, epsilon, y);
  return y;
}
// Both kernels in one call, through a tensor of its own.
at::Tensor rms_and_gain(const at::Tensor& x, const at::Tensor& gain, double epsilon) {
  at::Tensor middle = at::empty_like(x), y = at::empty(x.sizes(), x.options());
  EXEC_NPU_CMD(aclnnRowRmsCustom, x, epsilon, middle);
  EXEC_NPU_CMD(aclnnColumnGainCustom, middle, gain, y);
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("row_rms", &row_rms, "rows");
  m.def("rms_and_gain", &rms_and_gain, "rows and columns");
  m.def("column_gain", [](const at::Tensor& x, const at::Tensor& gain) {
    at::Tensor y = at::empty_like(x);
    EXEC_NPU_CMD(aclnnColumnGainCustom, x, gain, y);
    return y;
  });
}
'''

model_src = '''
import torch
import torch_npu
import custom_ops_lib


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.gamma = torch.nn.Parameter(torch.ones(columns))

    def forward(self, x):
        rows, columns = x.shape
        y = custom_ops_lib.row_rms(x.reshape(1, rows, columns)[0].contiguous(), 1e-5)
        return custom_ops_lib.column_gain(y.t().contiguous().t(), self.gamma).view(rows, columns)
'''
