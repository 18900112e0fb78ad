#include "memory/dot.h"

#include <cstring>

#include "base/check.h"

namespace evk {
namespace {

constexpr std::size_t kLanes = 16;
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));

// Inlined into one function per instruction set. No fused multiply-add: it would round otherwise.
inline __attribute__((always_inline)) double lanes_dot(const float* a, const float* b, std::size_t size) {
  Lanes sum{};
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    Lanes x, y;
    std::memcpy(&x, a + i, sizeof x);
    std::memcpy(&y, b + i, sizeof y);
    sum += x * y;
  }
  double total = 0;
  for (; i < size; ++i) total += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  for (std::size_t lane = 0; lane < kLanes; ++lane) total += static_cast<double>(sum[lane]);
  return total;
}

double baseline_dot(const float* a, const float* b, std::size_t size) { return lanes_dot(a, b, size); }

#if defined(__x86_64__)
__attribute__((target("avx2"))) double avx2_dot(const float* a, const float* b, std::size_t size) {
  return lanes_dot(a, b, size);
}

using Dot = double (*)(const float*, const float*, std::size_t);
const Dot fastest = __builtin_cpu_supports("avx2") ? avx2_dot : baseline_dot;
#else
constexpr auto fastest = baseline_dot;
#endif

}  // namespace

double dot(std::span<const float> a, std::span<const float> b) {
  EVK_CHECK(a.size() == b.size());
  return fastest(a.data(), b.data(), a.size());
}

}  // namespace evk
