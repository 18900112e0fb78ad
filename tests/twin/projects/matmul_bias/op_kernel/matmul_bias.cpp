#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace AscendC;

class MatmulBias {
 public:
  matmul::Matmul<
      MatmulType<TPosition::GM, CubeFormat::ND, half>, MatmulType<TPosition::GM, CubeFormat::ND, half>,
      MatmulType<TPosition::VECIN, CubeFormat::ND, float>, MatmulType<TPosition::GM, CubeFormat::ND, float>>
      product;

  __aicore__ inline void Init(GM_ADDR x, GM_ADDR w, GM_ADDR b, GM_ADDR y, const TCubeTiling& tiling,
                              TPipe& pipe) {
    tiling_ = tiling;
    const int down = (tiling.M + tiling.singleCoreM - 1) / tiling.singleCoreM;
    const int row = GetBlockIdx() % down * tiling.singleCoreM,
              column = GetBlockIdx() / down * tiling.singleCoreN;
    rows_ = tiling.M - row < tiling.singleCoreM ? tiling.M - row : tiling.singleCoreM;
    columns_ = tiling.N - column < tiling.singleCoreN ? tiling.N - column : tiling.singleCoreN;
    x_.SetGlobalBuffer((__gm__ half*)x + row * tiling.Ka);
    w_.SetGlobalBuffer((__gm__ half*)w + column);
    b_.SetGlobalBuffer((__gm__ float*)b + column);
    y_.SetGlobalBuffer((__gm__ float*)y + row * tiling.N + column);
    pipe.InitBuffer(out_, 1, tiling.baseM * tiling.baseN * sizeof(float));
  }
  __aicore__ inline void Process(float slope) {
    if (rows_ <= 0 || columns_ <= 0) return;
    product.SetTail(rows_, columns_);
    product.SetTensorA(x_);
    product.SetTensorB(w_);
    product.SetBias(b_);
    const int down = (rows_ + tiling_.baseM - 1) / tiling_.baseM;
    for (int tile = 0; product.Iterate(); ++tile) {
      const int row = tile % down * tiling_.baseM, column = tile / down * tiling_.baseN;
      const int h = rows_ - row < tiling_.baseM ? rows_ - row : tiling_.baseM;
      const int w = columns_ - column < tiling_.baseN ? columns_ - column : tiling_.baseN;
      LocalTensor<float> t = out_.AllocTensor<float>();
      product.GetTensorC(t);
      LeakyRelu(t, t, slope, h * ((w + 7) / 8 * 8));
      out_.EnQue(t);
      t = out_.DeQue<float>();
      DataCopyPad(y_[row * tiling_.N + column], t,
                  DataCopyExtParams{(uint16_t)h, (uint32_t)(w * sizeof(float)), 0,
                                    (uint32_t)((tiling_.N - w) * sizeof(float)), 0});
      out_.FreeTensor(t);
    }
    product.End();
  }

 private:
  TCubeTiling tiling_;
  int rows_ = 0, columns_ = 0;
  GlobalTensor<half> x_, w_;
  GlobalTensor<float> b_, y_;
  TQue<TPosition::VECOUT, 1> out_;
};

extern "C" __global__ __aicore__ void matmul_bias(GM_ADDR x, GM_ADDR w, GM_ADDR b, GM_ADDR y,
                                                  GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  GET_TILING_DATA(data, tiling);
  TPipe pipe;
  MatmulBias op;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), op.product, &data.cube);
  op.Init(x, w, b, y, data.cube, pipe);
  op.Process(data.slope);
}
