#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;

class KernelAffine {
 public:
  __aicore__ inline KernelAffine() {}
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, uint32_t total, uint32_t perBlock, uint32_t tile) {
    tile_ = tile;
    const uint32_t start = perBlock * GetBlockIdx();
    count_ = start >= total ? 0 : (start + perBlock > total ? total - start : perBlock);
    xGm_.SetGlobalBuffer((__gm__ float*)x + start, count_);
    yGm_.SetGlobalBuffer((__gm__ float*)y + start, count_);
    pipe_.InitBuffer(inQueue_, BUFFER_NUM, tile * sizeof(float));
    pipe_.InitBuffer(outQueue_, BUFFER_NUM, tile * sizeof(float));
  }
  __aicore__ inline void Process() {
    for (uint32_t at = 0; at < count_; at += tile_) {
      const uint32_t length = count_ - at < tile_ ? count_ - at : tile_;
      CopyIn(at, length);
      Compute(length);
      CopyOut(at, length);
    }
  }

 private:
  __aicore__ inline void CopyIn(uint32_t at, uint32_t length) {
    LocalTensor<float> x = inQueue_.AllocTensor<float>();
    DataCopyExtParams params{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
    DataCopyPadExtParams<float> pad{false, 0, 0, 0};
    DataCopyPad(x, xGm_[at], params, pad);
    inQueue_.EnQue(x);
  }
  __aicore__ inline void Compute(uint32_t length) {
    LocalTensor<float> x = inQueue_.DeQue<float>();
    LocalTensor<float> y = outQueue_.AllocTensor<float>();
    for (uint32_t i = 0; i < length; ++i) y.SetValue(i, x.GetValue(i) * 2.0f + 1.0f);
    outQueue_.EnQue<float>(y);
    inQueue_.FreeTensor(x);
  }
  __aicore__ inline void CopyOut(uint32_t at, uint32_t length) {
    LocalTensor<float> y = outQueue_.DeQue<float>();
    DataCopyExtParams params{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
    DataCopyPad(yGm_[at], y, params);
    outQueue_.FreeTensor(y);
  }

  TPipe pipe_;
  TQue<QuePosition::VECIN, BUFFER_NUM> inQueue_;
  TQue<QuePosition::VECOUT, BUFFER_NUM> outQueue_;
  GlobalTensor<float> xGm_, yGm_;
  uint32_t tile_, count_;
};

extern "C" __global__ __aicore__ void affine(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA(t, tiling);
  KernelAffine op;
  op.Init(x, y, t.total, t.perBlock, t.tile);
  op.Process();
}
