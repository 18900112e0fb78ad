#include "memory/vector_index.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "memory/dot.h"

namespace evk {
namespace {

// A graph is asked for more than is wanted: its search is sure of the near ones, and `wanted` takes some
// away.
constexpr std::size_t kBreadthMin = 400;
constexpr std::size_t kBreadthPerWanted = 3;
constexpr std::size_t kFoundPerWanted = 2;  // with fewer left it is asked again, more broadly
constexpr std::size_t kBreadthGrowth = 4;
constexpr std::size_t kScanShare = 16;  // a search of more than one row in 16 costs more than a scan

void keep_nearest(std::vector<Neighbour>& found, std::size_t k) {
  const auto closer = [](const Neighbour& a, const Neighbour& b) {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.item < b.item;
  };
  const std::size_t kept = std::min(k, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end(), closer);
  found.resize(kept);
}

}  // namespace

void VectorIndex::add(ItemId item, std::span<const float> vector) {
  EVK_CHECK(vector.size() == dimension_ && (items_.empty() || items_.back() < item));
  if (!graph_ && items_.size() == exact_max_) {
    graph_.emplace(dimension_, exact_max_ + exact_max_ / 4);
    for (std::size_t i = 0; i < items_.size(); ++i) graph_->add(row(i));
    std::vector<float>().swap(vectors_);
  }
  if (graph_)
    graph_->add(vector);
  else
    vectors_.insert(vectors_.end(), vector.begin(), vector.end());
  items_.push_back(item);
}

std::span<const float> VectorIndex::row(std::size_t row) const {
  return vectors_.empty() && graph_ ? graph_->row(row)
                                    : std::span(vectors_).subspan(row * dimension_, dimension_);
}

std::span<const float> VectorIndex::row_of(ItemId item) const {
  const auto found = std::lower_bound(items_.begin(), items_.end(), item);
  EVK_CHECK(found != items_.end() && *found == item, "item {} is not in the index", item.number);
  return row(static_cast<std::size_t>(found - items_.begin()));
}

double VectorIndex::similarity(ItemId item, std::span<const float> query) const {
  return dot(row_of(item), query);
}

double VectorIndex::likeness(ItemId a, ItemId b) const { return dot(row_of(a), row_of(b)); }

std::vector<Neighbour> VectorIndex::scan(std::span<const float> query, std::size_t k,
                                         const std::function<bool(ItemId)>& wanted) const {
  std::vector<Neighbour> found;
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (wanted(items_[i])) found.push_back({items_[i], dot(query, row(i))});
  keep_nearest(found, k);
  return found;
}

std::vector<Neighbour> VectorIndex::nearest(std::span<const float> query, std::size_t k,
                                            const std::function<bool(ItemId)>& wanted) const {
  if (!graph_) return scan(query, k, wanted);
  for (std::size_t breadth = std::max(kBreadthMin, kBreadthPerWanted * k);
       breadth * kScanShare <= items_.size(); breadth *= kBreadthGrowth) {
    std::vector<Neighbour> found;
    for (const auto& near : graph_->nearest(query, breadth))
      if (wanted(items_[near.row])) found.push_back({items_[near.row], near.similarity});
    if (found.size() < kFoundPerWanted * k) continue;
    keep_nearest(found, k);
    return found;
  }
  return scan(query, k, wanted);
}

void VectorIndex::write(BinaryWriter& to) const {
  to.number(static_cast<std::uint64_t>(dimension_));
  to.number(static_cast<std::uint64_t>(items_.size()));
  EVK_CHECK(items_.empty() || items_.back().number == static_cast<std::int64_t>(items_.size()));
  to.number(static_cast<std::uint8_t>(graph_.has_value()));
  if (graph_)
    graph_->write(to);
  else
    to.numbers(vectors_);
}

std::optional<VectorIndex> VectorIndex::read(BinaryReader& from, std::size_t exact_max) {
  std::uint64_t dimension = 0, size = 0;
  std::uint8_t has_graph = 0;
  if (!from.number(dimension) || !from.number(size) || !from.number(has_graph)) return std::nullopt;
  if (dimension == 0 || size == 0 || dimension > from.left() / size / sizeof(float)) return std::nullopt;
  if (has_graph != (size > exact_max)) return std::nullopt;

  VectorIndex index(dimension, exact_max);
  for (std::uint64_t row = 0; row < size; ++row) index.items_.push_back({static_cast<std::int64_t>(row) + 1});
  if (has_graph) {
    index.graph_ = Hnsw::read(from, dimension, size);
    if (!index.graph_) return std::nullopt;
  } else if (!from.numbers(index.vectors_, size * dimension) ||
             !std::all_of(index.vectors_.begin(), index.vectors_.end(),
                          [](float v) { return std::isfinite(v); })) {
    return std::nullopt;
  }
  return index;
}

}  // namespace evk
