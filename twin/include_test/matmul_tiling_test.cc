// Whatever is asked, a tiling fits the cube's memories and its parts cover the product.
#include <gtest/gtest.h>

#include "tiling/tiling_api.h"

namespace {

using namespace matmul_tiling;

fe::PlatFormInfos chip() {
  fe::PlatFormInfos info;
  info.aiv_cores = 48, info.aic_cores = 24;
  info.l1_bytes = 524288, info.l0a_bytes = info.l0b_bytes = 65536, info.l0c_bytes = 131072;
  return info;
}

struct Asked {
  int m, n, k, cores;
  DataType type;
};

TCubeTiling tiling_of(const Asked& a, int fix_m = -1, int fix_n = -1, int fix_k = -1) {
  fe::PlatFormInfos info = chip();
  MultiCoreMatmulTiling host{platform_ascendc::PlatformAscendC(&info)};
  host.SetDim(a.cores);
  host.SetAType(TPosition::GM, CubeFormat::ND, a.type);
  host.SetBType(TPosition::GM, CubeFormat::ND, a.type);
  host.SetCType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
  host.SetShape(a.m, a.n, a.k);
  host.SetOrgShape(a.m, a.n, a.k);
  host.SetFixSplit(fix_m, fix_n, fix_k);
  TCubeTiling t;
  EXPECT_EQ(host.GetTiling(t), 0);
  return t;
}

int parts(int value, int size) { return (value + size - 1) / size; }

TEST(MatmulTiling, fits_the_memories_and_covers_the_product) {
  for (const DataType type : {DataType::DT_FLOAT16, DataType::DT_FLOAT, DataType::DT_INT8})
    for (const int m : {1, 17, 128, 700, 4096})
      for (const int n : {1, 40, 256, 1000})
        for (const int k : {1, 33, 512, 5000})
          for (const int cores : {1, 2, 20, 48}) {
            const TCubeTiling t = tiling_of({m, n, k, cores, type});
            const int size = type == DataType::DT_FLOAT ? 4 : type == DataType::DT_FLOAT16 ? 2 : 1;
            ASSERT_GE(t.usedCoreNum, 1);
            ASSERT_LE(t.usedCoreNum, cores);
            ASSERT_EQ(parts(m, t.singleCoreM) * parts(n, t.singleCoreN), t.usedCoreNum);
            ASSERT_LE(2 * t.baseM * t.baseK * size, 65536);
            ASSERT_LE(2 * t.baseN * t.baseK * size, 65536);
            ASSERT_LE(t.baseM * t.baseN * 4, 131072);
            ASSERT_LE((t.baseM * t.depthA1 + t.baseN * t.depthB1) * t.baseK * size, 524032);
            ASSERT_GE(t.stepKa, 1);
            ASSERT_GE(t.stepKb, 1);
            ASSERT_EQ(t.baseM % 16 + t.baseN % 16 + t.baseK % 16, 0);
          }
}

TEST(MatmulTiling, keeps_a_tile_that_is_given_and_refuses_one_that_fits_nowhere) {
  const Asked asked{1024, 1024, 1024, 2, DataType::DT_FLOAT};
  const TCubeTiling t = tiling_of(asked, 64, 128, 32);
  EXPECT_EQ(t.baseM, 64);
  EXPECT_EQ(t.baseN, 128);
  EXPECT_EQ(t.baseK, 32);
  EXPECT_EQ(t.M, 1024);
  EXPECT_EQ(t.Kb, 1024);
  EXPECT_EQ(t.usedCoreNum, 2);
  fe::PlatFormInfos info = chip();
  MatmulApiTiling host{platform_ascendc::PlatformAscendC(&info)};
  host.SetAType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
  host.SetBType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
  TCubeTiling none;
  EXPECT_EQ(host.GetTiling(none), -1) << "no shape";
  host.SetShape(512, 512, 512);
  host.SetFixSplit(512, 512, -1);
  EXPECT_EQ(host.GetTiling(none), -1) << "L0C is too small";
  host.SetFixSplit(-1, -1, -1);
  host.SetBType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT16);
  EXPECT_EQ(host.GetTiling(none), -1) << "two data types";
}

}  // namespace
