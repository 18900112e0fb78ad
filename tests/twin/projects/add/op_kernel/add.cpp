#include "kernel_operator.h"
using namespace AscendC;
constexpr int32_t BUFFER_NUM = 2;
class KernelAdd {
 public:
  __aicore__ inline KernelAdd() {}
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total, uint32_t tile) {
    tile_ = tile;
    per_ = (total + GetBlockNum() - 1) / GetBlockNum();
    start_ = per_ * GetBlockIdx();
    n_ = start_ >= total ? 0 : (start_ + per_ > total ? total - start_ : per_);
    xg.SetGlobalBuffer((__gm__ float*)x + start_, n_);
    yg.SetGlobalBuffer((__gm__ float*)y + start_, n_);
    zg.SetGlobalBuffer((__gm__ float*)z + start_, n_);
    pipe.InitBuffer(xq, BUFFER_NUM, tile * sizeof(float));
    pipe.InitBuffer(yq, BUFFER_NUM, tile * sizeof(float));
    pipe.InitBuffer(zq, BUFFER_NUM, tile * sizeof(float));
  }
  __aicore__ inline void Process() {
    for (uint32_t at = 0; at < n_; at += tile_) {
      uint32_t m = n_ - at < tile_ ? n_ - at : tile_;
      DataCopyExtParams p{1, (uint32_t)(m * sizeof(float)), 0, 0, 0};
      DataCopyPadExtParams<float> pad{false, 0, 0, 0};
      LocalTensor<float> a = xq.AllocTensor<float>();
      DataCopyPad(a, xg[at], p, pad);
      xq.EnQue(a);
      LocalTensor<float> b = yq.AllocTensor<float>();
      DataCopyPad(b, yg[at], p, pad);
      yq.EnQue(b);
      a = xq.DeQue<float>();
      b = yq.DeQue<float>();
      LocalTensor<float> c = zq.AllocTensor<float>();
      Add(c, a, b, m);
      zq.EnQue<float>(c);
      xq.FreeTensor(a);
      yq.FreeTensor(b);
      c = zq.DeQue<float>();
      DataCopyPad(zg[at], c, p);
      zq.FreeTensor(c);
    }
  }

 private:
  TPipe pipe;
  TQue<QuePosition::VECIN, BUFFER_NUM> xq, yq;
  TQue<QuePosition::VECOUT, BUFFER_NUM> zq;
  GlobalTensor<float> xg, yg, zg;
  uint32_t tile_, per_, start_, n_;
};
extern "C" __global__ __aicore__ void add(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace,
                                          GM_ADDR tiling) {
  GET_TILING_DATA(t, tiling);
  KernelAdd op;
  op.Init(x, y, z, t.total, t.tile);
  op.Process();
}
