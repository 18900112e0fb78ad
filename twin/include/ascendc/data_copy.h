// DataCopy and DataCopyPad.
#pragma once

#include "ascendc/instruction.h"
#include "ascendc/queues.h"

namespace AscendC {

namespace evk_detail {

template <typename D, typename S>
void copy(abi::Op op, std::uint16_t mode, const D& dst, const S& src, std::uint64_t count,
          std::uint64_t length, std::uint64_t src_stride, std::uint64_t dst_stride, std::uint64_t pad,
          std::uint64_t pad_bits, Loc loc) {
  abi::Record r = record(op, loc);
  r.mode = mode;
  r.operands = 2;
  r.operand[0] = dst.operand();
  r.operand[1] = src.operand();
  r.a[0] = count | length << 32;
  r.a[1] = src_stride | dst_stride << 32;
  r.a[2] = pad;
  r.a[3] = pad_bits;
  emit(r);
}
template <typename D, typename S>
void copy_count(const D& dst, const S& src, std::uint64_t bytes, Loc loc) {
  copy(abi::Op::kDataCopy, 1, dst, src, 1, bytes, 0, 0, 0, 0, loc);
}
template <typename D, typename S>
void copy_blocks(const D& dst, const S& src, const DataCopyParams& p, Loc loc) {
  copy(abi::Op::kDataCopy, 0, dst, src, p.blockCount, p.blockLen, p.srcStride, p.dstStride, 0, 0, loc);
}
constexpr std::uint64_t padding(bool is_pad, std::uint64_t left, std::uint64_t right) {
  return left | right << 16 | static_cast<std::uint64_t>(is_pad) << 32;
}

}  // namespace evk_detail

template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, std::uint32_t count, EVK_LOC) {
  evk_detail::copy_count(dst, src, static_cast<std::uint64_t>(count) * sizeof(T), EVK_HERE);
}
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, std::uint32_t count, EVK_LOC) {
  evk_detail::copy_count(dst, src, static_cast<std::uint64_t>(count) * sizeof(T), EVK_HERE);
}
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, std::uint32_t count, EVK_LOC) {
  evk_detail::copy_count(dst, src, static_cast<std::uint64_t>(count) * sizeof(T), EVK_HERE);
}
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p, EVK_LOC) {
  evk_detail::copy_blocks(dst, src, p, EVK_HERE);
}
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p, EVK_LOC) {
  evk_detail::copy_blocks(dst, src, p, EVK_HERE);
}
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p, EVK_LOC) {
  evk_detail::copy_blocks(dst, src, p, EVK_HERE);
}

template <typename T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& p,
                 const DataCopyPadExtParams<T>& pad, EVK_LOC) {
  evk_detail::copy(evk_detail::abi::Op::kDataCopyPad, 0, dst, src, p.blockCount, p.blockLen, p.srcStride,
                   p.dstStride, evk_detail::padding(pad.isPad, pad.leftPadding, pad.rightPadding),
                   evk_detail::bits_of(pad.paddingValue), EVK_HERE);
}
template <typename T, typename V, std::enable_if_t<!std::is_same_v<T, V>, int> = 0>
void DataCopyPad(const LocalTensor<T>&, const GlobalTensor<T>&, const DataCopyExtParams&,
                 const DataCopyPadExtParams<V>&) {
  static_assert(std::is_same_v<T, V>,
                "DataCopyPad: DataCopyPadExtParams<T> must have the tensor's data type");
}
template <typename T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p,
                 const DataCopyPadParams& pad, EVK_LOC) {
  evk_detail::copy(evk_detail::abi::Op::kDataCopyPad, 0, dst, src, p.blockCount, p.blockLen, p.srcStride,
                   p.dstStride, evk_detail::padding(pad.isPad, pad.leftPadding, pad.rightPadding),
                   pad.paddingValue, EVK_HERE);
}
template <typename T>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& p, EVK_LOC) {
  evk_detail::copy(evk_detail::abi::Op::kDataCopyPad, 0, dst, src, p.blockCount, p.blockLen, p.srcStride,
                   p.dstStride, 0, 0, EVK_HERE);
}
template <typename T>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p, EVK_LOC) {
  evk_detail::copy(evk_detail::abi::Op::kDataCopyPad, 0, dst, src, p.blockCount, p.blockLen, p.srcStride,
                   p.dstStride, 0, 0, EVK_HERE);
}

}  // namespace AscendC
