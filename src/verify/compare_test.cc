#include "verify/compare.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace evk {
namespace {

template <typename T>
std::span<const std::byte> bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

OutputSpec output(std::vector<std::int64_t> shape, DType dtype = DType::kFloat32,
                  CompareBy by = CompareBy::kFloat) {
  return {"y", {dtype, std::move(shape)}, by};
}

Tolerance tolerance(const char* op_class, std::int64_t n = 1, int transcendentals = 0) {
  Tolerance t;
  t.op_class = op_class;
  t.reduction_length = n;
  t.transcendentals = transcendentals;
  return t;
}

struct Case {
  std::vector<float> got;
  std::vector<double> truth;
  OutputComparison compare(const Tolerance& t) const {
    const auto n = static_cast<std::int64_t>(got.size());
    return compare_output(output({n}), t, bytes(got), {{DType::kFloat64, {n}, bytes(truth)}, {}, {}});
  }
};

Case ramp(int n) {
  Case c;
  for (int i = 0; i < n; ++i) {
    c.truth.push_back(0.25 * i + 1);
    c.got.push_back(static_cast<float>(c.truth.back()));
  }
  return c;
}

TEST(Compare, accepts_what_is_right_and_counts_it) {
  const OutputComparison c = ramp(64).compare(tolerance("elementwise"));
  EXPECT_TRUE(c.strict_pass && c.paper_pass);
  EXPECT_EQ(c.stats.elements, 64u);
  EXPECT_EQ(c.stats.mismatched, 0u);
}

TEST(Compare, fails_one_wrong_element_among_many_and_says_where) {
  for (const std::size_t wrong : {std::size_t{0}, std::size_t{31}, std::size_t{63}}) {
    Case c = ramp(64);
    c.got[wrong] *= 1.001f;
    const OutputComparison found = c.compare(tolerance("elementwise"));
    EXPECT_FALSE(found.strict_pass) << wrong;
    EXPECT_TRUE(found.paper_pass) << "the paper's bound forgives a thousandth";
    EXPECT_EQ(found.stats.first, (std::vector<std::int64_t>{static_cast<std::int64_t>(wrong)}));
  }
}

TEST(Compare, boxes_the_mismatches_in_the_shape_of_the_output) {
  std::vector<double> truth(4 * 10, 1.0);
  for (std::size_t i = 0; i < truth.size(); ++i) truth[i] = static_cast<double>(i);
  std::vector<float> got(truth.begin(), truth.end());
  got[1 * 10 + 7] = got[3 * 10 + 9] = -1;
  const auto c = compare_output(output({4, 10}), tolerance("copy"), bytes(got),
                                {{DType::kFloat64, {4, 10}, bytes(truth)}, {}, {}});
  EXPECT_EQ(c.stats.mismatched, 2u);
  EXPECT_EQ(c.stats.first, (std::vector<std::int64_t>{1, 7}));
  EXPECT_EQ(c.stats.region_low, (std::vector<std::int64_t>{1, 7}));
  EXPECT_EQ(c.stats.region_high, (std::vector<std::int64_t>{3, 9}));
}

TEST(Compare, never_takes_nan_or_infinity_for_a_number) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInf = std::numeric_limits<float>::infinity();
  for (const float bad : {kNan, -kNan, kInf, -kInf}) {
    Case c = ramp(16);
    c.got[5] = bad;
    EXPECT_FALSE(c.compare(tolerance("composite", 1 << 20, 8)).strict_pass) << bad;
    EXPECT_FALSE(c.compare(tolerance("composite")).paper_pass) << bad;
    Case all = ramp(16);
    std::fill(all.got.begin(), all.got.end(), bad);
    EXPECT_EQ(all.compare(tolerance("composite")).stats.mismatched, 16u) << bad;
  }
  Case expected = ramp(16);
  expected.truth[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(expected.compare(tolerance("elementwise")).strict_pass) << "a number where NaN is expected";
  expected.got[3] = kNan;
  EXPECT_TRUE(expected.compare(tolerance("elementwise")).strict_pass);
  expected.truth[4] = std::numeric_limits<double>::infinity();
  expected.got[4] = -kInf;
  EXPECT_FALSE(expected.compare(tolerance("elementwise")).strict_pass);
}

TEST(Compare, treats_both_zeros_as_equal_in_copies) {
  Case c{{-0.0f, 1, 2, 3, 4, 5, 6, 7}, {0.0, 1, 2, 3, 4, 5, 6, 7}};
  EXPECT_TRUE(c.compare(tolerance("copy")).strict_pass);
  c.got[1] = std::nextafter(1.0f, 2.0f);
  EXPECT_FALSE(c.compare(tolerance("copy")).strict_pass) << "copies are exact";
}

TEST(Compare, fails_a_constant_where_the_truth_hardly_varies) {
  Case c;
  for (int i = 0; i < 256; ++i) {
    c.truth.push_back(1.0 + 1e-4 * std::sin(i));
    c.got.push_back(1.0f);
  }
  const OutputComparison found = c.compare(tolerance("elementwise"));
  EXPECT_TRUE(found.paper_pass) << "this is what makes the paper's bound weak";
  EXPECT_FALSE(found.strict_pass);
  EXPECT_GT(found.stats.centred_rel, 0.9);
}

// Honest orders of summation stay within the bound; dropping terms or precision does not.
TEST(Compare, separates_honest_sums_from_shortened_ones) {
  constexpr int kTerms = 1024, kOutputs = 64;
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<double> truth, scale;
  std::vector<float> honest, dropped, half_precision;
  for (int o = 0; o < kOutputs; ++o) {
    double sum = 0, absolute = 0;
    float sequential = 0, without_last = 0, rough = 0;
    for (int i = 0; i < kTerms; ++i) {
      const float x = normal(random);
      sum += x;
      absolute += std::abs(x);
      sequential += x;
      if (i + 1 < kTerms) without_last += x;
      rough += std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffff0000u);
    }
    truth.push_back(sum);
    scale.push_back(absolute);
    honest.push_back(sequential);
    dropped.push_back(without_last);
    half_precision.push_back(rough);
  }
  const Golden golden{
      {DType::kFloat64, {kOutputs}, bytes(truth)}, {}, TensorView{DType::kFloat64, {kOutputs}, bytes(scale)}};
  const Golden bare{golden.truth, {}, {}};
  for (const Golden& g : {golden, bare}) {
    EXPECT_TRUE(compare_output(output({kOutputs}), tolerance("sum", kTerms), bytes(honest), g).strict_pass);
    EXPECT_FALSE(compare_output(output({kOutputs}), tolerance("sum", kTerms), bytes(dropped), g).strict_pass);
    EXPECT_FALSE(
        compare_output(output({kOutputs}), tolerance("sum", kTerms), bytes(half_precision), g).strict_pass);
  }
}

TEST(Compare, allows_what_an_honest_reference_needs) {
  Case c = ramp(16);
  std::vector<float> reference = c.got;
  reference[3] += 1e-3f;
  c.got[4] += 4e-3f;
  const std::int64_t n = 16;
  const Golden plain{{DType::kFloat64, {n}, bytes(c.truth)}, {}, {}};
  const Golden with{plain.truth, TensorView{DType::kFloat32, {n}, bytes(reference)}, {}};
  EXPECT_FALSE(compare_output(output({n}), tolerance("composite"), bytes(c.got), plain).strict_pass);
  EXPECT_TRUE(compare_output(output({n}), tolerance("composite"), bytes(c.got), with).strict_pass);
}

TEST(Compare, accepts_either_side_of_the_overflow_of_half) {
  const std::vector<double> truth = {65519.0, 65521.0, 70000.0, 100.0, 1, 2, 3, 4};
  std::vector<std::uint16_t> got = {0x7c00, 0x7bff, 0x7c00, 0x5640, 0x3c00, 0x4000, 0x4200, 0x4400};
  const Golden golden{{DType::kFloat64, {8}, bytes(truth)}, {}, {}};
  EXPECT_TRUE(
      compare_output(output({8}, DType::kFloat16), tolerance("elementwise"), bytes(got), golden).strict_pass);
  got[2] = 0x7bff;
  EXPECT_FALSE(
      compare_output(output({8}, DType::kFloat16), tolerance("elementwise"), bytes(got), golden).strict_pass);
}

TEST(Compare, holds_integers_and_truth_values_to_the_bit) {
  const std::vector<std::int64_t> truth = {1, 2, (std::int64_t{1} << 53) + 1};
  std::vector<std::int64_t> got = truth;
  const Golden golden{{DType::kInt64, {3}, bytes(truth)}, {}, {}};
  const OutputSpec spec = output({3}, DType::kInt64, CompareBy::kExact);
  EXPECT_TRUE(compare_output(spec, tolerance("sum"), bytes(got), golden).strict_pass);
  got[2] -= 1;
  EXPECT_FALSE(compare_output(spec, tolerance("sum"), bytes(got), golden).strict_pass);
  const std::vector<std::uint8_t> flags = {1, 0, 2}, wanted = {1, 0, 1};
  EXPECT_EQ(compare_output(output({3}, DType::kBool, CompareBy::kExact), tolerance("copy"), bytes(flags),
                           {{DType::kBool, {3}, bytes(wanted)}, {}, {}})
                .stats.mismatched,
            1u);
}

TEST(Compare, accepts_another_index_of_the_same_value_only) {
  const std::vector<float> values = {1, 9, 9, 2, 5, 4, 5, 0};  // two rows of four
  const std::vector<std::int64_t> truth = {1, 0};
  const IndexSource source{{DType::kFloat32, {2, 4}, bytes(values)}, 1};
  const OutputSpec spec = output({2}, DType::kInt64, CompareBy::kIndexValue);
  const Golden golden{{DType::kInt64, {2}, bytes(truth)}, {}, {}};
  const std::vector<std::int64_t> tie = {2, 2}, wrong = {3, 0}, outside = {1, 4};
  EXPECT_TRUE(compare_output(spec, tolerance("copy"), bytes(tie), golden, source).strict_pass);
  EXPECT_FALSE(compare_output(spec, tolerance("copy"), bytes(wrong), golden, source).strict_pass);
  EXPECT_FALSE(compare_output(spec, tolerance("copy"), bytes(outside), golden, source).strict_pass);
  EXPECT_FALSE(compare_output(spec, tolerance("copy"), bytes(tie), golden).strict_pass)
      << "without the values, indices are exact";
}

TEST(Compare, reads_half_and_bfloat16) {
  EXPECT_EQ(half_to_double(0x3c00), 1.0);
  EXPECT_EQ(half_to_double(0xfbff), -65504.0);
  EXPECT_EQ(half_to_double(0x0001), 0x1p-24);
  EXPECT_TRUE(std::isnan(half_to_double(0x7e00)));
  EXPECT_EQ(bfloat16_to_double(0x3f80), 1.0);
}

}  // namespace
}  // namespace evk
