#include "softmax_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
  SoftmaxTilingData tiling;
  const gert::Shape& shape = context->GetInputShape(0)->GetStorageShape();
  const uint32_t columns = static_cast<uint32_t>(shape.GetDim(shape.GetDimNum() - 1));
  const uint32_t rows = static_cast<uint32_t>(shape.GetShapeSize() / columns);
  auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
  uint32_t blocks = platform.GetCoreNumAiv() > 4 ? 4 : platform.GetCoreNumAiv();
  const uint32_t rowsPerBlock = (rows + blocks - 1) / blocks;
  blocks = (rows + rowsPerBlock - 1) / rowsPerBlock;
  tiling.set_rows(rows);
  tiling.set_columns(columns);
  tiling.set_rowsPerBlock(rowsPerBlock);
  context->SetBlockDim(blocks);
  tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
  context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
  size_t* workspace = context->GetWorkspaceSizes(1);
  workspace[0] = 0;
  return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
  *context->GetOutputShape(0) = *context->GetInputShape(0);
  return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class Softmax : public OpDef {
 public:
  explicit Softmax(const char* name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND}).UnknownShapeFormat({ge::FORMAT_ND});
    this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND}).UnknownShapeFormat({ge::FORMAT_ND});
    this->SetInferShape(ge::InferShape);
    this->AICore().SetTiling(optiling::TilingFunc);
    this->AICore().AddConfig("ascend910b");
  }
};
OP_ADD(Softmax);
}  // namespace ops
