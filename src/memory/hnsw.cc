#include "memory/hnsw.h"

#include <hnswlib/hnswlib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/check.h"
#include "base/random.h"
#include "memory/dot.h"

namespace evk {
namespace {

constexpr std::size_t kCapacityMin = 1024;

// 1 - a.b, which for normalised vectors orders as their distance does.
float distance(const void* a, const void* b, const void* dimension) {
  const std::size_t size = *static_cast<const std::size_t*>(dimension);
  return static_cast<float>(
      1 - dot(std::span(static_cast<const float*>(a), size), std::span(static_cast<const float*>(b), size)));
}

class CosineSpace final : public hnswlib::SpaceInterface<float> {
 public:
  explicit CosineSpace(std::size_t dimension) : dimension_(dimension) {}
  std::size_t get_data_size() override { return dimension_ * sizeof(float); }
  hnswlib::DISTFUNC<float> get_dist_func() override { return distance; }
  void* get_dist_func_param() override { return &dimension_; }

 private:
  std::size_t dimension_;
};

// Geometric, one row in kLinks per layer (the paper's 1/ln M); drawn from the row's number, so that a graph
// that was read back goes on as the one that was written.
int layer_of(std::size_t row) {
  Random random(mix(0x686e7377, row));
  int layer = 0;
  while (layer < Hnsw::kLayersMax - 1 && random.below(Hnsw::kLinks) == 0) ++layer;
  return layer;
}

using Links = hnswlib::linklistsizeint;

}  // namespace

struct Hnsw::Graph {
  Graph(std::size_t dimension_, std::size_t capacity)
      : dimension(dimension_), space(dimension_), index(&space, capacity, kLinks, kBreadth) {
    index.mult_ = 0;  // no layer of its own choice: `add` gives it
  }

  Links* links(std::size_t row, int layer) const {
    const auto id = static_cast<hnswlib::tableint>(row);
    return layer == 0 ? index.get_linklist0(id) : index.get_linklist(id, layer);
  }
  const float* vector(std::size_t row) const {
    return reinterpret_cast<const float*>(index.getDataByInternalId(static_cast<hnswlib::tableint>(row)));
  }
  bool is_sound(std::size_t row, int layer) const;
  bool is_sound() const;

  std::size_t dimension;
  CosineSpace space;
  hnswlib::HierarchicalNSW<float> index;
};

// A list starts with its length, in 16 bits, and marks, of which none is ever set here.
bool Hnsw::Graph::is_sound(std::size_t row, int layer) const {
  const Links* list = links(row, layer);
  if (*list > (layer == 0 ? index.maxM0_ : index.maxM_)) return false;
  return std::all_of(list + 1, list + 1 + *list, [&](Links to) {
    return to < index.cur_element_count && to != row && index.element_levels_[to] >= layer;
  });
}

bool Hnsw::Graph::is_sound() const {
  for (std::size_t row = 0; row < index.cur_element_count; ++row) {
    if (index.getExternalLabel(static_cast<hnswlib::tableint>(row)) != row) return false;
    for (int layer = 0; layer <= index.element_levels_[row]; ++layer)
      if (!is_sound(row, layer)) return false;
    if (!std::all_of(vector(row), vector(row) + dimension, [](float v) { return std::isfinite(v); }))
      return false;
  }
  return true;
}

Hnsw::Hnsw(std::size_t dimension, std::size_t reserved_rows)
    : graph_(std::make_unique<Graph>(dimension, std::max(reserved_rows, kCapacityMin))) {}
Hnsw::~Hnsw() = default;
Hnsw::Hnsw(Hnsw&&) noexcept = default;
Hnsw& Hnsw::operator=(Hnsw&&) noexcept = default;

void Hnsw::add(std::span<const float> vector) {
  EVK_CHECK(vector.size() == graph_->dimension);
  auto& index = graph_->index;
  const std::size_t row = index.cur_element_count;
  if (row == index.max_elements_) index.resizeIndex(row + row / 8);
  index.addPoint(vector.data(), row, layer_of(row));
}

std::vector<Hnsw::Near> Hnsw::nearest(std::span<const float> query, std::size_t breadth) const {
  EVK_CHECK(query.size() == graph_->dimension);
  auto found = graph_->index.searchKnn(query.data(), breadth);
  std::vector<Near> near;
  near.reserve(found.size());
  for (; !found.empty(); found.pop())
    near.push_back({found.top().second, dot(query, row(found.top().second))});
  return near;
}

std::span<const float> Hnsw::row(std::size_t row) const { return {graph_->vector(row), graph_->dimension}; }

std::size_t Hnsw::size() const { return graph_->index.cur_element_count; }

void Hnsw::write(BinaryWriter& to) const {
  const auto& index = graph_->index;
  to.number(static_cast<std::uint32_t>(index.enterpoint_node_));
  for (std::size_t row = 0; row < size(); ++row)
    to.number(static_cast<std::uint8_t>(index.element_levels_[row]));
  to.bytes(index.data_level0_memory_, size() * index.size_data_per_element_);
  for (std::size_t row = 0; row < size(); ++row)
    if (const int layers = index.element_levels_[row])
      to.bytes(index.linkLists_[row], index.size_links_per_element_ * static_cast<std::size_t>(layers));
}

std::optional<Hnsw> Hnsw::read(BinaryReader& from, std::size_t dimension, std::size_t rows) {
  std::uint32_t entry = 0;
  std::vector<std::uint8_t> layers;
  if (!from.number(entry) || entry >= rows || !from.numbers(layers, rows)) return std::nullopt;
  const std::uint8_t top = *std::max_element(layers.begin(), layers.end());
  if (top >= kLayersMax || layers[entry] != top) return std::nullopt;
  if (dimension > from.left() / rows / sizeof(float)) return std::nullopt;

  Hnsw read(dimension, rows + rows / 16);
  auto& index = read.graph_->index;
  if (!from.bytes(index.data_level0_memory_, rows * index.size_data_per_element_)) return std::nullopt;
  for (std::size_t row = 0; row < rows; ++row) {
    if (layers[row]) {
      const std::size_t size = index.size_links_per_element_ * layers[row];
      index.linkLists_[row] = static_cast<char*>(std::calloc(size + 1, 1));  // freed by hnswlib
      EVK_CHECK(index.linkLists_[row] != nullptr, "out of memory");
    }
    index.element_levels_[row] = layers[row];
    index.label_lookup_[row] = static_cast<hnswlib::tableint>(row);
    index.cur_element_count = row + 1;
    if (layers[row] && !from.bytes(index.linkLists_[row], index.size_links_per_element_ * layers[row]))
      return std::nullopt;
  }
  index.enterpoint_node_ = entry;
  index.maxlevel_ = top;
  if (!read.graph_->is_sound()) return std::nullopt;
  return read;
}

}  // namespace evk
