// Tiling data: what the host saves is what the kernel gets.
#include <gtest/gtest.h>

#include <cstring>

#include "twin/include_test/recorder.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(InnerTiling)
TILING_DATA_FIELD_DEF(std::uint32_t, rows);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(InnerTilingOp, InnerTiling)

BEGIN_TILING_DATA_DEF(SampleTiling)
TILING_DATA_FIELD_DEF(std::uint8_t, flag);
TILING_DATA_FIELD_DEF(std::uint64_t, total);
TILING_DATA_FIELD_DEF_ARR(std::uint32_t, 4, sizes);
TILING_DATA_FIELD_DEF_STRUCT(InnerTiling, inner);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Sample, SampleTiling)
}  // namespace optiling

struct PlainTiling {
  std::uint32_t first, second;
};

namespace evk::twin::testing {
namespace {

optiling::SampleTiling sample() {
  optiling::SampleTiling tiling;
  const std::uint32_t sizes[4] = {1, 2, 3, 4};
  tiling.set_flag(7);
  tiling.set_total(1ull << 40);
  tiling.set_sizes(sizes);
  tiling.inner.set_rows(9);
  return tiling;
}

TEST(TilingData, the_kernel_reads_what_the_host_saved_in_the_class_registered_last) {
  std::uint8_t tiling[sizeof(optiling::SampleTiling)];
  sample().SaveToBuffer(tiling, sizeof(tiling));
  GET_TILING_DATA(data, tiling);
  EXPECT_EQ(data.flag, 7);
  EXPECT_EQ(data.total, 1ull << 40);
  EXPECT_EQ(data.sizes[3], 4u);
  EXPECT_EQ(data.inner.rows, 9u);
  EXPECT_EQ(data.GetDataSize(), sizeof(tiling));
}

TEST(TilingData, nothing_is_saved_into_a_buffer_that_is_too_small) {
  std::uint8_t tiling[sizeof(optiling::SampleTiling)] = {};
  sample().SaveToBuffer(tiling, sizeof(tiling) - 1);
  EXPECT_EQ(tiling[0], 0);
}

TEST(TilingData, a_default_hides_the_registered_classes) {
  const PlainTiling plain{3, 4};
  std::uint8_t tiling[sizeof(plain)];
  std::memcpy(tiling, &plain, sizeof(plain));
  REGISTER_TILING_DEFAULT(PlainTiling);
  GET_TILING_DATA(data, tiling);
  EXPECT_EQ(data.second, 4u);
}

TEST(TilingData, a_named_struct_needs_no_registration) {
  const PlainTiling plain{3, 4};
  GET_TILING_DATA_WITH_STRUCT(PlainTiling, data, &plain);
  EXPECT_EQ(data.first, 3u);
}

TEST(TilingKey, is_the_one_that_the_host_chose) {
  fresh_recorder().tiling_key = 2;
  EXPECT_TRUE(TILING_KEY_IS(2));
  EXPECT_FALSE(TILING_KEY_IS(1));
}

}  // namespace
}  // namespace evk::twin::testing
