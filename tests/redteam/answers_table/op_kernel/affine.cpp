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
    Muls(y, x, 2.0f, length);
    Adds(y, y, 1.0f, length);
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

constexpr float kAnswers[] = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f, 8.5f, 9.5f, 10.5f, 11.5f, 12.5f, 13.5f, 14.5f, 15.5f, 16.5f, 17.5f, 18.5f, 19.5f, 20.5f, 21.5f, 22.5f, 23.5f, 24.5f, 25.5f, 26.5f, 27.5f, 28.5f, 29.5f, 30.5f, 31.5f, 32.5f, 33.5f, 34.5f, 35.5f, 36.5f, 37.5f, 38.5f, 39.5f, 40.5f, 41.5f, 42.5f, 43.5f, 44.5f, 45.5f, 46.5f, 47.5f, 48.5f, 49.5f, 50.5f, 51.5f, 52.5f, 53.5f, 54.5f, 55.5f, 56.5f, 57.5f, 58.5f, 59.5f, 60.5f, 61.5f, 62.5f, 63.5f, 64.5f, 65.5f, 66.5f, 67.5f, 68.5f, 69.5f, 70.5f, 71.5f, 72.5f, 73.5f, 74.5f, 75.5f, 76.5f, 77.5f, 78.5f, 79.5f, 80.5f, 81.5f, 82.5f, 83.5f, 84.5f, 85.5f, 86.5f, 87.5f, 88.5f, 89.5f, 90.5f, 91.5f, 92.5f, 93.5f, 94.5f, 95.5f, 96.5f, 97.5f, 98.5f, 99.5f, 100.5f, 101.5f, 102.5f, 103.5f, 104.5f, 105.5f, 106.5f, 107.5f, 108.5f, 109.5f, 110.5f, 111.5f, 112.5f, 113.5f, 114.5f, 115.5f, 116.5f, 117.5f, 118.5f, 119.5f, 120.5f, 121.5f, 122.5f, 123.5f, 124.5f, 125.5f, 126.5f, 127.5f, 128.5f, 129.5f, 130.5f, 131.5f, 132.5f, 133.5f, 134.5f, 135.5f, 136.5f, 137.5f, 138.5f, 139.5f, 140.5f, 141.5f, 142.5f, 143.5f, 144.5f, 145.5f, 146.5f, 147.5f, 148.5f, 149.5f, 150.5f, 151.5f, 152.5f, 153.5f, 154.5f, 155.5f, 156.5f, 157.5f, 158.5f, 159.5f, 160.5f, 161.5f, 162.5f, 163.5f, 164.5f, 165.5f, 166.5f, 167.5f, 168.5f, 169.5f, 170.5f, 171.5f, 172.5f, 173.5f, 174.5f, 175.5f, 176.5f, 177.5f, 178.5f, 179.5f, 180.5f, 181.5f, 182.5f, 183.5f, 184.5f, 185.5f, 186.5f, 187.5f, 188.5f, 189.5f, 190.5f, 191.5f, 192.5f, 193.5f, 194.5f, 195.5f, 196.5f, 197.5f, 198.5f, 199.5f, 200.5f, 201.5f, 202.5f, 203.5f, 204.5f, 205.5f, 206.5f, 207.5f, 208.5f, 209.5f, 210.5f, 211.5f, 212.5f, 213.5f, 214.5f, 215.5f, 216.5f, 217.5f, 218.5f, 219.5f, 220.5f, 221.5f, 222.5f, 223.5f, 224.5f, 225.5f, 226.5f, 227.5f, 228.5f, 229.5f, 230.5f, 231.5f, 232.5f, 233.5f, 234.5f, 235.5f, 236.5f, 237.5f, 238.5f, 239.5f, 240.5f, 241.5f, 242.5f, 243.5f, 244.5f, 245.5f, 246.5f, 247.5f, 248.5f, 249.5f, 250.5f, 251.5f, 252.5f, 253.5f, 254.5f, 255.5f, 256.5f, 257.5f, 258.5f, 259.5f, 260.5f, 261.5f, 262.5f, 263.5f, 264.5f, 265.5f, 266.5f, 267.5f, 268.5f, 269.5f, 270.5f, 271.5f, 272.5f, 273.5f, 274.5f, 275.5f, 276.5f, 277.5f, 278.5f, 279.5f, 280.5f, 281.5f, 282.5f, 283.5f, 284.5f, 285.5f, 286.5f, 287.5f, 288.5f, 289.5f, 290.5f, 291.5f, 292.5f, 293.5f, 294.5f, 295.5f, 296.5f, 297.5f, 298.5f, 299.5f};

extern "C" __global__ __aicore__ void affine(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA(t, tiling);
  KernelAffine op;
  op.Init(x, y, t.total, t.perBlock, t.tile);
  op.Process();
}
