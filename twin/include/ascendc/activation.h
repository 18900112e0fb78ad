// Activations of the high-level interface, as the sequences of instructions that they stand for. Each works
// in float through a temporary memory: the caller's, or what TPipe has not handed out.
#pragma once

#include "ascendc/reduce.h"

namespace AscendC {
namespace evk_detail {

EVK_TYPES(EvkActivationTypes, "activation", "half, float", half, float);

constexpr std::uint32_t kScratchBytes = 8192, kScratchParts = 4;

// Memory of UB beyond the buffers of TPipe. Nothing keeps it: the next call takes the same.
inline LocalTensor<std::uint8_t> scratch(Loc loc) {
  const TPipe* pipe = GetTPipePtr();
  if (!pipe)
    evk_twin_assert_failed("this call takes memory from TPipe, and there is none; pass a buffer", loc.id());
  return {abi::Space::kUb, pipe->used(abi::Space::kUb), kScratchBytes, 0};
}

// Runs `compute(dst, src, first, second, n)` over pieces that fit the temporary memory, in float. `first` and
// `second` are temporaries; dst may be src.
template <typename T, typename Compute>
void in_pieces(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<std::uint8_t>& memory,
               std::uint32_t count, Loc loc, Compute compute) {
  static_assert(EvkActivationTypes<T>::ok);
  const std::uint32_t piece = memory.GetSize() / kScratchParts / 256 * 64;  // floats, whole repeats
  if (piece == 0) evk_twin_assert_failed("the temporary buffer is smaller than 1024 bytes", loc.id());
  LocalTensor<float> part[kScratchParts];
  for (std::uint32_t i = 0; i < kScratchParts; ++i)
    part[i] = memory.template ReinterpretCast<float>()[i * piece];
  for (std::uint32_t at = 0; at < count; at += piece) {
    const auto n = static_cast<std::int32_t>(count - at < piece ? count - at : piece);
    const auto elements = static_cast<std::uint32_t>(n);
    if constexpr (std::is_same_v<T, float>) {
      compute(dst[at], src[at], part[0], part[1], n);
    } else {
      Cast(part[2], src[at], RoundMode::CAST_NONE, elements, loc.file, loc.line);
      compute(part[3], part[2], part[0], part[1], n);
      Cast(dst[at], part[3], RoundMode::CAST_NONE, elements, loc.file, loc.line);
    }
  }
}

// d = s / (1 + exp(-factor * inner)), with `inner` in t0.
inline void divide_by_logistic(const LocalTensor<float>& d, const LocalTensor<float>& s,
                               const LocalTensor<float>& t0, float factor, std::int32_t n, Loc loc) {
  Muls(t0, t0, -factor, n, loc.file, loc.line);
  Exp(t0, t0, n, loc.file, loc.line);
  Adds(t0, t0, 1.0f, n, loc.file, loc.line);
  Div(d, s, t0, n, loc.file, loc.line);
}

}  // namespace evk_detail

// Every activation takes (dst, src[, temporary][, count]).
#define EVK_ACTIVATION(Name, ...)                                                                          \
  template <typename T, bool isReuseSource = false>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<std::uint8_t>& memory, \
            const std::uint32_t count, EVK_LOC) {                                                          \
    const evk_detail::Loc loc = EVK_HERE;                                                                  \
    using Floats = const LocalTensor<float>&;                                                              \
    evk_detail::in_pieces(dst, src, memory, count, loc,                                                    \
                          [loc](Floats d, Floats s, Floats t0, Floats t1, std::int32_t n) {                \
                            const char* file = loc.file;                                                   \
                            const int line = loc.line;                                                     \
                            __VA_ARGS__                                                                    \
                          });                                                                              \
  }                                                                                                        \
  template <typename T, bool isReuseSource = false>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const std::uint32_t count, EVK_LOC) {    \
    Name(dst, src, evk_detail::scratch(EVK_HERE), count, evk_file, evk_line);                              \
  }                                                                                                        \
  template <typename T, bool isReuseSource = false>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<std::uint8_t>& memory, \
            EVK_LOC) {                                                                                     \
    Name(dst, src, memory, src.GetSize(), evk_file, evk_line);                                             \
  }                                                                                                        \
  template <typename T, bool isReuseSource = false>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, EVK_LOC) {                               \
    Name(dst, src, evk_detail::scratch(EVK_HERE), src.GetSize(), evk_file, evk_line);                      \
  }

// 1 / (1 + exp(-x))
EVK_ACTIVATION(Sigmoid, {
  Adds(t0, s, 0.0f, n, file, line);
  Duplicate(t1, 1.0f, n, file, line);
  evk_detail::divide_by_logistic(d, t1, t0, 1.0f, n, loc);
})

// (exp(2x) - 1) / (exp(2x) + 1); beyond 8.8 it is 1 in float.
EVK_ACTIVATION(Tanh, {
  Mins(t0, s, 8.8f, n, file, line);
  Maxs(t0, t0, -8.8f, n, file, line);
  Muls(t0, t0, 2.0f, n, file, line);
  Exp(t0, t0, n, file, line);
  Adds(t1, t0, -1.0f, n, file, line);
  Adds(t0, t0, 1.0f, n, file, line);
  Div(d, t1, t0, n, file, line);
})

// x / (1 + exp(-1.5957691 (x + 0.044715 x^3))): the approximation by tanh.
EVK_ACTIVATION(Gelu, {
  Mul(t0, s, s, n, file, line);
  Mul(t0, t0, s, n, file, line);
  Muls(t0, t0, 0.044715f, n, file, line);
  Add(t0, t0, s, n, file, line);
  static_cast<void>(t1);
  evk_detail::divide_by_logistic(d, s, t0, 1.5957691f, n, loc);
})

// x / (1 + exp(-x))
EVK_ACTIVATION(Silu, {
  Adds(t0, s, 0.0f, n, file, line);
  static_cast<void>(t1);
  evk_detail::divide_by_logistic(d, s, t0, 1.0f, n, loc);
})
#undef EVK_ACTIVATION

// x / (1 + exp(-factor x))
template <typename T, bool isReuseSource = false>
void Swish(const LocalTensor<T>& dst, const LocalTensor<T>& src, std::uint32_t count, const T factor,
           EVK_LOC) {
  const evk_detail::Loc loc = EVK_HERE;
  using Floats = const LocalTensor<float>&;
  evk_detail::in_pieces(dst, src, evk_detail::scratch(loc), count, loc,
                        [loc, factor](Floats d, Floats s, Floats t0, Floats, std::int32_t n) {
                          Adds(t0, s, 0.0f, n, loc.file, loc.line);
                          evk_detail::divide_by_logistic(d, s, t0, static_cast<float>(factor), n, loc);
                        });
}

// Natural logarithm, under its other name.
template <typename T, bool isReuseSource = false>
void Log(const LocalTensor<T>& dst, const LocalTensor<T>& src, std::uint32_t count, EVK_LOC) {
  Ln(dst, src, static_cast<std::int32_t>(count), evk_file, evk_line);
}

}  // namespace AscendC
