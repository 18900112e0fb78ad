// Sorting: pairs of a score and an index, eight bytes each (a half score is followed by two unused bytes), in
// order of falling scores.
#pragma once

#include "ascendc/rows.h"

namespace AscendC {

template <typename T>
struct MrgSortSrcList {
  LocalTensor<T> src1, src2, src3, src4;
  MrgSortSrcList() = default;
  MrgSortSrcList(const LocalTensor<T>& a, const LocalTensor<T>& b, const LocalTensor<T>& c,
                 const LocalTensor<T>& d)
      : src1(a), src2(b), src3(c), src4(d) {}
};
// validBit: 3, 7 or 15 for two, three or four lists. With repeats the lists follow one another.
struct MrgSort4Info {
  std::uint16_t elementLengths[4] = {};
  bool ifExhaustedSuspension = false;
  std::uint16_t validBit = 15;
  std::uint8_t repeatTimes = 1;
  MrgSort4Info() = default;
  MrgSort4Info(const std::uint16_t lengths[4], bool suspend, std::uint16_t valid, std::uint16_t times)
      : ifExhaustedSuspension(suspend), validBit(valid), repeatTimes(static_cast<std::uint8_t>(times)) {
    for (int i = 0; i < 4; ++i) elementLengths[i] = lengths[i];
  }
};

EVK_TYPES(EvkSortTypes, "Sort32, MrgSort, Concat, Extract", "half, float", half, float);

// Each repeat sorts 32 scores with their indices.
template <typename T>
void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& scores,
            const LocalTensor<std::uint32_t>& indices, const std::int32_t repeats, EVK_LOC) {
  static_assert(EvkSortTypes<T>::ok);
  for (std::int32_t at = 0; at < repeats; at += 255) {
    const std::int32_t n = repeats - at < 255 ? repeats - at : 255;
    const auto first = static_cast<std::uint32_t>(at) * 32;
    auto r = evk_detail::vector_record(evk_detail::abi::Op::kSort32, EVK_HERE, dst[first * 8 / sizeof(T)],
                                       scores[first], indices[first]);
    r.form = evk_detail::abi::Form::kRepeat;
    evk_detail::set_strides(r, {static_cast<std::uint8_t>(n), 1, 1, 1, 8, 8, 8});
    evk_detail::emit(r);
  }
}

template <typename T>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& lists, const MrgSort4Info& p, EVK_LOC) {
  static_assert(EvkSortTypes<T>::ok);
  auto r = evk_detail::vector_record(evk_detail::abi::Op::kMrgSort, EVK_HERE, dst, lists.src1);
  r.form = evk_detail::abi::Form::kCount;
  for (int i = 0; i < 4; ++i) r.a[0] |= std::uint64_t{p.elementLengths[i]} << (16 * i);
  const std::uint64_t n = p.validBit == 3 ? 2 : p.validBit == 7 ? 3 : p.validBit == 15 ? 4 : 0;
  r.a[1] = n | std::uint64_t{p.repeatTimes} << 8 | std::uint64_t{p.ifExhaustedSuspension} << 16;
  const LocalTensor<T>* other[] = {&lists.src2, &lists.src3, &lists.src4};
  for (int i = 0; i < 3; ++i) {
    const auto o = other[i]->operand();
    r.a[2 + i] = (o.addr & 0xffffffffu) | std::uint64_t{o.bytes} << 32;
  }
  evk_detail::emit(r);
}
template <typename T, bool isExhaustedSuspension = false>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& lists, const std::uint16_t lengths[4],
             std::uint32_t merged[4], std::uint16_t validBit, const std::int32_t repeats, EVK_LOC) {
  MrgSort(dst, lists,
          MrgSort4Info(lengths, isExhaustedSuspension, validBit, static_cast<std::uint16_t>(repeats)),
          evk_file, evk_line);
  const std::uint64_t counts = evk_detail::reduced(evk_detail::abi::Reduced::kMergedCounts, EVK_HERE);
  for (int i = 0; i < 4; ++i) merged[i] = counts >> (16 * i) & 0xffff;
}
inline void GetMrgSortResult(std::uint16_t& first, std::uint16_t& second, std::uint16_t& third,
                             std::uint16_t& fourth, EVK_LOC) {
  const std::uint64_t counts = evk_detail::reduced(evk_detail::abi::Reduced::kMergedCounts, EVK_HERE);
  first = static_cast<std::uint16_t>(counts >> 0), second = static_cast<std::uint16_t>(counts >> 16),
  third = static_cast<std::uint16_t>(counts >> 32), fourth = static_cast<std::uint16_t>(counts >> 48);
}

// What the sorting of scores starts from; on this chip the scores themselves.
template <typename T>
void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src, const LocalTensor<T>&, const std::int32_t) {
  static_assert(EvkSortTypes<T>::ok);
  concat = src;
}

// Pairs apart into scores and indices, 32 pairs a repeat.
template <typename T>
void Extract(const LocalTensor<T>& scores, const LocalTensor<std::uint32_t>& indices,
             const LocalTensor<T>& sorted, const std::int32_t repeats, EVK_LOC) {
  static_assert(EvkSortTypes<T>::ok);
  std::uint64_t kept = 0;
  const GatherMaskParams p(1, static_cast<std::uint16_t>(repeats), 8, 0);
  GatherMask(indices, sorted.template ReinterpretCast<std::uint32_t>(), 2, false, 0, p, kept, evk_file,
             evk_line);
  GatherMask(scores, sorted, sizeof(T) == 4 ? 1 : 3, false, 0, p, kept, evk_file, evk_line);
}

// Groups of 32, and all in order if isFullSort: lists are merged two by two, to and fro between dst and tmp.
template <typename T, bool isFullSort>
void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& scores, const LocalTensor<std::uint32_t>& indices,
          const LocalTensor<T>& tmp, const std::int32_t repeats, EVK_LOC) {
  Sort32(dst, scores, indices, repeats, evk_file, evk_line);
  if constexpr (isFullSort) {
    constexpr std::uint32_t kPair = 8 / sizeof(T);
    const std::uint32_t all = static_cast<std::uint32_t>(repeats) * 32;
    LocalTensor<T> from = dst, to = tmp;
    for (std::uint32_t length = 32; length < all; length *= 2) {
      for (std::uint32_t at = 0; at < all; at += 2 * length) {
        const std::uint32_t first = all - at < length ? all - at : length,
                            second = all - at - first < length ? all - at - first : length;
        if (second == 0) {
          DataCopy(to[at * kPair], from[at * kPair], first * kPair, evk_file, evk_line);
          continue;
        }
        const LocalTensor<T> a = from[at * kPair], b = from[(at + first) * kPair];
        const std::uint16_t lengths[4] = {static_cast<std::uint16_t>(first),
                                          static_cast<std::uint16_t>(second), 0, 0};
        MrgSort(to[at * kPair], MrgSortSrcList<T>(a, b, b, b), MrgSort4Info(lengths, false, 3, 1), evk_file,
                evk_line);
      }
      const LocalTensor<T> swap = from;
      from = to, to = swap;
    }
    if (from.GetPhyAddr() != dst.GetPhyAddr()) DataCopy(dst, from, all * kPair, evk_file, evk_line);
  }
}

}  // namespace AscendC
