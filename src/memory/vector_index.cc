#include "memory/vector_index.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace evk {

double dot(std::span<const float> a, std::span<const float> b) {
  EVK_CHECK(a.size() == b.size());
  std::array<float, 16> lane{};
  std::size_t i = 0;
  for (; i + lane.size() <= a.size(); i += lane.size())
    for (std::size_t j = 0; j < lane.size(); ++j) lane[j] += a[i + j] * b[i + j];
  double sum = 0;
  for (; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  for (const float part : lane) sum += static_cast<double>(part);
  return sum;
}

void VectorIndex::add(ItemId item, std::span<const float> vector) {
  EVK_CHECK(vector.size() == dimension_ && (items_.empty() || items_.back() < item));
  items_.push_back(item);
  vectors_.insert(vectors_.end(), vector.begin(), vector.end());
}

std::span<const float> VectorIndex::row_of(ItemId item) const {
  const auto found = std::lower_bound(items_.begin(), items_.end(), item);
  EVK_CHECK(found != items_.end() && *found == item, "item {} is not in the index", item.number);
  return std::span(vectors_).subspan(static_cast<std::size_t>(found - items_.begin()) * dimension_,
                                     dimension_);
}

std::vector<Neighbour> VectorIndex::nearest(std::span<const float> query, std::size_t k,
                                            const std::function<bool(ItemId)>& wanted) const {
  std::vector<Neighbour> found;
  for (std::size_t row = 0; row < items_.size(); ++row)
    if (wanted(items_[row]))
      found.push_back({items_[row], dot(query, std::span(vectors_).subspan(row * dimension_, dimension_))});
  const auto closer = [](const Neighbour& a, const Neighbour& b) {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.item < b.item;
  };
  const std::size_t kept = std::min(k, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end(), closer);
  found.resize(kept);
  return found;
}

}  // namespace evk
