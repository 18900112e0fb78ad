// Nearest neighbours by cosine (paper 3.2: C(x) = the top K by dense similarity). Items of one text, as all
// attempts at one task with one outcome are, share a row. Up to `exact_max` rows every one of them is looked
// at; above, a graph finds all but about one in a hundred of the nearest in a time that hardly grows with
// their number.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "memory/hnsw.h"

namespace evk {

struct Neighbour {
  ItemId item;
  double similarity = 0;  // in [-1, 1]
};

class VectorIndex {
 public:
  static constexpr std::size_t kExactMax = 20000;  // a scan of 1024 floats each takes 5 to 10 ms

  explicit VectorIndex(std::size_t dimension, std::size_t exact_max = kExactMax)
      : dimension_(dimension), exact_max_(exact_max) {}
  // REQUIRES: `vector` is L2-normalised (or zero) and has the index's dimension; ids ascend.
  void add(ItemId item, std::span<const float> vector);
  // Adds an item with the vector of `other`. REQUIRES: `other` was added; ids ascend.
  void add_like(ItemId item, ItemId other);
  // The `k` nearest items that `wanted` admits, most similar first, ties by lower id. Fewer if fewer are
  // admitted. Safe from several threads while none adds.
  std::vector<Neighbour> nearest(std::span<const float> query, std::size_t k,
                                 const std::function<bool(ItemId)>& wanted) const;
  // Cosine of a held item to `query`, and of two held items.
  double similarity(ItemId item, std::span<const float> query) const;
  double likeness(ItemId a, ItemId b) const;
  std::size_t size() const { return items_.size(); }
  std::size_t rows() const { return first_.size(); }
  std::size_t dimension() const { return dimension_; }
  bool is_exact() const { return !graph_; }

  // REQUIRES: its items are 1 to size().
  void write(BinaryWriter& to) const;
  // Nothing if what is read is no index. An index that was read answers and grows as the one that was
  // written.
  static std::optional<VectorIndex> read(BinaryReader& from, std::size_t exact_max = kExactMax);

 private:
  std::span<const float> row(std::size_t row) const;
  std::size_t place_of(ItemId item) const;
  void take(ItemId item, std::size_t row);
  void collect(std::size_t row, double similarity, const std::function<bool(ItemId)>& wanted,
               std::vector<Neighbour>& found) const;
  std::vector<Neighbour> scan(std::span<const float> query, std::size_t k,
                              const std::function<bool(ItemId)>& wanted) const;

  std::size_t dimension_, exact_max_;
  std::vector<ItemId> items_;         // ascending
  std::vector<std::uint32_t> row_;    // of each item; rows are numbered by their first item
  std::vector<std::uint32_t> next_;   // place of the next item of the same row, or the item's own
  std::vector<std::uint32_t> first_;  // place of each row's first item
  std::vector<std::uint32_t> last_;
  std::vector<float> vectors_;  // rows() of dimension_, until there is a graph
  std::optional<Hnsw> graph_;   // holds the rows instead
};

}  // namespace evk
