#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/random.h"
#include "base/result.h"
#include "base/sha256.h"

namespace evk {
namespace {

// The three published vectors of FIPS 180-4, one block, none and two.
TEST(Sha256, gives_the_published_digests) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, does_not_depend_on_how_the_bytes_are_cut) {
  const std::string text(1000, 'x');
  for (std::size_t cut = 0; cut <= text.size(); cut += 37)
    EXPECT_EQ(Sha256().update(text.substr(0, cut)).update(text.substr(cut)).hex(), sha256_hex(text)) << cut;
}

TEST(Sha256, keeps_fields_apart) {
  EXPECT_NE(Sha256().field("ab").field("c").hex(), Sha256().field("a").field("bc").hex());
}

TEST(Random, gives_equal_draws_for_equal_keys_only) {
  auto a = Random::of(7, 3, "relu", "select");
  auto b = Random::of(7, 3, "relu", "select");
  auto c = Random::of(7, 3, "relu", "start");
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
}

TEST(Random, stays_below_the_bound_and_reaches_all_of_it) {
  Random random(1);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.below(7));
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_LT(*seen.rbegin(), 7u);
}

Result<int> half(int n) {
  if (n % 2) return failure("odd");
  return n / 2;
}

Result<int> quarter(int n) {
  EVK_TRY(const int once, half(n));
  EVK_TRY(const int twice, half(once));
  return twice;
}

TEST(Result, hands_an_error_on_with_its_context) {
  EXPECT_EQ(quarter(8).value(), 2);
  const auto bad = quarter(6);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().text(), "odd");
  const Result<int> outer = in_context<int>("task relu", in_context<int>("verify", quarter(6)));
  EXPECT_EQ(outer.error().text(), "task relu > verify: odd");
}

}  // namespace
}  // namespace evk
