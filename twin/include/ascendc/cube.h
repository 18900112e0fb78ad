// The cube core: rows to fractals, loads of L0A and L0B, Mmad, Fixpipe.
#pragma once

#include "ascendc/data_copy.h"

enum QuantMode_t : std::uint8_t {
  NoQuant = 0,
  F322F16,
  F322BF16,
  DEQF16,
  VDEQF16,
  QF322B8_PRE,
  VQF322B8_PRE,
  REQ8,
  VREQ8
};

namespace AscendC {

struct Nd2NzParams {
  std::uint16_t ndNum = 0, nValue = 0, dValue = 0, srcNdMatrixStride = 0, srcDValue = 0, dstNzC0Stride = 0,
                dstNzNStride = 0;
  std::uint32_t dstNzMatrixStride = 0;
  constexpr Nd2NzParams() = default;
  constexpr Nd2NzParams(std::uint16_t nd, std::uint16_t n, std::uint16_t d, std::uint16_t src_matrix,
                        std::uint16_t src_d, std::uint16_t c0, std::uint16_t dst_n, std::uint32_t dst_matrix)
      : ndNum(nd),
        nValue(n),
        dValue(d),
        srcNdMatrixStride(src_matrix),
        srcDValue(src_d),
        dstNzC0Stride(c0),
        dstNzNStride(dst_n),
        dstNzMatrixStride(dst_matrix) {}
};

struct LoadData2DParams {
  std::uint16_t startIndex = 0;
  std::uint8_t repeatTimes = 0;
  std::uint16_t srcStride = 0;
  std::uint8_t sid = 0;
  std::uint16_t dstGap = 0;
  bool ifTranspose = false;
  std::uint8_t addrMode = 0;
  constexpr LoadData2DParams() = default;
  constexpr LoadData2DParams(std::uint16_t start, std::uint8_t repeat, std::uint16_t stride, std::uint8_t s,
                             std::uint16_t gap, bool transpose, std::uint8_t mode)
      : startIndex(start),
        repeatTimes(repeat),
        srcStride(stride),
        sid(s),
        dstGap(gap),
        ifTranspose(transpose),
        addrMode(mode) {}
};

struct LoadData2dTransposeParams {
  std::uint16_t startIndex = 0;
  std::uint8_t repeatTimes = 0;
  std::uint16_t srcStride = 0, dstGap = 0, dstFracGap = 0;
  std::uint8_t addrMode = 0;
  constexpr LoadData2dTransposeParams() = default;
  constexpr LoadData2dTransposeParams(std::uint16_t start, std::uint8_t repeat, std::uint16_t stride,
                                      std::uint16_t gap, std::uint16_t fractal_gap, std::uint8_t mode = 0)
      : startIndex(start),
        repeatTimes(repeat),
        srcStride(stride),
        dstGap(gap),
        dstFracGap(fractal_gap),
        addrMode(mode) {}
};

struct MmadParams {
  std::uint16_t m = 0, n = 0, k = 0;
  bool isBias = false;
  std::int32_t fmOffset = 0;
  bool enSsparse = false, enWinogradA = false, enWinogradB = false;
  std::uint8_t unitFlag = 0;
  bool kDirectionAlign = false, cmatrixSource = false, cmatrixInitVal = true, disableGemv = false;
  constexpr MmadParams() = default;
  constexpr MmadParams(std::uint16_t m_, std::uint16_t n_, std::uint16_t k_) : m(m_), n(n_), k(k_) {}
  constexpr MmadParams(std::uint16_t m_, std::uint16_t n_, std::uint16_t k_, bool bias, std::int32_t offset,
                       bool sparse, bool winograd_a, bool winograd_b)
      : m(m_),
        n(n_),
        k(k_),
        isBias(bias),
        fmOffset(offset),
        enSsparse(sparse),
        enWinogradA(winograd_a),
        enWinogradB(winograd_b) {}
  constexpr MmadParams(std::uint16_t m_, std::uint16_t n_, std::uint16_t k_, std::uint8_t unit_flag,
                       bool source, bool init)
      : m(m_), n(n_), k(k_), unitFlag(unit_flag), cmatrixSource(source), cmatrixInitVal(init) {}
};

struct FixpipeParamsV220 {
  std::uint16_t nSize = 0, mSize = 0, srcStride = 0;
  std::uint32_t dstStride = 0;
  QuantMode_t quantPre = NoQuant;
  std::uint64_t deqScalar = 0;
  std::uint16_t ndNum = 1, srcNdStride = 0;
  std::uint32_t dstNdStride = 0;
  bool reluEn = false;
  std::uint8_t unitFlag = 0;
  bool isChannelSplit = false;
  constexpr FixpipeParamsV220() = default;
  constexpr FixpipeParamsV220(std::uint16_t n, std::uint16_t m, std::uint16_t src, std::uint32_t dst,
                              bool relu)
      : nSize(n), mSize(m), srcStride(src), dstStride(dst), reluEn(relu) {}
  constexpr FixpipeParamsV220(std::uint16_t n, std::uint16_t m, std::uint16_t src, std::uint32_t dst,
                              bool relu, QuantMode_t quant, std::uint64_t scale, std::uint16_t nd,
                              std::uint16_t src_nd, std::uint32_t dst_nd, std::uint8_t unit_flag = 0,
                              bool split = false)
      : nSize(n),
        mSize(m),
        srcStride(src),
        dstStride(dst),
        quantPre(quant),
        deqScalar(scale),
        ndNum(nd),
        srcNdStride(src_nd),
        dstNdStride(dst_nd),
        reluEn(relu),
        unitFlag(unit_flag),
        isChannelSplit(split) {}
};

struct DataCopyCO12DstParams {
  std::uint16_t nSize = 0, mSize = 0;
  std::uint32_t dstStride = 0;
  std::uint16_t srcStride = 0;
  QuantMode_t quantPre = NoQuant;
  std::uint8_t reluPre = 0;
  bool channelSplit = false, nz2ndEn = false;
  constexpr DataCopyCO12DstParams() = default;
  constexpr DataCopyCO12DstParams(std::uint16_t n, std::uint16_t m, std::uint32_t dst, std::uint16_t src,
                                  QuantMode_t quant, std::uint8_t relu, bool split, bool to_rows)
      : nSize(n),
        mSize(m),
        dstStride(dst),
        srcStride(src),
        quantPre(quant),
        reluPre(relu),
        channelSplit(split),
        nz2ndEn(to_rows) {}
};

enum class CO2Layout : std::uint8_t { NZ = 0, ROW_MAJOR, COLUMN_MAJOR };
struct FixpipeConfig {
  CO2Layout format;
};
inline constexpr FixpipeConfig CFG_NZ{CO2Layout::NZ}, CFG_ROW_MAJOR{CO2Layout::ROW_MAJOR};

namespace evk_detail {

// Initialised when the program is loaded, if anything in it refers to them.
template <int kind>
struct DeclaredKind {
  static const bool known;
};
template <int kind>
const bool DeclaredKind<kind>::known = evk_twin_kernel_kind(kind, false);
template <std::uint64_t key, int kind>
struct DeclaredKindOfKey {
  static const bool known;
};
template <std::uint64_t key, int kind>
const bool DeclaredKindOfKey<key, kind>::known = evk_twin_kernel_kind_of_key(key, kind);
template <int kind>
struct GuessedKind {
  static const bool known;
};
template <int kind>
const bool GuessedKind<kind>::known = evk_twin_kernel_kind(kind, true);

// A kernel that calls the cube's instructions runs on cube cores, unless it says otherwise. A template, so
// that only programs that call it refer to the kind.
template <typename T>
void calls_cube() {
  static_cast<void>(&GuessedKind < sizeof(T) ? static_cast<int>(abi::KernelKind::kAic) : 0 > ::known);
}

template <typename D, typename S>
abi::Record cube_record(abi::Op op, const D& dst, const S& src, Loc loc) {
  abi::Record r = record(op, loc);
  r.operands = 2;
  r.operand[0] = dst.operand();
  r.operand[1] = src.operand();
  return r;
}
template <typename D, typename S>
void load_2d(const D& dst, const S& src, const LoadData2DParams& p, Loc loc) {
  calls_cube<D>();
  abi::Record r = cube_record(abi::Op::kLoadData2D, dst, src, loc);
  r.a[0] = p.startIndex | static_cast<std::uint64_t>(p.repeatTimes) << 16 |
           static_cast<std::uint64_t>(p.srcStride) << 32;
  r.a[1] = p.dstGap;
  r.flags = static_cast<std::uint16_t>((p.ifTranspose ? 1 : 0) | (p.addrMode ? 2 : 0));
  emit(r);
}
template <typename C, typename A, typename B>
abi::Record mmad_record(const LocalTensor<C>& c, const LocalTensor<A>& a, const LocalTensor<B>& b,
                        const MmadParams& p, Loc loc) {
  static_assert(
      is_one_of<A, half, bfloat16_t, float, std::int8_t>,
      "Mmad: this data type is not supported on Atlas A2; supported: half, bfloat16_t, float, int8_t");
  static_assert(std::is_same_v<A, B>, "Mmad: both matrices must have one data type");
  static_assert(std::is_same_v<C, std::conditional_t<std::is_same_v<A, std::int8_t>, std::int32_t, float>>,
                "Mmad: the result is float, or int32_t for int8_t");
  calls_cube<C>();
  abi::Record r = cube_record(abi::Op::kMmad, c, a, loc);
  r.operands = 3;
  r.operand[2] = b.operand();
  r.a[0] = p.m | static_cast<std::uint64_t>(p.n) << 16 | static_cast<std::uint64_t>(p.k) << 32;
  r.flags = static_cast<std::uint16_t>((p.unitFlag ? 1 : 0) | (p.kDirectionAlign ? 2 : 0));
  return r;
}

struct Fix {
  std::uint64_t n, m, src_stride, dst_stride;
  QuantMode_t quant;
  std::uint64_t scale, matrices, src_step, dst_step;
  bool relu, to_rows, unit_flag;
};
template <typename D, typename S>
void fix(const D& dst, const S& src, const Fix& f, Loc loc) {
  calls_cube<D>();
  abi::Record r = cube_record(abi::Op::kFixpipe, dst, src, loc);
  r.mode = f.quant;
  r.flags = static_cast<std::uint16_t>((f.relu ? 1 : 0) | (f.to_rows ? 2 : 0) | (f.unit_flag ? 4 : 0));
  r.a[0] = f.n | f.m << 16;
  r.a[1] = f.src_stride | f.dst_stride << 32;
  r.a[2] = f.scale;
  r.a[3] = f.matrices | f.src_step << 16;
  r.a[4] = f.dst_step;
  emit(r);
}
template <typename D, typename S>
void fix_v220(const D& dst, const S& src, const FixpipeParamsV220& p, bool to_rows, Loc loc) {
  fix(dst, src,
      {p.nSize, p.mSize, p.srcStride, p.dstStride, p.quantPre, p.deqScalar, p.ndNum, p.srcNdStride,
       p.dstNdStride, p.reluEn, to_rows, p.unitFlag != 0},
      loc);
}

}  // namespace evk_detail

template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& p, EVK_LOC) {
  evk_detail::abi::Record r = evk_detail::cube_record(evk_detail::abi::Op::kNd2Nz, dst, src, EVK_HERE);
  r.a[0] = p.ndNum;
  r.a[1] = p.nValue;
  r.a[2] = p.dValue;
  r.a[3] = p.srcNdMatrixStride;
  r.a[4] = p.srcDValue;
  r.a[5] = p.dstNzC0Stride | static_cast<std::uint64_t>(p.dstNzNStride) << 16 |
           static_cast<std::uint64_t>(p.dstNzMatrixStride) << 32;
  evk_detail::emit(r);
}
// L1 to the bias table, from half to float on the way.
template <typename T, typename U,
          std::enable_if_t<std::is_same_v<T, float> && std::is_same_v<U, half>, int> = 0>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& p, EVK_LOC) {
  evk_detail::copy_blocks(dst, src, p, EVK_HERE);
}

template <typename T>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& p, EVK_LOC) {
  evk_detail::load_2d(dst, src, p, EVK_HERE);
}
template <typename T>
void LoadData(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const LoadData2DParams& p, EVK_LOC) {
  evk_detail::load_2d(dst, src, p, EVK_HERE);
}
template <typename T>
void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                           const LoadData2dTransposeParams& p, EVK_LOC) {
  evk_detail::calls_cube<LocalTensor<T>>();
  evk_detail::abi::Record r =
      evk_detail::cube_record(evk_detail::abi::Op::kLoadDataTranspose, dst, src, EVK_HERE);
  r.a[0] = p.startIndex | static_cast<std::uint64_t>(p.repeatTimes) << 16 |
           static_cast<std::uint64_t>(p.srcStride) << 32;
  r.a[1] = p.dstGap | static_cast<std::uint64_t>(p.dstFracGap) << 16;
  evk_detail::emit(r);
}

template <typename C, typename A, typename B>
void Mmad(const LocalTensor<C>& c, const LocalTensor<A>& a, const LocalTensor<B>& b, const MmadParams& p,
          EVK_LOC) {
  evk_detail::abi::Record r = evk_detail::mmad_record(c, a, b, p, EVK_HERE);
  r.mode = static_cast<std::uint16_t>(p.cmatrixInitVal ? evk_detail::abi::MmadStart::kZero
                                                       : evk_detail::abi::MmadStart::kAccumulate);
  evk_detail::emit(r);
}
// The sums begin with the bias, one value a column, unless the params say that they begin with the result.
template <typename C, typename A, typename B, typename V>
void Mmad(const LocalTensor<C>& c, const LocalTensor<A>& a, const LocalTensor<B>& b,
          const LocalTensor<V>& bias, const MmadParams& p, EVK_LOC) {
  static_assert(std::is_same_v<C, V>, "Mmad: the bias has the data type of the result");
  evk_detail::abi::Record r = evk_detail::mmad_record(c, a, b, p, EVK_HERE);
  r.operands = 4;
  r.operand[3] = bias.operand();
  r.mode = static_cast<std::uint16_t>(evk_detail::abi::MmadStart::kBias);
  evk_detail::emit(r);
}

template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& p, EVK_LOC) {
  evk_detail::fix_v220(dst, src, p, config.format == CO2Layout::ROW_MAJOR, EVK_HERE);
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& p, EVK_LOC) {
  evk_detail::fix_v220(dst, src, p, false, EVK_HERE);
}
inline void SetFixpipeNz2ndFlag(std::uint16_t matrices, std::uint16_t src_stride, std::uint16_t dst_stride) {
  EvkTwinBlock* block = evk_twin_block();
  block->nd_num = matrices;
  block->src_nd_stride = src_stride;
  block->dst_nd_stride = dst_stride;
}
inline void SetFixpipePreQuantFlag(std::uint64_t scale) { evk_twin_block()->quant_scale = scale; }
template <typename T, typename U>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyCO12DstParams& p,
              EVK_LOC) {
  const EvkTwinBlock* block = evk_twin_block();
  evk_detail::fix(dst, src,
                  {p.nSize, p.mSize, p.srcStride, p.dstStride, p.quantPre, block->quant_scale,
                   block->nd_num ? block->nd_num : 1, block->src_nd_stride, block->dst_nd_stride,
                   p.reluPre != 0, p.nz2ndEn, false},
                  EVK_HERE);
}

}  // namespace AscendC
