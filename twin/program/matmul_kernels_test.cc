// The Matmul interface: host tiling, products handed to the cube core, results to GM and to UB.
#include <cmath>

#include "twin/program/kernel_bench.h"

namespace evk::twin::testing {
namespace {

// Multiplies parts of c, one a core; BODY gets `mm`, the part's place and the tensors.
const std::string kProduct = R"(
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
#include "tiling/platform/platform_ascendc.h"
#include "tiling/tiling_api.h"
using namespace AscendC;
template <typename T> struct HostType;
template <> struct HostType<half> { static constexpr auto value = matmul_tiling::DataType::DT_FLOAT16; };
template <> struct HostType<bfloat16_t> { static constexpr auto value = matmul_tiling::DataType::DT_BF16; };
template <> struct HostType<float> { static constexpr auto value = matmul_tiling::DataType::DT_FLOAT; };
template <> struct HostType<int8_t> { static constexpr auto value = matmul_tiling::DataType::DT_INT8; };
template <> struct HostType<int32_t> { static constexpr auto value = matmul_tiling::DataType::DT_INT32; };
__global__ KIND void Product(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, TCubeTiling tiling, bool trans_a, bool trans_b) {
  TPipe pipe;
  matmul::Matmul<MatmulType<TPosition::GM, CubeFormat::ND, AT>, MatmulType<TPosition::GM, CubeFormat::ND, AT>,
                 MatmulType<C_PLACE, CubeFormat::ND, CT>, MatmulType<TPosition::GM, CubeFormat::ND, BIAS_T>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &tiling);
  const int down = (tiling.M + tiling.singleCoreM - 1) / tiling.singleCoreM, i = GetBlockIdx();
  if (i >= tiling.usedCoreNum) return;
  const int row = i % down * tiling.singleCoreM, column = i / down * tiling.singleCoreN;
  const int rows = tiling.M - row < tiling.singleCoreM ? tiling.M - row : tiling.singleCoreM;
  const int columns = tiling.N - column < tiling.singleCoreN ? tiling.N - column : tiling.singleCoreN;
  GlobalTensor<AT> ga, gb;
  GlobalTensor<CT> gc;
  GlobalTensor<BIAS_T> gbias;
  ga.SetGlobalBuffer((__gm__ AT*)a + (trans_a ? row : row * tiling.Ka));
  gb.SetGlobalBuffer((__gm__ AT*)b + (trans_b ? column * tiling.Kb : column));
  gc.SetGlobalBuffer((__gm__ CT*)c + row * tiling.N + column);
  gbias.SetGlobalBuffer((__gm__ BIAS_T*)bias + column);
  mm.SetTail(rows, columns);
  mm.SetTensorA(ga, trans_a);
  mm.SetTensorB(gb, trans_b);
  if (tiling.isBias) mm.SetBias(gbias);
BODY
  mm.End();
}
extern "C" void launch_product(const npu::Tensor* in, const npu::Tensor* out, aclrtStream stream) {
  const int m = out[0].dim(0), n = out[0].dim(1), k = in[0].numel() / m;
  const bool trans_a = in[0].dim(0) != m, trans_b = in[1].dim(0) != k;  // no side equals another
  matmul_tiling::MultiCoreMatmulTiling host(*platform_ascendc::PlatformAscendCManager::GetInstance());
  host.SetDim(CORES);
  using matmul_tiling::TPosition;
  using matmul_tiling::CubeFormat;
  host.SetAType(TPosition::GM, CubeFormat::ND, HostType<AT>::value, trans_a);
  host.SetBType(TPosition::GM, CubeFormat::ND, HostType<AT>::value, trans_b);
  host.SetCType(TPosition::GM, CubeFormat::ND, HostType<CT>::value);
  host.SetBiasType(TPosition::GM, CubeFormat::ND, HostType<BIAS_T>::value);
  host.SetShape(m, n, k);
  host.SetOrgShape(m, n, k);
  host.SetBias(in[2].numel() == n);
  host.SetBufferSpace(-1, -1, -1);
  SPLIT;
  TCubeTiling tiling;
  if (host.GetTiling(tiling) != 0) return;
  Product<<<BLOCKS, nullptr, stream>>>(in[0].addr, in[1].addr, in[2].addr, out[0].addr, tiling, trans_a, trans_b);
}
)";

struct Case {
  std::string a = "half", c = "float", bias = "float";
  bool trans_a = false, trans_b = false, with_bias = false;
  int m = 64, n = 64, k = 64;
  std::string kind = "__mix__(1, 2)", blocks = "1", cores = "2", split = "", body = "  mm.IterateAll(gc);",
              place = "TPosition::GM", before = "";
};

int value_of(int row, int column) { return (row * 5 + column * 3) % 7 - 3; }

abi::DType dtype_of(const std::string& name) {
  return name == "half"         ? abi::DType::kF16
         : name == "bfloat16_t" ? abi::DType::kBf16
         : name == "float"      ? abi::DType::kF32
         : name == "int8_t"     ? abi::DType::kI8
                                : abi::DType::kI32;
}

void put(std::vector<std::byte>& bytes, std::size_t i, abi::DType dtype, int value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  std::uint32_t word = bits;
  if (dtype == abi::DType::kBf16) word = bits >> 16;
  if (dtype == abi::DType::kF16)
    word = value == 0 ? 0 : (bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - (112u << 10));
  if (dtype == abi::DType::kI8 || dtype == abi::DType::kI32) word = static_cast<std::uint32_t>(value);
  std::memcpy(&bytes[i * abi::bytes_of(dtype)], &word, abi::bytes_of(dtype));
}
double get(const std::vector<std::byte>& bytes, std::size_t i, abi::DType dtype) {
  std::uint32_t word = 0;
  std::memcpy(&word, &bytes[i * abi::bytes_of(dtype)], abi::bytes_of(dtype));
  if (dtype == abi::DType::kI32) return static_cast<std::int32_t>(word);
  if (dtype == abi::DType::kBf16) return static_cast<double>(std::bit_cast<float>(word << 16));
  if (dtype == abi::DType::kF16) {
    const double magnitude =
        (word & 0x7fff) == 0 ? 0
                             : std::ldexp(1 + (word & 1023) / 1024.0, static_cast<int>(word >> 10 & 31) - 15);
    return word & 0x8000 ? -magnitude : magnitude;
  }
  return static_cast<double>(std::bit_cast<float>(word));
}

class MatmulKernels : public KernelBench {
 protected:
  static LaunchTensor matrix(const std::string& name, const std::string& type, int rows, int columns,
                             bool transposed) {
    LaunchTensor t{name, dtype_of(type), {rows, columns}, {}};
    if (transposed) t.shape = {columns, rows};
    t.data.resize(static_cast<std::size_t>(rows * columns) * abi::bytes_of(t.dtype));
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j)
        put(t.data, static_cast<std::size_t>(transposed ? j * rows + i : i * columns + j), t.dtype,
            value_of(i, j));
    return t;
  }
  static Launch launch(const Case& c) {
    Launch l;
    l.op = "product";
    l.inputs = {matrix("a", c.a, c.m, c.k, c.trans_a), matrix("b", c.a, c.k, c.n, c.trans_b),
                matrix("bias", c.bias, 1, c.with_bias ? c.n : c.n + 1, false)};
    l.outputs = {empty("c", {c.m, c.n}, dtype_of(c.c))};
    return l;
  }
  std::string build(const Case& c) {
    std::string text = kProduct;
    const auto at = text.find("BODY");
    text.replace(at, 4, c.body);
    write("product.asc", c.before + "\n#include \"kernel_operator.h\"\nusing AT = " + c.a +
                             "; using CT = " + c.c + "; using BIAS_T = " + c.bias + ";\n#define CORES " +
                             c.cores + "\n#define SPLIT " + c.split + "\n#define BLOCKS " + c.blocks +
                             "\n#define C_PLACE " + c.place + text.replace(text.find("KIND"), 4, c.kind));
    const auto so = build_project(recipe(), folder_ + "/product.asc", "product", folder_);
    EXPECT_TRUE(so) << so.error().text();
    return so.value_or("");
  }
  static double want(const Case& c, int row, int column) {
    double sum = c.with_bias ? value_of(0, column) : 0;
    for (int x = 0; x < c.k; ++x) sum += value_of(row, x) * value_of(x, column);
    return sum;
  }
  void expect_product(const Case& c, const RunReport& report, double factor = 1) {
    expect_clean(report);
    int wrong = 0;
    for (int i = 0; i < c.m; ++i)
      for (int j = 0; j < c.n && wrong < 3; ++j) {
        const double got = get(report.outputs[0], static_cast<std::size_t>(i * c.n + j), dtype_of(c.c));
        const double exact = factor * want(c, i, j),
                     tolerance = c.c == "bfloat16_t" ? std::abs(exact) / 128 : std::abs(exact) / 1024;
        if (c.c == "float" || c.c == "int32_t" ? got != exact : !(std::abs(got - exact) <= tolerance)) {
          ++wrong;
          ADD_FAILURE() << c.a << " " << c.m << "x" << c.n << "x" << c.k << " trans " << c.trans_a
                        << c.trans_b << " [" << i << ", " << j << "]: " << got << " for " << exact;
        }
      }
  }
};

TEST_F(MatmulKernels, types_transposes_tails_and_bias) {
  const char* const types[][3] = {{"half", "float", "float"},
                                  {"bfloat16_t", "bfloat16_t", "float"},
                                  {"float", "float", "float"},
                                  {"int8_t", "int32_t", "int32_t"},
                                  {"half", "half", "half"}};
  for (const auto& t : types) {
    Case c;
    c.a = t[0], c.c = t[1], c.bias = t[2];
    const std::string so = build(c);
    for (int transposed = 0; transposed < 4; ++transposed)
      // Whole tiles, and tails of every side.
      for (const auto& [m, n, k] : {std::tuple(128, 96, 64), std::tuple(77, 150, 201)})
        for (const bool bias : {false, true}) {
          c.trans_a = transposed & 1, c.trans_b = transposed & 2;
          c.m = m, c.n = n, c.k = k, c.with_bias = bias;
          expect_product(c, run(so, launch(c)));
        }
  }
}

TEST_F(MatmulKernels, many_cores_share_a_product_alike_over_both_transports) {
  Case c;
  c.m = 700, c.n = 500, c.k = 300, c.with_bias = true, c.cores = "12", c.blocks = "6";
  const std::string so = build(c);
  const RunReport direct = run(so, launch(c)), ring = run(so, launch(c), Transport::kRing);
  expect_product(c, direct);
  EXPECT_EQ(direct.outputs, ring.outputs);
  EXPECT_EQ(direct.trace_hash, ring.trace_hash);
  EXPECT_EQ(direct.profile.total_cycles, ring.profile.total_cycles);
  EXPECT_EQ(direct.findings.size(), ring.findings.size());
  // The order of blocks changes nothing.
  Launch reversed = launch(c);
  reversed.block_order = {5, 4, 3, 2, 1, 0};
  const RunReport other = run(so, reversed);
  EXPECT_EQ(direct.outputs, other.outputs);
  EXPECT_EQ(direct.profile.total_cycles, other.profile.total_cycles);
}

TEST_F(MatmulKernels, cube_cores_alone_run_products_themselves) {
  Case c;
  c.m = 256, c.n = 256, c.k = 128, c.cores = "4", c.blocks = "4", c.kind = "__cube__";
  expect_product(c, run(build(c), launch(c)));
  c.before = "#define ASCENDC_CUBE_ONLY";
  c.kind = "__aicore__";
  expect_product(c, run(build(c), launch(c)));
}

// Each core has its own copy of a variable: the cube core is given what the vector core asks for.
TEST_F(MatmulKernels, objects_may_be_variables_of_the_program) {
  Case c;
  c.m = 96, c.n = 64, c.k = 32;
  c.body = "  kept = mm; kept.SetTensorA(ga); kept.IterateAll(gc);";
  c.before = R"(#include "lib/matmul_intf.h"
using GmOf = AscendC::MatmulType<AscendC::TPosition::GM, AscendC::CubeFormat::ND, half>;
using SumOf = AscendC::MatmulType<AscendC::TPosition::GM, AscendC::CubeFormat::ND, float>;
static matmul::Matmul<GmOf, GmOf, SumOf, SumOf> kept;)";
  expect_product(c, run(build(c), launch(c)));
}

// Tile by tile into UB, doubled there, and out again: where each tile lies follows from the tiling.
const char* const kThroughUb = R"(
  TQue<TPosition::VECOUT, 1> out;
  pipe.InitBuffer(out, 1, tiling.baseM * tiling.baseN * sizeof(CT));
  const int tiles_down = (rows + tiling.baseM - 1) / tiling.baseM;
  int count = 0;
  while (mm.template Iterate<true>()) {
    LocalTensor<CT> tile = out.AllocTensor<CT>();
    mm.template GetTensorC<true>(tile, false, true);
    const int r = count % tiles_down * tiling.baseM, x = count / tiles_down * tiling.baseN;
    const int h = rows - r < tiling.baseM ? rows - r : tiling.baseM, w = columns - x < tiling.baseN ? columns - x : tiling.baseN;
    const int per = 32 / sizeof(CT), pitch = (w + per - 1) / per * per;
    Muls(tile, tile, (CT)2, h * pitch);
    out.EnQue(tile);
    tile = out.DeQue<CT>();
    DataCopyPad(gc[r * tiling.N + x], tile, DataCopyExtParams{(uint16_t)h, (uint32_t)(w * sizeof(CT)), 0, (uint32_t)((tiling.N - w) * sizeof(CT)), 0});
    out.FreeTensor(tile);
    ++count;
  })";

TEST_F(MatmulKernels, tiles_come_to_ub) {
  Case c;
  c.m = 200, c.n = 136, c.k = 80, c.body = kThroughUb, c.place = "TPosition::VECIN",
  c.split = "host.SetFixSplit(64, 64, -1)";
  const RunReport report = run(build(c), launch(c));
  expect_product(c, report, 2);
  EXPECT_GT(report.profile.vec_ratio, 0);
}

TEST_F(MatmulKernels, tiles_and_whole_products_go_to_gm_at_once_and_on_top) {
  Case c;
  c.m = 150, c.n = 170, c.k = 48, c.split = "host.SetFixSplit(64, 64, -1)";
  c.body = "  while (mm.Iterate()) { mm.GetTensorC(gc); }";
  expect_product(c, run(build(c), launch(c)));
  c.body = "  mm.template IterateAll<false>(gc); mm.WaitIterateAll(); mm.IterateAll(gc, 1);";
  expect_product(c, run(build(c), launch(c)), 2);
}

TEST_F(MatmulKernels, matrices_come_from_ub) {
  Case c;
  c.m = 32, c.n = 48, c.k = 64, c.cores = "1";
  c.body = R"(
  TBuf<TPosition::VECCALC> buf;
  pipe.InitBuffer(buf, 64 * 64 * 2);
  LocalTensor<half> left = buf.Get<half>();
  DataCopy(left, ga, rows * tiling.Ka);
  SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0);
  Muls(left, left, (half)3, rows * tiling.Ka);
  mm.SetTensorA(left, false);
  mm.IterateAll(gc);)";
  expect_product(c, run(build(c), launch(c)), 3);
}

TEST_F(MatmulKernels, faults_name_the_kernel_s_own_lines) {
  Case c;
  c.m = 128, c.n = 96, c.k = 64;
  const auto code_of = [&](const Case& with) {
    const RunReport report = run(build(with), launch(with));
    for (const auto& f : report.findings)
      if (!f.note) {
        EXPECT_EQ(f.file, "product.asc") << f.message;
        return f.code;
      }
    return std::string();
  };
  Case tail = c;
  tail.body = "  mm.SetTail(rows + 64); mm.IterateAll(gc);";
  EXPECT_EQ(code_of(tail), "gm_read_out_of_bounds");
  Case large = c;
  large.body =
      "  tiling.baseM = 512; tiling.baseN = 512; mm.Init(&tiling); mm.SetTail(512, 512); mm.SetOrgShape(64, "
      "64, 64); mm.IterateAll(gc);";
  EXPECT_NE(code_of(large), "");
  Case unset = c;
  unset.body = "  tiling.baseM = 0; mm.Init(&tiling); mm.IterateAll(gc);";
  EXPECT_EQ(code_of(unset), "assert_failed");
  Case no_cube = c;
  no_cube.kind = "__vector__";
  EXPECT_EQ(code_of(no_cube), "assert_failed");
  // Both vector cores write the same part.
  Case same = c;
  same.body = "  gc.SetGlobalBuffer((__gm__ CT*)c); mm.IterateAll(gc);";
  same.m = 256;
  EXPECT_EQ(code_of(same), "");  // the cube core of the block writes both, one after the other
}

// The sample of an operator project: product, bias and activation, for sizes with tails.
TEST_F(MatmulKernels, a_project_with_an_activation_is_alike_over_both_transports) {
  const std::string so = build_sample("matmul_bias");
  for (const auto& [m, n, k] : {std::tuple(64, 128, 32), std::tuple(150, 333, 70), std::tuple(5, 9, 3)}) {
    Case c;
    c.m = m, c.n = n, c.k = k, c.with_bias = true;
    Launch l = launch(c);
    l.op = "matmul_bias";
    const RunReport direct = run(so, l), ring = run(so, l, Transport::kRing);
    expect_clean(direct);
    EXPECT_EQ(direct.outputs, ring.outputs);
    EXPECT_EQ(direct.trace_hash, ring.trace_hash);
    EXPECT_EQ(direct.profile.total_cycles, ring.profile.total_cycles);
    int wrong = 0;
    for (int i = 0; i < m * n; ++i) {
      const double exact = want(c, i / n, i % n), kept = exact > 0 ? exact : exact / 2;
      wrong += get(direct.outputs[0], static_cast<std::size_t>(i), abi::DType::kF32) != kept;
    }
    EXPECT_EQ(wrong, 0) << m << "x" << n << "x" << k;
  }
}

TEST_F(MatmulKernels, a_workspace_without_room_for_the_library_is_a_finding) {
  std::ifstream in(EVK_SOURCE_DIR "/tests/twin/projects/matmul_bias/op_host/matmul_bias.cpp");
  std::string host{std::istreambuf_iterator<char>(in), {}};
  const std::string size = "chip.GetLibApiWorkSpaceSize()";
  host.replace(host.find(size), size.size(), "0");
  std::filesystem::copy(EVK_SOURCE_DIR "/tests/twin/projects/matmul_bias", folder_ + "/p",
                        std::filesystem::copy_options::recursive);
  write("p/op_host/matmul_bias.cpp", host);
  const auto so = build_project(recipe(), folder_ + "/p", "matmul_bias", folder_);
  ASSERT_TRUE(so) << so.error().text();
  Case c;
  c.with_bias = true;
  Launch l = launch(c);
  l.op = "matmul_bias";
  const RunReport report = run(*so, l);
  EXPECT_TRUE(found(report, "gm_write_out_of_bounds")) << faults(report);
}

TEST_F(MatmulKernels, results_are_seen_by_those_that_wait) {
  Case c;
  c.m = 64, c.n = 64, c.k = 32, c.cores = "1";
  const std::string read = R"(
  TBuf<TPosition::VECCALC> buf;
  pipe.InitBuffer(buf, 256);
  LocalTensor<float> first = buf.Get<float>();
  DataCopy(first, gc, 64);
  SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0);)";
  c.body = "  mm.template IterateAll<true>(gc);" + read;
  EXPECT_EQ(faults(run(build(c), launch(c))), "");
  c.body = "  mm.template IterateAll<false>(gc);" + read;
  EXPECT_TRUE(found(run(build(c), launch(c)), "block_conflict"));
}

}  // namespace
}  // namespace evk::twin::testing
