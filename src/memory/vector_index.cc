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

void VectorIndex::take(ItemId item, std::size_t row) {
  EVK_CHECK(items_.empty() || items_.back() < item);
  const auto place = static_cast<std::uint32_t>(items_.size());
  items_.push_back(item);
  row_.push_back(static_cast<std::uint32_t>(row));
  next_.push_back(place);
  if (row == first_.size()) {
    first_.push_back(place);
    last_.push_back(place);
  } else {
    next_[last_[row]] = place;
    last_[row] = place;
  }
}

void VectorIndex::add(ItemId item, std::span<const float> vector) {
  EVK_CHECK(vector.size() == dimension_);
  if (!graph_ && rows() == exact_max_) {
    graph_.emplace(dimension_, exact_max_ + exact_max_ / 4);
    for (std::size_t i = 0; i < rows(); ++i) graph_->add(row(i));
    std::vector<float>().swap(vectors_);
  }
  if (graph_)
    graph_->add(vector);
  else
    vectors_.insert(vectors_.end(), vector.begin(), vector.end());
  take(item, rows());
}

void VectorIndex::add_like(ItemId item, ItemId other) { take(item, row_[place_of(other)]); }

std::span<const float> VectorIndex::row(std::size_t row) const {
  return vectors_.empty() && graph_ ? graph_->row(row)
                                    : std::span(vectors_).subspan(row * dimension_, dimension_);
}

std::size_t VectorIndex::place_of(ItemId item) const {
  const auto found = std::lower_bound(items_.begin(), items_.end(), item);
  EVK_CHECK(found != items_.end() && *found == item, "item {} is not in the index", item.number);
  return static_cast<std::size_t>(found - items_.begin());
}

double VectorIndex::similarity(ItemId item, std::span<const float> query) const {
  return dot(row(row_[place_of(item)]), query);
}

double VectorIndex::likeness(ItemId a, ItemId b) const {
  return dot(row(row_[place_of(a)]), row(row_[place_of(b)]));
}

void VectorIndex::collect(std::size_t row, double similarity, const std::function<bool(ItemId)>& wanted,
                          std::vector<Neighbour>& found) const {
  for (std::uint32_t place = first_[row];; place = next_[place]) {
    if (wanted(items_[place])) found.push_back({items_[place], similarity});
    if (place == last_[row]) return;
  }
}

std::vector<Neighbour> VectorIndex::scan(std::span<const float> query, std::size_t k,
                                         const std::function<bool(ItemId)>& wanted) const {
  std::vector<Neighbour> found;
  for (std::size_t i = 0; i < rows(); ++i) collect(i, dot(query, row(i)), wanted, found);
  keep_nearest(found, k);
  return found;
}

std::vector<Neighbour> VectorIndex::nearest(std::span<const float> query, std::size_t k,
                                            const std::function<bool(ItemId)>& wanted) const {
  if (!graph_) return scan(query, k, wanted);
  for (std::size_t breadth = std::max(kBreadthMin, kBreadthPerWanted * k); breadth * kScanShare <= rows();
       breadth *= kBreadthGrowth) {
    std::vector<Neighbour> found;
    for (const auto& near : graph_->nearest(query, breadth))
      collect(near.row, near.similarity, wanted, found);
    if (found.size() < kFoundPerWanted * k) continue;
    keep_nearest(found, k);
    return found;
  }
  return scan(query, k, wanted);
}

void VectorIndex::write(BinaryWriter& to) const {
  EVK_CHECK(items_.empty() || items_.back().number == static_cast<std::int64_t>(items_.size()));
  to.number(static_cast<std::uint64_t>(dimension_));
  to.number(static_cast<std::uint64_t>(items_.size()));
  to.numbers(row_);
  to.number(static_cast<std::uint8_t>(graph_.has_value()));
  if (graph_)
    graph_->write(to);
  else
    to.numbers(vectors_);
}

std::optional<VectorIndex> VectorIndex::read(BinaryReader& from, std::size_t exact_max) {
  std::uint64_t dimension = 0, size = 0;
  std::uint8_t has_graph = 0;
  std::vector<std::uint32_t> row;
  if (!from.number(dimension) || !from.number(size) || dimension == 0 || size == 0 ||
      !from.numbers(row, size) || !from.number(has_graph))
    return std::nullopt;

  VectorIndex index(dimension, exact_max);
  for (std::uint64_t place = 0; place < size; ++place) {
    if (row[place] > index.rows()) return std::nullopt;
    index.take({static_cast<std::int64_t>(place) + 1}, row[place]);
  }
  const std::uint64_t rows = index.rows();
  if (dimension > from.left() / rows / sizeof(float) || has_graph != (rows > exact_max)) return std::nullopt;
  if (has_graph) {
    index.graph_ = Hnsw::read(from, dimension, rows);
    if (!index.graph_) return std::nullopt;
  } else if (!from.numbers(index.vectors_, rows * dimension) ||
             !std::all_of(index.vectors_.begin(), index.vectors_.end(),
                          [](float v) { return std::isfinite(v); })) {
    return std::nullopt;
  }
  return index;
}

}  // namespace evk
