// y = leaky relu of x * w + b: the product on cube cores, the activation on vector cores, tile by tile.
#include "matmul_bias_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {

static ge::graphStatus Tiling(gert::TilingContext* context) {
  auto chip = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
  const auto x = context->GetInputShape(0)->GetStorageShape(),
             w = context->GetInputShape(1)->GetStorageShape();
  const int32_t m = x.GetDim(0), k = x.GetDim(1), n = w.GetDim(1);
  using namespace matmul_tiling;
  MultiCoreMatmulTiling cube(chip);
  cube.SetDim(chip.GetCoreNumAiv());
  cube.SetAType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT16);
  cube.SetBType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT16);
  cube.SetCType(TPosition::VECIN, CubeFormat::ND, DataType::DT_FLOAT);
  cube.SetBiasType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
  cube.SetShape(m, n, k);
  cube.SetOrgShape(m, n, k);
  cube.SetBias(true);
  cube.SetFixSplit(64, 128, -1);
  MatmulBiasTilingData data;
  if (cube.GetTiling(data.cube) == -1) return ge::GRAPH_FAILED;
  data.set_slope(0.5f);
  context->SetBlockDim((data.cube.usedCoreNum + 1) / 2);
  context->GetWorkspaceSizes(1)[0] = chip.GetLibApiWorkSpaceSize();
  data.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
  context->GetRawTilingData()->SetDataSize(data.GetDataSize());
  return ge::GRAPH_SUCCESS;
}

}  // namespace optiling

namespace ops {
class MatmulBias : public OpDef {
 public:
  explicit MatmulBias(const char* name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
    this->Input("w").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
    this->Input("b").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->AICore().SetTiling(optiling::Tiling).AddConfig("ascend910b");
  }
};
OP_ADD(MatmulBias);
}  // namespace ops
