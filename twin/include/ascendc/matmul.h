// The Matmul interface. A vector core hands its products to the cube core of its block, which runs them as
// the instructions of cube_product.h; in a kernel of cube cores alone they run where they stand.
#pragma once

#include "ascendc/cube_product.h"
#include "kernel_operator.h"

extern "C" {
// Hands a product to the block's cube core, as a copy of `bytes` bytes: each core has variables of its own.
// False if the launch has no cube cores.
bool evk_twin_send(const void* what, std::uint32_t bytes);
// On a cube core: takes the next product, waiting for one. False when all vector cores of the block have
// ended.
bool evk_twin_receive(void* what, std::uint32_t bytes, std::uint32_t loc);
// Whether the launch has vector cores.
bool evk_twin_has_vectors();
// Ends the calling core, as if its kernel returned.
[[noreturn]] void evk_twin_end_core();
}

namespace AscendC {

enum class CubeFormat { ND = 0, NZ, ZN, ZZ, NN, ND_ALIGN, SCALAR, VECTOR };
enum class LayoutMode { NONE = 0, BSNGD, SBNGD, BNGS1S2, NORMAL };
enum class IterateOrder { ORDER_M = 0, ORDER_N, UNDEF };

// How the vendor's library would run a product; the twin has one way for all.
struct MatmulConfig {
  bool doNorm = true, doBasicBlock = false, doMultiDataLoad = false;
  std::uint32_t basicM = 0, basicN = 0, basicK = 0;
};
constexpr MatmulConfig GetNormalConfig(bool = false, bool = false, bool = false, int = 0, bool = true) {
  return {};
}
constexpr MatmulConfig GetMDLConfig(bool = false, bool = false, std::uint32_t = 0, bool = false,
                                    bool = false) {
  return {false, false, true};
}
constexpr MatmulConfig GetBasicConfig(std::uint32_t m, std::uint32_t n, std::uint32_t k) {
  return {false, true, false, m, n, k};
}
inline constexpr MatmulConfig CFG_NORM = GetNormalConfig(), CFG_MDL = GetMDLConfig();

template <TPosition position, CubeFormat layout, typename Type, bool transposed = false,
          LayoutMode mode = LayoutMode::NONE, bool shared = false>
struct MatmulType {
  using T = Type;
  static constexpr TPosition pos = position;
  static constexpr CubeFormat format = layout;
  static constexpr bool isTrans = transposed;
};

namespace evk_detail {

#ifdef ASCENDC_CUBE_ONLY
inline constexpr int kMatmulKind = static_cast<int>(abi::KernelKind::kAic);
#else
inline constexpr int kMatmulKind = static_cast<int>(abi::KernelKind::kMix12);
#endif

// System workspace that one vector core has for what passes between UB and the cube.
constexpr std::uint64_t kCubeScratchBytes = 320 * 1024, kCubeScratchB = 96 * 1024, kCubeScratchC = 192 * 1024;

constexpr std::uint64_t kRequestChannel = 2ull << 40, kDoneChannel = 3ull << 40;

// A product on its way to the cube core, and the channel that waits for it.
struct Request {
  CubeJob job;
  std::uint64_t done = 0;
};

// What Matmul objects of all types share: a product on its way to the cube.
class MatmulBase {
 public:
  void Init(const TCubeTiling* tiling, TPipe* = nullptr) {
    const TCubeTiling& t = *tiling;
    iterate_n_first_ = t.iterateOrder == 1;
    SetOrgShape(t.M, t.N, t.Ka, t.Kb);
    SetSingleShape(t.singleCoreM, t.singleCoreN, t.singleCoreK);
    job_.base_m = static_cast<std::uint32_t>(t.baseM);
    job_.base_n = static_cast<std::uint32_t>(t.baseN);
    job_.base_k = static_cast<std::uint32_t>(t.baseK);
    const std::int32_t steps = t.stepKa < t.stepKb ? t.stepKa : t.stepKb;
    job_.steps = steps > 0 ? static_cast<std::uint32_t>(steps) : 1;
  }
  void SetOrgShape(int m, int n, int k) { SetOrgShape(m, n, k, k); }
  void SetOrgShape(int m, int n, int ka, int kb, int kc = 0) {
    org_m_ = m, org_n_ = n, org_ka_ = ka, org_kb_ = kb, org_kc_ = kc > 0 ? kc : n;
  }
  void SetSingleShape(int m, int n, int k) { SetTail(m, n, k); }
  void SetTail(int m = -1, int n = -1, int k = -1) {
    if (m > 0) job_.m = static_cast<std::uint32_t>(m);
    if (n > 0) job_.n = static_cast<std::uint32_t>(n);
    if (k > 0) job_.k = static_cast<std::uint32_t>(k);
  }
  void ClearBias() { job_.has_bias = false; }
  void DisableBias() { ClearBias(); }
  template <typename T>
  void SetLocalWorkspace(const LocalTensor<T>&) {}
  template <typename T>
  void SetWorkspace(T&&) {}
  void SetHF32(bool, int = 0) {}
  void SetSubBlockIdx(std::uint8_t) {}
  void WaitIterateAll() { wait_for_product(); }
  void WaitGetTensorC() { wait_for_product(); }
  void End() {
    wait_for_product();
    next_tile_ = 0;
  }

 protected:
  static bool on_cube() { return evk_twin_block()->core_type == 1; }
  static std::uint64_t group() {
    return evk_twin_block()->block_idx / (on_cube() ? 1 : evk_twin_block()->sub_block_num);
  }
  static std::uint64_t done_channel() {
    return kDoneChannel | group() << 8 | evk_twin_block()->sub_block_idx;
  }
  static std::uint64_t scratch() {
    return reinterpret_cast<std::uint64_t>(GetSysWorkSpacePtr()) +
           evk_twin_block()->block_idx * kCubeScratchBytes;
  }

  // Runs the tiles of the product, or has them run. The stored matrices' pitches follow from the shapes.
  void submit(Loc loc, bool wait) {
    wait_for_product();
    sent_ = job_;
    sent_.loc = loc;
    sent_.by_rows = iterate_n_first_;
    if (sent_.m == 0 || sent_.n == 0 || sent_.k == 0 || sent_.base_m == 0 || sent_.base_n == 0 ||
        sent_.base_k == 0)
      evk_twin_assert_failed(
          "Matmul: the tiling is not set, or has an empty side: call REGIST_MATMUL_OBJ with it, or Init",
          loc.id());
    if (on_cube()) {
      return CubeProduct(sent_).run();
    }
    const Request request{sent_, done_channel()};
    if (!evk_twin_send(&request, sizeof request))
      evk_twin_assert_failed("Matmul: the kernel has no cube cores: declare KERNEL_TYPE_MIX_AIC_1_2",
                             loc.id());
    evk_twin_cross_set(abi::kChannelMode, PIPE_ALL, kRequestChannel | group(), loc.id());
    outstanding_ = true;
    if (wait) wait_for_product();
  }
  void wait_for_product() {
    if (!outstanding_) return;
    outstanding_ = false;
    evk_twin_cross_wait(abi::kChannelMode, done_channel(), sent_.loc.id());
  }
  std::uint32_t all_tiles() const { return job_.tiles_down() * job_.tiles_across(); }

  CubeJob job_;   // as it is set
  CubeJob sent_;  // as it runs
  int org_m_ = 0, org_n_ = 0, org_ka_ = 0, org_kb_ = 0, org_kc_ = 0;
  std::uint32_t next_tile_ = 0;
  bool outstanding_ = false, iterate_n_first_ = false;
};

}  // namespace evk_detail

template <class A, class B, class C, class Bias = C, const auto& CFG = CFG_NORM, class... Rest>
class Matmul : public evk_detail::MatmulBase {
  using AT = typename A::T;
  using BT = typename B::T;
  using CT = typename C::T;
  using BiasT = typename Bias::T;
  static_assert(
      evk_detail::is_one_of<AT, half, bfloat16_t, float, std::int8_t>,
      "Matmul: this data type is not supported on Atlas A2; supported: half, bfloat16_t, float, int8_t");
  static_assert(std::is_same_v<AT, BT>, "Matmul: both matrices must have one data type");
  static_assert(
      std::is_same_v<AT, std::int8_t> ? evk_detail::is_one_of<CT, std::int32_t, half>
                                      : evk_detail::is_one_of<CT, half, bfloat16_t, float>,
      "Matmul: half, bfloat16_t and float give half, bfloat16_t or float; int8_t gives int32_t or half");
  static_assert(A::format == CubeFormat::ND && B::format == CubeFormat::ND &&
                    (C::format == CubeFormat::ND || C::format == CubeFormat::ND_ALIGN),
                "Matmul: the twin has CubeFormat::ND");

 public:
  Matmul() {
    job_.in = evk_detail::TypeOf<AT>::value;
    job_.out = evk_detail::TypeOf<CT>::value;
    job_.bias_type = evk_detail::TypeOf<BiasT>::value;
  }
  void SetTensorA(const GlobalTensor<AT>& a, bool transposed = A::isTrans) {
    job_.a = a.operand().addr;
    job_.trans_a = transposed;
    in_ub_a_ = false;
  }
  void SetTensorB(const GlobalTensor<BT>& b, bool transposed = B::isTrans) {
    job_.b = b.operand().addr;
    job_.trans_b = transposed;
    in_ub_b_ = false;
  }
  // From UB: through the workspace, as the cube core reaches no UB.
  void SetTensorA(const LocalTensor<AT>& a, bool transposed = A::isTrans, EVK_LOC) {
    job_.a = scratch();
    job_.trans_a = transposed;
    in_ub_a_ = true;
    to_scratch<AT>(job_.a, a, std::uint64_t{job_.m} * job_.k, EVK_HERE);
  }
  void SetTensorB(const LocalTensor<BT>& b, bool transposed = B::isTrans, EVK_LOC) {
    job_.b = scratch() + evk_detail::kCubeScratchB;
    job_.trans_b = transposed;
    in_ub_b_ = true;
    to_scratch<BT>(job_.b, b, std::uint64_t{job_.k} * job_.n, EVK_HERE);
  }
  void SetBias(const GlobalTensor<BiasT>& bias) {
    job_.bias = bias.operand().addr;
    job_.has_bias = true;
  }

  template <bool sync = true>
  void IterateAll(const GlobalTensor<CT>& c, std::uint8_t atomic = 0, bool sequential = false, bool = false,
                  bool = false, EVK_LOC) {
    set_pitches();
    to_gm(c.operand().addr, static_cast<std::uint64_t>(org_kc_), atomic, sequential);
    job_.first_tile = 0;
    job_.tiles = all_tiles();
    submit(EVK_HERE, sync);
  }
  // All of the product to UB, row after row.
  template <bool sync = true>
  void IterateAll(const LocalTensor<CT>& c, std::uint8_t atomic = 0, EVK_LOC) {
    set_pitches();
    to_gm(scratch() + evk_detail::kCubeScratchC, job_.n, atomic, false);
    job_.first_tile = 0;
    job_.tiles = all_tiles();
    submit(EVK_HERE, true);
    from_scratch(c, job_.m, job_.n, EVK_HERE);
  }
  // The next tile is computed when it is asked for.
  template <bool sync = true>
  bool Iterate(bool partial = false, EVK_LOC) {
    if (partial) evk_twin_assert_failed("Matmul: the twin has no partial sums in Iterate", EVK_HERE.id());
    if (next_tile_ >= all_tiles()) {
      next_tile_ = 0;
      return false;
    }
    ++next_tile_;
    return true;
  }
  template <bool sync = true>
  void GetTensorC(const GlobalTensor<CT>& c, std::uint8_t atomic = 0, bool sequential = false, EVK_LOC) {
    set_pitches();
    to_gm(c.operand().addr, static_cast<std::uint64_t>(org_kc_), atomic, sequential);
    one_tile(EVK_HERE, sync);
  }
  template <bool sync = true>
  void GetTensorC(const LocalTensor<CT>& c, std::uint8_t = 0, bool = false, EVK_LOC) {
    set_pitches();
    const std::uint32_t tile = next_tile_ > 0 ? next_tile_ - 1 : 0;
    to_gm(scratch() + evk_detail::kCubeScratchC, 0, 0, true);
    one_tile(EVK_HERE, true);
    from_scratch(c, sent_.rows_of(tile), sent_.columns_of(tile), EVK_HERE, sent_.base_n);
  }

 private:
  void set_pitches() {
    job_.pitch_a = in_ub_a_ ? (job_.trans_a ? job_.m : job_.k)
                            : static_cast<std::uint64_t>(job_.trans_a ? org_m_ : org_ka_);
    job_.pitch_b = in_ub_b_ ? (job_.trans_b ? job_.k : job_.n)
                            : static_cast<std::uint64_t>(job_.trans_b ? org_kb_ : org_n_);
  }
  void to_gm(std::uint64_t c, std::uint64_t pitch, std::uint8_t atomic, bool sequential) {
    job_.c = c;
    job_.pitch_c = pitch;
    job_.atomic = atomic;
    job_.sequential = sequential;
  }
  void one_tile(evk_detail::Loc loc, bool wait) {
    job_.first_tile = next_tile_ > 0 ? next_tile_ - 1 : 0;
    job_.tiles = 1;
    submit(loc, wait);
  }
  template <typename T>
  void to_scratch(std::uint64_t gm, const LocalTensor<T>& from, std::uint64_t elements, evk_detail::Loc loc) {
    GlobalTensor<T> to;
    to.SetGlobalBuffer(reinterpret_cast<T*>(gm), elements);
    evk_detail::barrier(PIPE_ALL, loc);
    evk_detail::copy(evk_detail::abi::Op::kDataCopyPad, 0, to, from, 1, elements * sizeof(T), 0, 0, 0, 0,
                     loc);
  }
  // Rows that lie `pitch` apart (or one after the other) to rows of UB, each from a whole block of 32 bytes
  // on.
  void from_scratch(const LocalTensor<CT>& to, std::uint64_t rows, std::uint64_t columns, evk_detail::Loc loc,
                    std::uint64_t pitch = 0) {
    GlobalTensor<CT> from;
    from.SetGlobalBuffer(reinterpret_cast<CT*>(scratch() + evk_detail::kCubeScratchC), rows * columns);
    evk_detail::barrier(PIPE_ALL, loc);
    evk_detail::copy(evk_detail::abi::Op::kDataCopyPad, 0, to, from, rows, columns * sizeof(CT),
                     pitch ? (pitch - columns) * sizeof(CT) : 0, 0, evk_detail::padding(true, 0, 0), 0, loc);
    evk_detail::barrier(PIPE_ALL, loc);
  }
  bool in_ub_a_ = false, in_ub_b_ = false;
};

// The same where only cube cores run.
template <class A, class B, class C, class Bias = C, const auto& CFG = CFG_NORM, class... Rest>
using MatmulImpl = Matmul<A, B, C, Bias, CFG, Rest...>;

namespace evk_detail {

// Objects, each perhaps followed by its tiling.
inline void init_objects(MatmulBase*) {}
template <typename T, typename... Rest>
void init_objects(MatmulBase* object, T&& next, Rest&&... rest) {
  if constexpr (std::is_convertible_v<T, const TCubeTiling*>) {
    const TCubeTiling* tiling = next;
    if (object && tiling) object->Init(tiling);
    init_objects(static_cast<MatmulBase*>(nullptr), rest...);
  } else {
    init_objects(&next, rest...);
  }
}

inline void serve_products(Loc loc) {
  Request request;
  const std::uint64_t requests = kRequestChannel | evk_twin_block()->block_idx;
  while (evk_twin_receive(&request, sizeof request, loc.id())) {
    evk_twin_cross_wait(abi::kChannelMode, requests, loc.id());
    CubeProduct(request.job).run();
    evk_twin_cross_set(abi::kChannelMode, PIPE_ALL, request.done, request.job.loc.id());
  }
}

// A cube core beside vector cores serves them from here on, up to the end of its kernel.
template <typename Pipe, typename Workspace, typename... Objects>
void register_products(Loc loc, Pipe&&, Workspace&&, Objects&&... objects) {
  static_cast<void>(&GuessedKind < sizeof(Loc) ? kMatmulKind + 0 * sizeof...(Objects) : 0 > ::known);
  if (evk_twin_block()->core_type == 1 && evk_twin_has_vectors()) {
    serve_products(loc);
    evk_twin_end_core();
  }
  init_objects(static_cast<MatmulBase*>(nullptr), objects...);
}

}  // namespace evk_detail

constexpr std::uint32_t TOTAL_VEC_LOCAL_SIZE = 184 * 1024;

}  // namespace AscendC

namespace matmul {
using namespace AscendC;
}

#define REGIST_MATMUL_OBJ(...)                                                                             \
  ::AscendC::evk_detail::register_products(::AscendC::evk_detail::Loc{__builtin_FILE(), __builtin_LINE()}, \
                                           __VA_ARGS__)
