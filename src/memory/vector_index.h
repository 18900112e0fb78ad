// Exact nearest neighbours by cosine (paper 3.2: C(x) = the top K by dense similarity).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/ids.h"

namespace evk {

struct Neighbour {
  ItemId item;
  double similarity = 0;  // in [-1, 1]
};

// Sum of products in sixteen fixed lanes: the same bits whatever the compiler vectorises to.
double dot(std::span<const float> a, std::span<const float> b);

class VectorIndex {
 public:
  explicit VectorIndex(std::size_t dimension) : dimension_(dimension) {}
  // REQUIRES: `vector` is L2-normalised (or zero) and has the index's dimension; ids ascend.
  void add(ItemId item, std::span<const float> vector);
  // The `k` nearest items that `wanted` admits, most similar first, ties by lower id. Fewer if fewer are
  // admitted. Safe from several threads while none adds.
  std::vector<Neighbour> nearest(std::span<const float> query, std::size_t k,
                                 const std::function<bool(ItemId)>& wanted) const;
  // Cosine of a held item to `query`, and of two held items.
  double similarity(ItemId item, std::span<const float> query) const { return dot(query, row_of(item)); }
  double likeness(ItemId a, ItemId b) const { return dot(row_of(a), row_of(b)); }
  std::size_t size() const { return items_.size(); }

 private:
  std::span<const float> row_of(ItemId item) const;

  std::size_t dimension_;
  std::vector<ItemId> items_;   // ascending
  std::vector<float> vectors_;  // size() rows of dimension_
};

}  // namespace evk
