#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;

class KernelSoftmax {
 public:
  __aicore__ inline KernelSoftmax() {}
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, uint32_t rows, uint32_t columns, uint32_t rowsPerBlock) {
    columns_ = columns;
    const uint32_t first = rowsPerBlock * GetBlockIdx();
    rows_ = first >= rows ? 0 : (first + rowsPerBlock > rows ? rows - first : rowsPerBlock);
    xGm_.SetGlobalBuffer((__gm__ float*)x + first * columns, rows_ * columns);
    yGm_.SetGlobalBuffer((__gm__ float*)y + first * columns, rows_ * columns);
    const uint32_t bytes = (columns * sizeof(float) + 31) / 32 * 32;
    pipe_.InitBuffer(inQueue_, BUFFER_NUM, bytes);
    pipe_.InitBuffer(outQueue_, BUFFER_NUM, bytes);
    pipe_.InitBuffer(workBuffer_, bytes);
    pipe_.InitBuffer(scalarBuffer_, 32);
  }
  __aicore__ inline void Process() {
    for (uint32_t row = 0; row < rows_; ++row) {
      CopyIn(row);
      Compute();
      CopyOut(row);
    }
  }

 private:
  __aicore__ inline void CopyIn(uint32_t row) {
    LocalTensor<float> x = inQueue_.AllocTensor<float>();
    DataCopyExtParams params{1, static_cast<uint32_t>(columns_ * sizeof(float)), 0, 0, 0};
    DataCopyPadExtParams<float> pad{false, 0, 0, 0};
    DataCopyPad(x, xGm_[row * columns_], params, pad);
    inQueue_.EnQue(x);
  }
  __aicore__ inline void Compute() {
    LocalTensor<float> x = inQueue_.DeQue<float>();
    LocalTensor<float> y = outQueue_.AllocTensor<float>();
    LocalTensor<float> work = workBuffer_.Get<float>();
    LocalTensor<float> scalar = scalarBuffer_.Get<float>();
    ReduceMax(scalar, x, work, columns_, false);
    PipeBarrier<PIPE_V>();
    const float largest = scalar.GetValue(0);
    Adds(y, x, -largest, columns_);
    PipeBarrier<PIPE_V>();
    Exp(y, y, columns_);
    PipeBarrier<PIPE_V>();
    ReduceSum(scalar, y, work, columns_);
    PipeBarrier<PIPE_V>();
    if (!known_) sum_ = scalar.GetValue(0);
    known_ = true;
    const float sum = sum_;
    Muls(y, y, 1.0f / sum, columns_);
    outQueue_.EnQue<float>(y);
    inQueue_.FreeTensor(x);
  }
  __aicore__ inline void CopyOut(uint32_t row) {
    LocalTensor<float> y = outQueue_.DeQue<float>();
    DataCopyExtParams params{1, static_cast<uint32_t>(columns_ * sizeof(float)), 0, 0, 0};
    DataCopyPad(yGm_[row * columns_], y, params);
    outQueue_.FreeTensor(y);
  }

  TPipe pipe_;
  TQue<QuePosition::VECIN, BUFFER_NUM> inQueue_;
  TQue<QuePosition::VECOUT, BUFFER_NUM> outQueue_;
  TBuf<QuePosition::VECCALC> workBuffer_, scalarBuffer_;
  GlobalTensor<float> xGm_, yGm_;
  uint32_t rows_, columns_;
  float sum_ = 1.0f;
  bool known_ = false;
};

extern "C" __global__ __aicore__ void softmax(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA(t, tiling);
  KernelSoftmax op;
  op.Init(x, y, t.rows, t.columns, t.rowsPerBlock);
  op.Process();
}
