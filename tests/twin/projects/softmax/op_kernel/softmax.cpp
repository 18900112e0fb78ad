#include "kernel_operator.h"
using namespace AscendC;

class RowSoftmax {
 public:
  __aicore__ inline RowSoftmax(TPipe* pipe, GM_ADDR x, GM_ADDR y, uint32_t rows, uint32_t columns)
      : rows_(rows), columns_(columns) {
    x_.SetGlobalBuffer((__gm__ float*)x, (uint64_t)rows * columns);
    y_.SetGlobalBuffer((__gm__ float*)y, (uint64_t)rows * columns);
    const uint32_t bytes = AlignUp(columns * (uint32_t)sizeof(float), 32u);
    pipe->InitBuffer(in_, 2, bytes);
    pipe->InitBuffer(out_, 2, bytes);
    pipe->InitBuffer(work_, bytes);
    pipe->InitBuffer(scalar_, 32);
  }
  __aicore__ inline void Process() {
    for (uint32_t row = GetBlockIdx(); row < rows_; row += GetBlockNum()) {
      CopyIn(row);
      Compute();
      CopyOut(row);
    }
  }

 private:
  __aicore__ inline void CopyIn(uint32_t row) {
    LocalTensor<float> x = in_.AllocTensor<float>();
    DataCopyPad(x, x_[(uint64_t)row * columns_],
                DataCopyExtParams{1, columns_ * (uint32_t)sizeof(float), 0, 0, 0},
                DataCopyPadExtParams<float>{false, 0, 0, 0});
    in_.EnQue(x);
  }
  __aicore__ inline void Compute() {
    LocalTensor<float> x = in_.DeQue<float>();
    LocalTensor<float> y = out_.AllocTensor<float>();
    LocalTensor<float> work = work_.Get<float>(), scalar = scalar_.Get<float>();
    ReduceMax(scalar, x, work, columns_);
    const float largest = scalar.GetValue(0);
    Adds(y, x, -largest, columns_);
    Exp(y, y, columns_);
    ReduceSum(scalar, y, work, columns_);
    const float sum = scalar.GetValue(0);
    Muls(y, y, 1.0f / sum, columns_);
    out_.EnQue(y);
    in_.FreeTensor(x);
  }
  __aicore__ inline void CopyOut(uint32_t row) {
    LocalTensor<float> y = out_.DeQue<float>();
    DataCopyPad(y_[(uint64_t)row * columns_], y,
                DataCopyExtParams{1, columns_ * (uint32_t)sizeof(float), 0, 0, 0});
    out_.FreeTensor(y);
  }

  GlobalTensor<float> x_, y_;
  TQue<TPosition::VECIN, 1> in_;
  TQue<TPosition::VECOUT, 1> out_;
  TBuf<TPosition::VECCALC> work_, scalar_;
  uint32_t rows_, columns_;
};

extern "C" __global__ __aicore__ void softmax(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA(data, tiling);
  TPipe pipe;
  RowSoftmax op(&pipe, x, y, data.rows, data.columns);
  op.Process();
}
