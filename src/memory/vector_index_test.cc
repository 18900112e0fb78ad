#include "memory/vector_index.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/random.h"
#include "memory/dot.h"
#include "memory/memory.h"

namespace evk {
namespace {

constexpr std::size_t kDimension = 48;
constexpr std::size_t kRows = 3000;
constexpr std::size_t kExactMax = 400;  // so that a small test has a graph

// Points around a few hundred centres, as texts about a few hundred operators are.
std::vector<float> vector_number(std::uint64_t n) {
  Random centre(mix(17, n % 300)), noise(mix(18, n));
  std::vector<float> v(kDimension);
  double norm2 = 0;
  for (auto& x : v) {
    x = static_cast<float>(centre.uniform() - 0.5 + 0.3 * (noise.uniform() - 0.5));
    norm2 += static_cast<double>(x) * static_cast<double>(x);
  }
  for (auto& x : v) x = static_cast<float>(x / std::sqrt(norm2));
  return v;
}

VectorIndex index_of(std::size_t rows, std::size_t exact_max) {
  VectorIndex index(kDimension, exact_max);
  for (std::size_t n = 1; n <= rows; ++n) index.add({static_cast<std::int64_t>(n)}, vector_number(n));
  return index;
}

bool any(ItemId) { return true; }

std::vector<std::pair<std::int64_t, double>> answer(const VectorIndex& index, std::uint64_t query,
                                                    std::size_t k,
                                                    const std::function<bool(ItemId)>& wanted = any) {
  std::vector<std::pair<std::int64_t, double>> found;
  for (const auto& near : index.nearest(vector_number(query), k, wanted))
    found.push_back({near.item.number, near.similarity});
  return found;
}

class VectorIndexTest : public ::testing::Test {
 protected:
  VectorIndexTest()
      : folder_(std::filesystem::temp_directory_path() / fmt::format("evk index {}", ::getpid())),
        path_((folder_ / "kept.index").string()) {
    std::filesystem::create_directories(folder_);
  }
  ~VectorIndexTest() override { std::filesystem::remove_all(folder_); }

  void write(const VectorIndex& index) {
    auto file = BinaryWriter::open(path_);
    ASSERT_TRUE(file);
    index.write(*file);
    ASSERT_TRUE(file->finish());
  }
  std::optional<VectorIndex> read() {
    auto file = BinaryReader::open(path_);
    if (!file) return std::nullopt;
    return VectorIndex::read(*file, kExactMax);
  }
  std::string bytes() {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }

  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(VectorIndexTest, with_a_graph_finds_nearly_all_that_a_scan_finds) {
  const VectorIndex graph = index_of(kRows * 4, kExactMax), scan = index_of(kRows * 4, kRows * 4);
  ASSERT_FALSE(graph.is_exact());
  ASSERT_TRUE(scan.is_exact());
  std::size_t found = 0, wanted = 0;
  for (std::uint64_t q = 0; q < 50; ++q) {
    const auto exact = answer(scan, 100000 + q, 100);
    const auto near = answer(graph, 100000 + q, 100);
    ASSERT_EQ(near.size(), 100U);
    const std::set<std::pair<std::int64_t, double>> expected(exact.begin(), exact.end());
    for (const auto& n : near) found += expected.contains(n);
    wanted += exact.size();
  }
  EXPECT_GE(static_cast<double>(found), 0.99 * static_cast<double>(wanted));
}

TEST_F(VectorIndexTest, is_exact_for_what_few_items_answer_to) {
  const VectorIndex graph = index_of(kRows, kExactMax), scan = index_of(kRows, kRows);
  const auto one_in_100 = [](ItemId item) { return item.number % 100 == 7; };
  for (std::uint64_t q = 0; q < 20; ++q)
    EXPECT_EQ(answer(graph, q, 10, one_in_100), answer(scan, q, 10, one_in_100));
  EXPECT_EQ(answer(graph, 1, 10, [](ItemId) { return false; }).size(), 0U);
}

// The attempts at one task share a text: they must not fill the places of others' in the graph, nor hide
// them.
TEST_F(VectorIndexTest, keeps_items_of_one_vector_in_one_row) {
  VectorIndex graph(kDimension, kExactMax), scan(kDimension, kRows);
  for (std::int64_t n = 1; n <= static_cast<std::int64_t>(kRows); ++n) {
    for (auto* index : {&graph, &scan}) {
      if (n % 3 == 0)
        index->add_like({n}, {n - 1 - n % 5 % 2});
      else
        index->add({n}, vector_number(static_cast<std::uint64_t>(n)));
    }
  }
  EXPECT_EQ(graph.size(), kRows);
  EXPECT_EQ(graph.rows(), kRows - kRows / 3);
  EXPECT_FALSE(graph.is_exact());
  EXPECT_EQ(graph.likeness({3}, {1}), scan.likeness({1}, {1}));
  std::size_t found = 0;
  for (std::uint64_t q = 0; q < 20; ++q) {
    const auto exact = answer(scan, 5000 + q, 50), near = answer(graph, 5000 + q, 50);
    for (const auto& n : near) found += std::count(exact.begin(), exact.end(), n) == 1;
  }
  EXPECT_GE(found, 990U);
  write(graph);
  const auto kept = read();
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->rows(), graph.rows());
  for (std::uint64_t q = 0; q < 20; ++q) EXPECT_EQ(answer(*kept, q, 50), answer(graph, q, 50));
}

TEST_F(VectorIndexTest, that_was_kept_answers_and_grows_as_the_one_that_was_not) {
  for (const std::size_t kept_at : {std::size_t{100}, kExactMax, kExactMax + 1, kRows / 2, kRows}) {
    write(index_of(kept_at, kExactMax));
    auto kept = read();
    ASSERT_TRUE(kept) << kept_at;
    for (std::size_t n = kept_at + 1; n <= kRows; ++n)
      kept->add({static_cast<std::int64_t>(n)}, vector_number(n));
    write(*kept);
    const std::string after = bytes();
    write(index_of(kRows, kExactMax));
    EXPECT_EQ(bytes(), after) << "kept at " << kept_at;
  }
}

// The file may come from anyone: whatever stands in it, the index is refused or works.
TEST_F(VectorIndexTest, of_damaged_bytes_is_refused_or_works) {
  for (const std::size_t rows : {std::size_t{50}, std::size_t{600}}) {
    write(index_of(rows, kExactMax));
    const std::string sound = bytes();
    Random random(5);
    int refused = 0;
    for (int i = 0; i < 400; ++i) {
      std::string damaged = sound;
      if (i % 4 == 0) damaged.resize(random.below(damaged.size()));
      // Half of the blows fall on the first bytes, where the sizes and the layers stand.
      for (int blow = 0; blow <= i % 3 && !damaged.empty(); ++blow) {
        const std::size_t reach = i % 2 ? damaged.size() : std::min<std::size_t>(damaged.size(), 1000);
        damaged[random.below(reach)] = static_cast<char>(random.below(256));
      }
      put(damaged);
      const auto index = read();
      refused += !index;
      if (index) {
        EXPECT_LE(answer(*index, 3, 20).size(), 20U);
      }
    }
    EXPECT_GT(refused, 100);
  }
}

TEST_F(VectorIndexTest, file_is_checked_for_damage_as_a_whole) {
  write(index_of(50, kExactMax));
  const std::string sound = bytes();
  const auto ends_well = [&] {
    auto file = BinaryReader::open(path_);
    return VectorIndex::read(*file, kExactMax) && file->ends_well();
  };
  EXPECT_TRUE(ends_well());
  for (const std::size_t at : {std::size_t{20}, std::size_t{1001}, sound.size() - 1}) {
    std::string damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    put(damaged);
    EXPECT_FALSE(ends_well()) << at;
  }
  put(sound + "x");
  EXPECT_FALSE(ends_well());
}

MemoryItem item_number(std::int64_t n) {
  MemoryItem item;
  item.id = {n};
  item.kind = ItemKind::kTrace;
  item.key_text = fmt::format("operator {} of {} rows, softmax {}", n % 31, n % 7, n);
  return item;
}

std::vector<MemoryItem> items(std::int64_t count) {
  std::vector<MemoryItem> list;
  for (std::int64_t n = 1; n <= count; ++n) list.push_back(item_number(n));
  return list;
}

TEST_F(VectorIndexTest, of_a_memory_is_kept_for_these_texts_and_this_embedder_only) {
  const std::shared_ptr<const Embedder> embedder = hashed_tf_idf({});
  ASSERT_TRUE(Memory(embedder, items(100), "").keep_index(path_));
  EXPECT_EQ(Memory(embedder, items(100), path_).kept_vectors(), 100U);
  EXPECT_EQ(Memory(embedder, items(130), path_).kept_vectors(), 100U);
  EXPECT_EQ(Memory(embedder, items(99), path_).kept_vectors(), 0U) << "it holds more than there is";
  EXPECT_EQ(Memory(hashed_tf_idf({"another corpus"}), items(100), path_).kept_vectors(), 0U);
  auto changed = items(100);
  changed[42].key_text += "!";
  EXPECT_EQ(Memory(embedder, changed, path_).kept_vectors(), 0U);
  EXPECT_EQ(Memory(embedder, items(100), path_ + ".none").kept_vectors(), 0U);

  auto twice = items(100);
  twice[60].key_text = twice[20].key_text;
  EXPECT_EQ(Memory(embedder, twice, "").index().rows(), 99U);

  const Memory kept(embedder, items(130), path_), made(embedder, items(130), "");
  for (std::int64_t n = 1; n <= 130; ++n)
    EXPECT_EQ(kept.index().similarity({n}, made.embed("softmax of rows")),
              made.index().similarity({n}, made.embed("softmax of rows")));
}

}  // namespace
}  // namespace evk
