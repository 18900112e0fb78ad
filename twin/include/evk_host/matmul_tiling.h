// matmul_tiling: cuts a product into parts of cores and tiles that fit the cube's memories. The numbers are
// the twin's own choice: valid for the device, and not those that the vendor's library would choose.
#pragma once

#include "evk_host/cube_tiling.h"
#include "tiling/platform/platform_ascendc.h"

namespace matmul_tiling {

enum class TPosition : int {
  GM = 0,
  A1,
  A2,
  B1,
  B2,
  C1,
  C2,
  CO1,
  CO2,
  VECIN,
  VECOUT,
  VECCALC,
  LCM = VECCALC,
  SPM,
  SHM = SPM,
  TSCM
};
enum class CubeFormat : int { ND = 0, NZ, ZN, ZZ, NN, ND_ALIGN, SCALAR, VECTOR };
enum class DataType : int {
  DT_FLOAT = 0,
  DT_FLOAT16 = 1,
  DT_INT8 = 2,
  DT_INT32 = 3,
  DT_BF16 = 27,
  DT_BFLOAT16 = 27,
  DT_INT4 = 29,
  DT_UNDEFINED = 28
};
enum class MatrixTraverse : int { NOSET = 0, FIRSTM = 1, FIRSTN = 2 };
enum class DequantType : int { SCALAR = 0, TENSOR = 1 };

// One core's tiling, or that of several cores that share a product.
class MatmulApiTilingBase {
 public:
  MatmulApiTilingBase() : chip_(*platform_ascendc::PlatformAscendCManager::GetInstance()) { read_chip(); }
  explicit MatmulApiTilingBase(const platform_ascendc::PlatformAscendC& chip) : chip_(chip) { read_chip(); }

  std::int32_t SetAType(TPosition, CubeFormat format, DataType type, bool transposed = false) {
    bytes_ = bytes_of(type);
    trans_a_ = transposed;
    return format == CubeFormat::ND || format == CubeFormat::NZ ? 0 : -1;
  }
  std::int32_t SetBType(TPosition, CubeFormat format, DataType type, bool transposed = false) {
    same_ = bytes_of(type) == bytes_;
    trans_b_ = transposed;
    return format == CubeFormat::ND || format == CubeFormat::NZ ? 0 : -1;
  }
  std::int32_t SetCType(TPosition, CubeFormat, DataType) { return 0; }
  std::int32_t SetBiasType(TPosition, CubeFormat, DataType) { return 0; }
  std::int32_t SetShape(std::int32_t m, std::int32_t n, std::int32_t k) { return m_ = m, n_ = n, k_ = k, 0; }
  std::int32_t SetSingleShape(std::int32_t m = -1, std::int32_t n = -1, std::int32_t k = -1) {
    return single_m_ = m, single_n_ = n, single_k_ = k, 0;
  }
  std::int32_t SetOrgShape(std::int32_t m, std::int32_t n, std::int32_t k) { return SetOrgShape(m, n, k, k); }
  std::int32_t SetOrgShape(std::int32_t m, std::int32_t n, std::int32_t ka, std::int32_t kb) {
    return org_m_ = m, org_n_ = n, org_ka_ = ka, org_kb_ = kb, 0;
  }
  std::int32_t SetSingleRange(std::int32_t max_m = -1, std::int32_t max_n = -1, std::int32_t max_k = -1,
                              std::int32_t = -1, std::int32_t = -1, std::int32_t = -1) {
    return range_m_ = max_m, range_n_ = max_n, range_k_ = max_k, 0;
  }
  std::int32_t SetBias(bool bias = false) { return bias_ = bias, 0; }
  std::int32_t EnableBias(bool bias = false) { return SetBias(bias); }
  std::int32_t SetBufferSpace(std::int32_t l1 = -1, std::int32_t l0c = -1, std::int32_t = -1,
                              std::int32_t = -1) {
    if (l1 > 0 && static_cast<std::uint64_t>(l1) < l1_) l1_ = static_cast<std::uint64_t>(l1);
    if (l0c > 0 && static_cast<std::uint64_t>(l0c) < l0c_) l0c_ = static_cast<std::uint64_t>(l0c);
    return 0;
  }
  std::int32_t SetFixSplit(std::int32_t m = -1, std::int32_t n = -1, std::int32_t k = -1) {
    return fix_m_ = m, fix_n_ = n, fix_k_ = k, 0;
  }
  std::int32_t SetTraverse(MatrixTraverse order) { return order_ = order == MatrixTraverse::FIRSTN, 0; }
  std::int32_t SetDequantType(DequantType) { return 0; }
  std::int32_t SetDoubleBuffer(bool, bool, bool, bool, bool = true, bool = true) { return 0; }
  void SetMatmulConfigParams(std::int32_t, bool = false) {}
  std::int32_t GetBaseM() const { return made_.baseM; }
  std::int32_t GetBaseN() const { return made_.baseN; }
  std::int32_t GetBaseK() const { return made_.baseK; }

  // 0, or -1 if nothing fits.
  std::int64_t GetTiling(TCubeTiling& tiling) {
    if (m_ <= 0) m_ = org_m_, n_ = org_n_, k_ = org_ka_;
    if (m_ <= 0 || n_ <= 0 || k_ <= 0 || bytes_ == 0 || !same_) return -1;
    made_ = TCubeTiling();
    share_out();
    if (!choose_tile()) return -1;
    made_.M = org_m_ > 0 ? org_m_ : m_;
    made_.N = org_n_ > 0 ? org_n_ : n_;
    made_.Ka = org_ka_ > 0 ? org_ka_ : k_;
    made_.Kb = org_kb_ > 0 ? org_kb_ : k_;
    made_.isBias = bias_;
    made_.iterateOrder = order_;
    tiling = made_;
    return 0;
  }

 protected:
  static std::int32_t up(std::int64_t value, std::int64_t to) {
    return static_cast<std::int32_t>((value + to - 1) / to * to);
  }
  static std::int32_t parts(std::int64_t value, std::int64_t size) {
    return static_cast<std::int32_t>((value + size - 1) / size);
  }
  static std::int64_t less(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
  static std::int64_t bytes_of(DataType type) {
    switch (type) {
      case DataType::DT_FLOAT:
        return 4;
      case DataType::DT_FLOAT16:
      case DataType::DT_BF16:
        return 2;
      case DataType::DT_INT8:
        return 1;
      default:
        return 0;
    }
  }
  void read_chip() {
    using platform_ascendc::CoreMemType;
    chip_.GetCoreMemSize(CoreMemType::L1, l1_);
    chip_.GetCoreMemSize(CoreMemType::L0_A, l0_);
    chip_.GetCoreMemSize(CoreMemType::L0_C, l0c_);
  }

  // Parts of the cores: the grid of at most `cores_` parts whose largest part takes least, counting what it
  // multiplies and what it loads.
  void share_out() {
    std::int64_t best = -1;
    for (std::int64_t down = 1; down <= cores_; ++down)
      for (std::int64_t across = 1; down * across <= cores_; ++across) {
        const std::int64_t m = limited(parts(m_, down), range_m_, fix_m_),
                           n = limited(parts(n_, across), range_n_, fix_n_);
        const std::int64_t work = m * n + 64 * (m + n), used = std::int64_t{parts(m_, m)} * parts(n_, n);
        if (used > cores_ || (best >= 0 && work >= best)) continue;
        best = work;
        made_.singleCoreM = static_cast<std::int32_t>(less(m, m_));
        made_.singleCoreN = static_cast<std::int32_t>(less(n, n_));
        made_.usedCoreNum = static_cast<std::int32_t>(used);
      }
    made_.singleCoreK = k_;
    if (single_m_ > 0) made_.singleCoreM = single_m_;
    if (single_n_ > 0) made_.singleCoreN = single_n_;
    if (single_k_ > 0) made_.singleCoreK = single_k_;
    if (best < 0) {  // nothing keeps to the limits: one core takes all
      made_.singleCoreM = m_;
      made_.singleCoreN = n_;
      made_.usedCoreNum = 1;
    }
  }
  // A side of a part: whole tiles where the tile is given and smaller, else whole fractals.
  static std::int64_t limited(std::int64_t side, std::int32_t most, std::int32_t tile) {
    side = up(side, tile > 0 && side > tile ? tile : 16);
    return most > 0 && side > most ? most : side;
  }

  bool choose_tile() {
    const std::int64_t half_l0 = static_cast<std::int64_t>(l0_) / 2, step = bytes_ == 1 ? 32 : 16;
    std::int64_t m = fix_m_ > 0 ? fix_m_ : less(128, up(made_.singleCoreM, 16));
    std::int64_t n = fix_n_ > 0 ? fix_n_ : less(256, up(made_.singleCoreN, 16));
    while (fix_n_ <= 0 && n > 16 && m * n * 4 > static_cast<std::int64_t>(l0c_)) n -= 16;
    if (m * n * 4 > static_cast<std::int64_t>(l0c_)) return false;
    std::int64_t k = half_l0 / bytes_ / (m > n ? m : n) / step * step;
    if (k < step) k = static_cast<std::int64_t>(l0_) / bytes_ / (m > n ? m : n) / step * step;
    k = less(k, up(made_.singleCoreK, step));
    if (fix_k_ > 0) k = fix_k_;
    if (k <= 0 || (m > n ? m : n) * k * bytes_ > static_cast<std::int64_t>(l0_)) return false;
    made_.baseM = static_cast<std::int32_t>(m);
    made_.baseN = static_cast<std::int32_t>(n);
    made_.baseK = static_cast<std::int32_t>(k);
    return choose_depth(m, n, k);
  }
  // A quarter of L1 each for two chunks of each matrix.
  bool choose_depth(std::int64_t m, std::int64_t n, std::int64_t k) {
    const std::int64_t quarter = static_cast<std::int64_t>(l1_) / 4, chunks = parts(made_.singleCoreK, k);
    if ((m > n ? m : n) * k * bytes_ > quarter) return false;
    made_.stepM = made_.stepN = 1;
    made_.stepKa = static_cast<std::int32_t>(less(chunks, quarter / (m * k * bytes_)));
    made_.stepKb = static_cast<std::int32_t>(less(chunks, quarter / (n * k * bytes_)));
    made_.depthA1 = 2 * made_.stepKa;
    made_.depthB1 = 2 * made_.stepKb;
    made_.dbL0A = made_.dbL0B = 2;
    made_.dbL0C = 2 * m * n * 4 <= static_cast<std::int64_t>(l0c_) ? 2 : 1;
    made_.shareL0CSize = static_cast<std::int32_t>(m * n * 4);
    made_.shareL1Size = static_cast<std::int32_t>((m * made_.depthA1 + n * made_.depthB1) * k * bytes_);
    made_.batchM = made_.batchN = made_.singleBatchM = made_.singleBatchN = 1;
    return true;
  }

  platform_ascendc::PlatformAscendC chip_;
  std::uint64_t l1_ = 0, l0_ = 0, l0c_ = 0;
  std::int64_t bytes_ = 0, cores_ = 1;
  bool same_ = true, bias_ = false, order_ = false, trans_a_ = false, trans_b_ = false;
  std::int32_t m_ = 0, n_ = 0, k_ = 0, org_m_ = 0, org_n_ = 0, org_ka_ = 0, org_kb_ = 0;
  std::int32_t single_m_ = -1, single_n_ = -1, single_k_ = -1, range_m_ = -1, range_n_ = -1, range_k_ = -1;
  std::int32_t fix_m_ = -1, fix_n_ = -1, fix_k_ = -1;
  TCubeTiling made_;
};

class MatmulApiTiling : public MatmulApiTilingBase {
 public:
  using MatmulApiTilingBase::MatmulApiTilingBase;
};

class MultiCoreMatmulTiling : public MatmulApiTilingBase {
 public:
  using MatmulApiTilingBase::MatmulApiTilingBase;
  std::int32_t SetDim(std::int32_t cores) {
    cores_ = cores > 0 ? less(cores, 1024) : 1;
    return 0;
  }
  std::int32_t GetCoreNum(std::int32_t& cores, std::int32_t& down, std::int32_t& across) const {
    cores = made_.usedCoreNum;
    down = made_.singleCoreM > 0 ? parts(m_, made_.singleCoreM) : 0;
    across = made_.singleCoreN > 0 ? parts(n_, made_.singleCoreN) : 0;
    return 0;
  }
  std::int32_t GetSingleShape(std::int32_t& m, std::int32_t& n, std::int32_t& k) const {
    return m = made_.singleCoreM, n = made_.singleCoreN, k = made_.singleCoreK, 0;
  }
  std::int32_t SetAlignSplit(std::int32_t, std::int32_t, std::int32_t) { return 0; }
  void EnableMultiCoreSplitK(bool) {}
};

}  // namespace matmul_tiling
