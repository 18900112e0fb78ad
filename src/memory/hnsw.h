// Approximate nearest neighbours for memories too large to scan: a hierarchical navigable small world graph
// (Malkov & Yashunin 2020, arXiv 1603.09320), kept by hnswlib. Rows are numbered from 0 in order of addition;
// the graph is a function of the rows in that order alone, so that two machines, or a kept graph and one
// built again, answer alike.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "memory/binary_file.h"

namespace evk {

class Hnsw {
 public:
  static constexpr std::size_t kLinks = 16;     // M: links per row and layer; twice as many in the lowest
  static constexpr std::size_t kBreadth = 200;  // efConstruction: candidates looked at when a row is added
  static constexpr int kLayersMax = 16;

  struct Near {
    std::size_t row = 0;
    double similarity = 0;
  };

  explicit Hnsw(std::size_t dimension, std::size_t reserved_rows = 0);
  ~Hnsw();
  Hnsw(Hnsw&&) noexcept;
  Hnsw& operator=(Hnsw&&) noexcept;

  // REQUIRES: `vector` has the dimension.
  void add(std::span<const float> vector);
  // About the `breadth` most similar rows, in no order: the best of a search that keeps as many candidates.
  // Safe from several threads while none adds.
  std::vector<Near> nearest(std::span<const float> query, std::size_t breadth) const;
  std::span<const float> row(std::size_t row) const;
  std::size_t size() const;

  void write(BinaryWriter& to) const;
  // Nothing if it is no graph of `rows` rows: every link must lead to a row of its layer, and every number be
  // finite.
  static std::optional<Hnsw> read(BinaryReader& from, std::size_t dimension, std::size_t rows);

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace evk
