// Mathematical functions of the high-level interface, as the sequences of float instructions that they stand
// for. Each works through temporary memory, piece by piece: the caller's, or what TPipe has not handed out.
// Accurate to a few units in the last place of a float unless said otherwise.
#pragma once

#include "ascendc/moves.h"

namespace AscendC {
namespace evk_detail {

constexpr std::uint64_t kUbBytes = 196352;  // that a kernel may use

// What TPipe has not handed out, at most `bytes`. Nothing keeps it: the next call takes the same.
inline LocalTensor<std::uint8_t> free_memory(std::uint32_t bytes, Loc loc) {
  const TPipe* pipe = GetTPipePtr();
  if (!pipe)
    evk_twin_assert_failed("this call takes memory from TPipe, and there is none; pass a buffer", loc.id());
  const std::uint64_t used = pipe->used(abi::Space::kUb), left = used < kUbBytes ? kUbBytes - used : 0;
  return {abi::Space::kUb, used, static_cast<std::uint32_t>(left < bytes ? left : bytes), 0};
}

// Instructions on n floats each, at the place of the call that they stand for. A template, so that kernels
// pay for what they use.
template <typename F>
struct Steps {
  using Tensor = const LocalTensor<F>&;
  Loc loc;
  std::int32_t n;

  void add(Tensor d, Tensor a, Tensor b) const { Add(d, a, b, n, loc.file, loc.line); }
  void sub(Tensor d, Tensor a, Tensor b) const { Sub(d, a, b, n, loc.file, loc.line); }
  void mul(Tensor d, Tensor a, Tensor b) const { Mul(d, a, b, n, loc.file, loc.line); }
  void div(Tensor d, Tensor a, Tensor b) const { Div(d, a, b, n, loc.file, loc.line); }
  void min(Tensor d, Tensor a, Tensor b) const { Min(d, a, b, n, loc.file, loc.line); }
  void max(Tensor d, Tensor a, Tensor b) const { Max(d, a, b, n, loc.file, loc.line); }
  void add(Tensor d, Tensor a, float s) const { Adds(d, a, s, n, loc.file, loc.line); }
  void mul(Tensor d, Tensor a, float s) const { Muls(d, a, s, n, loc.file, loc.line); }
  void min(Tensor d, Tensor a, float s) const { Mins(d, a, s, n, loc.file, loc.line); }
  void max(Tensor d, Tensor a, float s) const { Maxs(d, a, s, n, loc.file, loc.line); }
  void exp(Tensor d, Tensor a) const { Exp(d, a, n, loc.file, loc.line); }
  void ln(Tensor d, Tensor a) const { Ln(d, a, n, loc.file, loc.line); }
  void sqrt(Tensor d, Tensor a) const { Sqrt(d, a, n, loc.file, loc.line); }
  void abs(Tensor d, Tensor a) const { Abs(d, a, n, loc.file, loc.line); }
  void fill(Tensor d, float s) const { Duplicate(d, s, n, loc.file, loc.line); }
  void copy(Tensor d, Tensor a) const { mul(d, a, 1.0f); }
  void round(Tensor d, Tensor a, RoundMode mode) const {
    Cast(d, a, mode, static_cast<std::uint32_t>(n), loc.file, loc.line);
  }
  // d = ((first * x + ...) * x + last). d is not x.
  template <typename... Rest>
  void polynomial(Tensor d, Tensor x, float first, float second, Rest... rest) const {
    mul(d, x, first);
    add(d, d, second);
    ((mul(d, d, x), add(d, d, rest)), ...);
  }
  // 1 where a > limit, else 0.
  void above(Tensor d, Tensor a, float limit) const {
    add(d, a, -limit);
    mul(d, d, 1e30f);
    mul(d, d, 1e30f);
    max(d, d, 0.0f);
    min(d, d, 1.0f);
  }
  // -1, 0, 1; t is a temporary, and d may be a.
  void sign(Tensor d, Tensor a, Tensor t) const {
    min(d, a, 3.4e38f);
    max(d, d, -3.4e38f);
    abs(t, d);
    max(t, t, 1.4e-45f);
    div(d, d, t);
  }
  // d = |a| with the sign of x; x may be d.
  void with_sign_of(Tensor d, Tensor x, Tensor a, Tensor t0, Tensor t1) const {
    sign(t0, x, t1);
    mul(d, a, t0);
  }
  // k = the multiple of pi next to x, less `shift`; r = x - k pi, in parts of few bits so that k times each
  // is exact up to |x| of 10^4.
  void reduce_by_pi(Tensor k, Tensor r, Tensor x, Tensor t, float shift) const {
    mul(k, x, 0.31830988618f);
    if (shift != 0) add(k, k, shift);
    round(k, k, RoundMode::CAST_RINT);
    if (shift != 0) add(k, k, -shift);
    copy(r, x);
    constexpr float kParts[] = {3.140625f, 0.0009670257568359375f, 6.2771141529083251953e-7f,
                                1.2154201256553420e-10f};
    for (const float part : kParts) {
      mul(t, k, part);
      sub(r, r, t);
    }
  }
  // d = sin(r) for |r| up to pi / 2; d is not r.
  void sine(Tensor d, Tensor r, Tensor t) const {
    mul(t, r, r);
    polynomial(d, t, 1.6059044e-10f, -2.5052108e-8f, 2.7557319e-6f, -1.9841270e-4f, 8.3333333e-3f,
               -0.16666667f);
    mul(d, d, t);
    mul(d, d, r);
    add(d, d, r);
  }
  // d *= (-1)^k of an integer k, which is lost.
  void alternate(Tensor d, Tensor k, Tensor t) const {
    mul(t, k, 0.5f);
    round(t, t, RoundMode::CAST_FLOOR);
    mul(t, t, -2.0f);
    add(t, t, k);
    mul(t, t, -2.0f);
    add(t, t, 1.0f);
    mul(d, d, t);
  }
  void sine_of(Tensor d, Tensor x, const LocalTensor<F>* t, float shift) const {
    reduce_by_pi(t[0], t[1], x, t[2], shift);
    sine(t[3], t[1], t[2]);
    if (shift != 0) add(t[0], t[0], shift);
    alternate(t[3], t[0], t[2]);
    copy(d, t[3]);
  }
  // By atan(z) = 2 atan(z / (1 + sqrt(1 + z^2))) of z = min(|x|, 1 / |x|). d may be x.
  void atan(Tensor d, Tensor x, const LocalTensor<F>* t) const {
    abs(t[0], x);
    fill(t[1], 1.0f);
    div(t[2], t[1], t[0]);
    min(t[2], t[2], t[0]);
    mul(t[3], t[2], t[2]);
    add(t[3], t[3], 1.0f);
    sqrt(t[3], t[3]);
    add(t[3], t[3], 1.0f);
    div(t[2], t[2], t[3]);
    mul(t[3], t[2], t[2]);
    polynomial(t[1], t[3], 0.058823529f, -0.066666667f, 0.076923077f, -0.090909091f, 0.11111111f,
               -0.14285714f, 0.2f, -0.33333333f, 1.0f);
    mul(t[1], t[1], t[2]);
    mul(t[1], t[1], 2.0f);
    above(t[0], t[0], 1.0f);
    mul(t[2], t[1], -2.0f);
    add(t[2], t[2], 1.5707963268f);
    mul(t[2], t[2], t[0]);
    add(t[1], t[1], t[2]);
    with_sign_of(d, x, t[1], t[0], t[2]);
  }
  // d = small where |x| is at most `limit`, else large; `one` tells which and is lost.
  void blend(Tensor d, Tensor small, Tensor large, Tensor one) const {
    mul(large, large, one);
    mul(one, one, -1.0f);
    add(one, one, 1.0f);
    mul(small, small, one);
    add(d, small, large);
  }
};

// Runs compute(d, s, t, steps) over pieces, in float: `sources` of one size, `temps` temporaries of a piece's
// size. dst may be a source, and compute writes it last.
template <int temps, int sources, typename T, typename Compute>
void by_pieces(const LocalTensor<T>& dst, const LocalTensor<T> (&src)[sources],
               const LocalTensor<std::uint8_t>& memory, std::uint32_t count, Loc loc, Compute compute) {
  static_assert(is_one_of<T, half, float>,
                "this function is not supported for this data type on Atlas A2; supported: half, float");
  constexpr bool is_float = std::is_same_v<T, float>;
  constexpr std::uint32_t parts = temps + (is_float ? 0 : sources + 1);
  const std::uint32_t piece = parts == 0 ? count : memory.GetSize() / parts / 256 * 64;
  if (piece == 0 && count > 0)
    evk_twin_assert_failed("the temporary buffer is too small for this call", loc.id());
  LocalTensor<float> t[parts + 1];
  for (std::uint32_t i = 0; i < parts; ++i) t[i] = memory.template ReinterpretCast<float>()[i * piece];
  for (std::uint32_t at = 0; at < count; at += piece) {
    const std::uint32_t n = count - at < piece ? count - at : piece;
    const Steps<float> steps{loc, static_cast<std::int32_t>(n)};
    if constexpr (is_float) {
      LocalTensor<float> s[sources];
      for (int i = 0; i < sources; ++i) s[i] = src[i][at];
      compute(dst[at], s, t, steps);
    } else {
      for (int i = 0; i < sources; ++i)
        Cast(t[temps + i], src[i][at], RoundMode::CAST_NONE, n, loc.file, loc.line);
      compute(t[temps + sources], t + temps, t, steps);
      Cast(dst[at], t[temps + sources], RoundMode::CAST_NONE, n, loc.file, loc.line);
    }
  }
}

// Temporary memory for a call that gives none: enough for pieces of 512 elements.
constexpr std::uint32_t kOwnMemoryBytes = 2048 * 10;

}  // namespace evk_detail

// Functions of one tensor take (dst, src[, temporary][, count]).
#define EVK_FORMS_OF_ONE(Name, Body)                                                                         \
  template <typename T, bool isReuseSource = false>                                                          \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<std::uint8_t>& memory,   \
            const std::uint32_t count, EVK_LOC) {                                                            \
    Body(dst, src, memory, count, EVK_HERE);                                                                 \
  }                                                                                                          \
  template <typename T, bool isReuseSource = false>                                                          \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const std::uint32_t count, EVK_LOC) {      \
    Body(dst, src, evk_detail::free_memory(evk_detail::kOwnMemoryBytes, EVK_HERE), count, EVK_HERE);         \
  }                                                                                                          \
  template <typename T, bool isReuseSource = false>                                                          \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<std::uint8_t>& memory,   \
            EVK_LOC) {                                                                                       \
    Body(dst, src, memory, src.GetSize(), EVK_HERE);                                                         \
  }                                                                                                          \
  template <typename T, bool isReuseSource = false>                                                          \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, EVK_LOC) {                                 \
    Body(dst, src, evk_detail::free_memory(evk_detail::kOwnMemoryBytes, EVK_HERE), src.GetSize(), EVK_HERE); \
  }
#define EVK_MATH(Name, temps, ...)                                                         \
  namespace evk_detail {                                                                   \
  template <typename T>                                                                    \
  void run_##Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                    \
                  const LocalTensor<std::uint8_t>& memory, std::uint32_t count, Loc loc) { \
    by_pieces<temps, 1>(dst, {src}, memory, count, loc,                                    \
                        [](const LocalTensor<float>& d, const LocalTensor<float>* source,  \
                           const LocalTensor<float>* t, const Steps<float>& f) {           \
                          [[maybe_unused]] const LocalTensor<float>& s = source[0];        \
                          __VA_ARGS__                                                      \
                        });                                                                \
  }                                                                                        \
  }                                                                                        \
  EVK_FORMS_OF_ONE(Name, evk_detail::run_##Name)

EVK_MATH(Floor, 0, { f.round(d, s, RoundMode::CAST_FLOOR); })
EVK_MATH(Ceil, 0, { f.round(d, s, RoundMode::CAST_CEIL); })
EVK_MATH(Trunc, 0, { f.round(d, s, RoundMode::CAST_TRUNC); })
EVK_MATH(Round, 0, { f.round(d, s, RoundMode::CAST_RINT); })
EVK_MATH(Frac, 1, {
  f.round(t[0], s, RoundMode::CAST_TRUNC);
  f.sub(d, s, t[0]);
})
EVK_MATH(Sign, 2, {
  f.sign(t[0], s, t[1]);
  f.copy(d, t[0]);
})
EVK_MATH(Log2, 0, {
  f.ln(d, s);
  f.mul(d, d, 1.4426950409f);
})
EVK_MATH(Log10, 0, {
  f.ln(d, s);
  f.mul(d, d, 0.43429448190f);
})
EVK_MATH(Sin, 4, { f.sine_of(d, s, t, 0.0f); })
EVK_MATH(Cos, 4, { f.sine_of(d, s, t, 0.5f); })
// cos(r) = sin(pi / 2 - |r|)
EVK_MATH(Tan, 4, {
  f.reduce_by_pi(t[0], t[1], s, t[2], 0.0f);
  f.sine(t[3], t[1], t[2]);
  f.abs(t[1], t[1]);
  f.mul(t[1], t[1], -1.0f);
  f.add(t[1], t[1], 1.5707963705f);
  f.add(t[1], t[1], -4.3711390e-8f);
  f.sine(t[0], t[1], t[2]);
  f.div(d, t[3], t[0]);
})
EVK_MATH(Atan, 4, { f.atan(d, s, t); })
EVK_MATH(Asin, 5, {
  f.mul(t[0], s, -1.0f);
  f.add(t[0], t[0], 1.0f);
  f.add(t[1], s, 1.0f);
  f.mul(t[0], t[0], t[1]);
  f.sqrt(t[0], t[0]);
  f.div(t[4], s, t[0]);
  f.atan(d, t[4], t);
})
EVK_MATH(Acos, 5, {
  f.mul(t[0], s, -1.0f);
  f.add(t[0], t[0], 1.0f);
  f.add(t[1], s, 1.0f);
  f.div(t[0], t[0], t[1]);
  f.sqrt(t[4], t[0]);
  f.atan(d, t[4], t);
  f.mul(d, d, 2.0f);
})
// Halves are taken in the exponent, so that e^x overflows no earlier than the result.
EVK_MATH(Cosh, 2, {
  f.abs(t[0], s);
  f.mul(t[1], t[0], -1.0f);
  f.add(t[0], t[0], -0.69314718f);
  f.exp(t[0], t[0]);
  f.exp(t[1], t[1]);
  f.mul(t[1], t[1], 0.5f);
  f.add(d, t[0], t[1]);
})
// By its series up to 1, by exponentials beyond.
EVK_MATH(Sinh, 5, {
  f.abs(t[0], s);
  f.mul(t[1], t[0], -1.0f);
  f.add(t[2], t[0], -0.69314718f);
  f.exp(t[1], t[1]);
  f.mul(t[1], t[1], 0.5f);
  f.exp(t[2], t[2]);
  f.sub(t[2], t[2], t[1]);
  f.min(t[2], t[2], 3.4e38f);
  f.min(t[3], t[0], 1.0f);
  f.mul(t[4], t[3], t[3]);
  f.polynomial(t[1], t[4], 2.5052108e-8f, 2.7557319e-6f, 1.9841270e-4f, 8.3333333e-3f, 0.16666667f, 1.0f);
  f.mul(t[1], t[1], t[3]);
  f.above(t[0], t[0], 1.0f);
  f.blend(t[1], t[1], t[2], t[0]);
  f.with_sign_of(d, s, t[1], t[0], t[2]);
})
// ln(|x| + |x| sqrt(1 + 1 / x^2)), by its series up to a quarter.
EVK_MATH(Asinh, 5, {
  f.abs(t[0], s);
  f.max(t[0], t[0], 1e-12f);
  f.fill(t[1], 1.0f);
  f.div(t[1], t[1], t[0]);
  f.mul(t[1], t[1], t[1]);
  f.add(t[1], t[1], 1.0f);
  f.sqrt(t[1], t[1]);
  f.mul(t[1], t[1], t[0]);
  f.add(t[2], t[1], t[0]);
  f.ln(t[2], t[2]);
  f.abs(t[0], s);
  f.min(t[3], t[0], 0.25f);
  f.mul(t[4], t[3], t[3]);
  f.polynomial(t[1], t[4], -0.022372159f, 0.030381944f, -0.044642857f, 0.075f, -0.16666667f, 1.0f);
  f.mul(t[1], t[1], t[3]);
  f.above(t[0], t[0], 0.25f);
  f.blend(t[1], t[1], t[2], t[0]);
  f.with_sign_of(d, s, t[1], t[0], t[2]);
})
EVK_MATH(Acosh, 2, {
  f.add(t[0], s, -1.0f);
  f.add(t[1], s, 1.0f);
  f.sqrt(t[0], t[0]);
  f.sqrt(t[1], t[1]);
  f.mul(t[0], t[0], t[1]);
  f.add(t[0], t[0], s);
  f.ln(d, t[0]);
})
// ln((1 + |x|) / (1 - |x|)) / 2, by its series up to a quarter.
EVK_MATH(Atanh, 5, {
  f.abs(t[0], s);
  f.add(t[1], t[0], 1.0f);
  f.mul(t[2], t[0], -1.0f);
  f.add(t[2], t[2], 1.0f);
  f.div(t[2], t[1], t[2]);
  f.ln(t[2], t[2]);
  f.mul(t[2], t[2], 0.5f);
  f.min(t[3], t[0], 0.25f);
  f.mul(t[4], t[3], t[3]);
  f.polynomial(t[1], t[4], 0.090909091f, 0.11111111f, 0.14285714f, 0.2f, 0.33333333f, 1.0f);
  f.mul(t[1], t[1], t[3]);
  f.above(t[0], t[0], 0.25f);
  f.blend(t[1], t[1], t[2], t[0]);
  f.with_sign_of(d, s, t[1], t[0], t[2]);
})
// x P(x^2) / Q(x^2) of the x up to 4, where erf is 1 in float.
EVK_MATH(Erf, 4, {
  f.min(t[0], s, 4.0f);
  f.max(t[0], t[0], -4.0f);
  f.mul(t[1], t[0], t[0]);
  f.polynomial(t[2], t[1], -2.72614225801306e-10f, 2.77068142495902e-08f, -2.10102402082508e-06f,
               -5.69250639462346e-05f, -7.34990630326855e-04f, -2.95459980854025e-03f,
               -1.60960333262415e-02f);
  f.polynomial(t[3], t[1], -1.45660718464996e-05f, -2.13374055278905e-04f, -1.68282697438203e-03f,
               -7.37332916720468e-03f, -1.42647390514189e-02f);
  f.mul(t[2], t[2], t[0]);
  f.div(d, t[2], t[3]);
})
// With u = 1 / (1 + |x| / 2): u e^(-x^2 + P(u)) for x >= 0, and 2 less that of -x below. Relative error 2e-6
// at most where the result is a normal float.
EVK_MATH(Erfc, 4, {
  f.abs(t[0], s);
  f.mul(t[1], t[0], 0.5f);
  f.add(t[1], t[1], 1.0f);
  f.fill(t[2], 1.0f);
  f.div(t[1], t[2], t[1]);
  f.polynomial(t[2], t[1], 0.17087277f, -0.82215223f, 1.48851587f, -1.13520398f, 0.27886807f, -0.18628806f,
               0.09678418f, 0.37409196f, 1.00002368f, -1.26551223f);
  f.mul(t[3], t[0], t[0]);
  f.sub(t[2], t[2], t[3]);
  f.exp(t[2], t[2]);
  f.mul(t[2], t[2], t[1]);
  f.mul(t[0], s, -1.0f);
  f.above(t[0], t[0], 0.0f);
  f.mul(t[1], t[2], -2.0f);
  f.add(t[1], t[1], 2.0f);
  f.mul(t[1], t[1], t[0]);
  f.add(d, t[2], t[1]);
})
// x / (1 + e^(-1.702 x))
EVK_MATH(FasterGelu, 1, {
  f.mul(t[0], s, -1.702f);
  f.exp(t[0], t[0]);
  f.add(t[0], t[0], 1.0f);
  f.div(d, s, t[0]);
})
// x (0.5 + sgn(x) (0.5 - 0.1444 (min(0.7071 |x|, 1.769) - 1.769)^2))
EVK_MATH(FasterGeluV2, 3, {
  f.mul(t[0], s, 0.70710678f);
  f.abs(t[0], t[0]);
  f.min(t[0], t[0], 1.769f);
  f.add(t[0], t[0], -1.769f);
  f.mul(t[0], t[0], t[0]);
  f.mul(t[0], t[0], -0.1444f);
  f.add(t[0], t[0], 0.5f);
  f.sign(t[1], s, t[2]);
  f.mul(t[0], t[0], t[1]);
  f.add(t[0], t[0], 0.5f);
  f.mul(d, s, t[0]);
})

// --- functions of two tensors: (dst, src0, src1[, temporary][, count])

#define EVK_FORMS_OF_TWO(Name, Body)                                                                        \
  template <typename T, bool isReuseSource = false>                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,              \
            const LocalTensor<std::uint8_t>& memory, const std::uint32_t count, EVK_LOC) {                  \
    Body(dst, src0, src1, memory, count, EVK_HERE);                                                         \
  }                                                                                                         \
  template <typename T, bool isReuseSource = false>                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,              \
            const std::uint32_t count, EVK_LOC) {                                                           \
    Body(dst, src0, src1, evk_detail::free_memory(evk_detail::kOwnMemoryBytes, EVK_HERE), count, EVK_HERE); \
  }                                                                                                         \
  template <typename T, bool isReuseSource = false>                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,              \
            const LocalTensor<std::uint8_t>& memory, EVK_LOC) {                                             \
    Body(dst, src0, src1, memory, src0.GetSize(), EVK_HERE);                                                \
  }                                                                                                         \
  template <typename T, bool isReuseSource = false>                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, EVK_LOC) {   \
    Body(dst, src0, src1, evk_detail::free_memory(evk_detail::kOwnMemoryBytes, EVK_HERE), src0.GetSize(),   \
         EVK_HERE);                                                                                         \
  }
#define EVK_MATH_OF_TWO(Name, temps, ...)                                                            \
  namespace evk_detail {                                                                             \
  template <typename T>                                                                              \
  void run_##Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, \
                  const LocalTensor<std::uint8_t>& memory, std::uint32_t count, Loc loc) {           \
    by_pieces<temps, 2>(dst, {src0, src1}, memory, count, loc,                                       \
                        [](const LocalTensor<float>& d, const LocalTensor<float>* s,                 \
                           const LocalTensor<float>* t, const Steps<float>& f) { __VA_ARGS__ });     \
  }                                                                                                  \
  }                                                                                                  \
  EVK_FORMS_OF_TWO(Name, evk_detail::run_##Name)

namespace evk_detail {
// d = x^y = e^(y ln |x|), negated for a negative x and an odd y, NaN for a negative x and a fraction. The
// relative error grows with |y ln x|.
template <typename F>
void power(const LocalTensor<F>& d, const LocalTensor<F>& x, const LocalTensor<F>& y, const LocalTensor<F>* t,
           const Steps<F>& f) {
  f.abs(t[0], x);
  f.ln(t[0], t[0]);
  f.max(t[0], t[0], -3e38f);
  f.mul(t[0], t[0], y);
  f.exp(t[0], t[0]);
  f.mul(t[1], x, -1.0f);
  f.above(t[1], t[1], 0.0f);  // x < 0
  f.round(t[2], y, RoundMode::CAST_FLOOR);
  f.sub(t[2], y, t[2]);
  f.above(t[2], t[2], 0.0f);  // y is no integer
  f.mul(t[2], t[2], t[1]);
  f.mul(t[2], t[2], -1.0f);
  f.add(t[2], t[2], 1.0f);
  f.fill(t[3], 0.0f);
  f.div(t[2], t[3], t[2]);  // 0, or 0 / 0
  f.add(t[0], t[0], t[2]);
  f.mul(t[2], y, 0.5f);
  f.round(t[3], t[2], RoundMode::CAST_FLOOR);
  f.sub(t[2], t[2], t[3]);
  f.mul(t[2], t[2], t[1]);
  f.mul(t[2], t[2], -4.0f);
  f.add(t[2], t[2], 1.0f);  // -1 for an odd y and x < 0
  f.mul(d, t[0], t[2]);
}
}  // namespace evk_detail

EVK_MATH_OF_TWO(Power, 4, { evk_detail::power(d, s[0], s[1], t, f); })
EVK_MATH_OF_TWO(Fmod, 1, {
  f.div(t[0], s[0], s[1]);
  f.round(t[0], t[0], RoundMode::CAST_TRUNC);
  f.mul(t[0], t[0], s[1]);
  f.sub(d, s[0], t[0]);
})
// src0 gelu(src1), src0 relu(src1)
EVK_MATH_OF_TWO(GeGLU, 1, {
  f.mul(t[0], s[1], s[1]);
  f.mul(t[0], t[0], s[1]);
  f.mul(t[0], t[0], 0.044715f);
  f.add(t[0], t[0], s[1]);
  f.mul(t[0], t[0], -1.5957691f);
  f.exp(t[0], t[0]);
  f.add(t[0], t[0], 1.0f);
  f.div(t[0], s[1], t[0]);
  f.mul(d, s[0], t[0]);
})
EVK_MATH_OF_TWO(ReGlu, 1, {
  f.max(t[0], s[1], 0.0f);
  f.mul(d, s[0], t[0]);
})
#undef EVK_MATH_OF_TWO

// One of the two is a scalar.
template <typename T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& exponent,
           const LocalTensor<std::uint8_t>& memory, const std::uint32_t count, EVK_LOC) {
  const float y = static_cast<float>(exponent);
  evk_detail::by_pieces<5, 1>(dst, {src}, memory, count, EVK_HERE,
                              [y](const auto& d, const auto* s, const auto* t, const auto& f) {
                                f.fill(t[4], y);
                                evk_detail::power(d, s[0], t[4], t, f);
                              });
}
template <typename T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const T& base, const LocalTensor<T>& src,
           const LocalTensor<std::uint8_t>& memory, const std::uint32_t count, EVK_LOC) {
  const float x = static_cast<float>(base);
  evk_detail::by_pieces<5, 1>(dst, {src}, memory, count, EVK_HERE,
                              [x](const auto& d, const auto* s, const auto* t, const auto& f) {
                                f.fill(t[4], x);
                                evk_detail::power(d, t[4], s[0], t, f);
                              });
}
template <typename T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& exponent, const std::uint32_t count,
           EVK_LOC) {
  Power(dst, src, exponent, evk_detail::free_memory(evk_detail::kOwnMemoryBytes, EVK_HERE), count, evk_file,
        evk_line);
}
template <typename T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& exponent, EVK_LOC) {
  Power(dst, src, exponent, src.GetSize(), evk_file, evk_line);
}
template <typename T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const T& base, const LocalTensor<T>& src, const std::uint32_t count,
           EVK_LOC) {
  Power(dst, base, src, evk_detail::free_memory(evk_detail::kOwnMemoryBytes, EVK_HERE), count, evk_file,
        evk_line);
}

// src0 src1 / (1 + e^(-beta src1))
template <typename T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
            const float& beta, const LocalTensor<std::uint8_t>& memory, const std::uint32_t count, EVK_LOC) {
  const float factor = -beta;
  evk_detail::by_pieces<1, 2>(dst, {src0, src1}, memory, count, EVK_HERE,
                              [factor](const auto& d, const auto* s, const auto* t, const auto& f) {
                                f.mul(t[0], s[1], factor);
                                f.exp(t[0], t[0]);
                                f.add(t[0], t[0], 1.0f);
                                f.div(t[0], s[1], t[0]);
                                f.mul(d, s[0], t[0]);
                              });
}
template <typename T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
            const float& beta, const std::uint32_t count, EVK_LOC) {
  SwiGLU(dst, src0, src1, beta, evk_detail::free_memory(evk_detail::kOwnMemoryBytes, EVK_HERE), count,
         evk_file, evk_line);
}

// e^x of the high-level interface: the level of its series is at least what the instruction has.
template <typename T, std::uint8_t level, bool isReuseSource = false>
void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<std::uint8_t>& memory,
         const std::uint32_t count, EVK_LOC) {
  evk_detail::by_pieces<1, 1>(
      dst, {src}, memory, count, EVK_HERE,
      [](const auto& d, const auto* s, const auto*, const auto& f) { f.exp(d, s[0]); });
}
template <typename T, std::uint8_t level, bool isReuseSource = false>
void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, const std::uint32_t count, EVK_LOC) {
  Exp<T, level>(dst, src, evk_detail::free_memory(evk_detail::kOwnMemoryBytes, EVK_HERE), count, evk_file,
                evk_line);
}

// (a | b) & ~(a & b)
template <typename T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
         const LocalTensor<std::uint8_t>& memory, const std::uint32_t count, EVK_LOC) {
  static_assert(evk_detail::is_one_of<T, std::int16_t, std::uint16_t>,
                "Xor: this data type is not supported on Atlas A2; supported: int16_t, uint16_t");
  const LocalTensor<T> both = memory.template ReinterpretCast<T>();
  const std::uint32_t piece = memory.GetSize() / 256 * 128;
  if (piece == 0) evk_twin_assert_failed("the temporary buffer is too small for this call", EVK_HERE.id());
  for (std::uint32_t at = 0; at < count; at += piece) {
    const auto n = static_cast<std::int32_t>(count - at < piece ? count - at : piece);
    And(both, src0[at], src1[at], n, evk_file, evk_line);
    Not(both, both, n, evk_file, evk_line);
    Or(dst[at], src0[at], src1[at], n, evk_file, evk_line);
    And(dst[at], dst[at], both, n, evk_file, evk_line);
  }
}
template <typename T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
         const std::uint32_t count, EVK_LOC) {
  Xor(dst, src0, src1, evk_detail::free_memory(evk_detail::kOwnMemoryBytes, EVK_HERE), count, evk_file,
      evk_line);
}
template <typename T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, EVK_LOC) {
  Xor(dst, src0, src1, src0.GetSize(), evk_file, evk_line);
}

// At most, at least, between.
template <typename T, bool isReuseSource = false>
void ClampMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<std::uint8_t>&,
              const T scalar, const std::uint32_t count, EVK_LOC) {
  Mins(dst, src, scalar, static_cast<std::int32_t>(count), evk_file, evk_line);
}
template <typename T, bool isReuseSource = false>
void ClampMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T scalar, const std::uint32_t count,
              EVK_LOC) {
  Mins(dst, src, scalar, static_cast<std::int32_t>(count), evk_file, evk_line);
}
template <typename T, bool isReuseSource = false>
void ClampMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<std::uint8_t>&,
              const T scalar, const std::uint32_t count, EVK_LOC) {
  Maxs(dst, src, scalar, static_cast<std::int32_t>(count), evk_file, evk_line);
}
template <typename T, bool isReuseSource = false>
void ClampMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T scalar, const std::uint32_t count,
              EVK_LOC) {
  Maxs(dst, src, scalar, static_cast<std::int32_t>(count), evk_file, evk_line);
}
template <typename T>
void Clamp(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T low, const T high,
           const std::uint32_t count, EVK_LOC) {
  Maxs(dst, src, low, static_cast<std::int32_t>(count), evk_file, evk_line);
  Mins(dst, dst, high, static_cast<std::int32_t>(count), evk_file, evk_line);
}

#undef EVK_MATH

// All memory that TPipe has not handed out.
template <typename T, TPosition position = TPosition::LCM>
bool PopStackBuffer(LocalTensor<T>& memory, EVK_LOC) {
  memory = evk_detail::free_memory(static_cast<std::uint32_t>(evk_detail::kUbBytes), EVK_HERE)
               .template ReinterpretCast<T>();
  return memory.GetSize() > 0;
}

}  // namespace AscendC
