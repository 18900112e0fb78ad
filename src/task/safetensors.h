// Reads safetensors files: a little-endian length, a JSON header, then the data of the tensors.
//
//   EVK_TRY(auto file, Safetensors::open(path));
//   const StoredTensor* x = file->find("input.x");   // null if there is none
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "core/op_graph.h"

namespace evk {

// Contiguous, little-endian, row-major. The bytes belong to the file that it was found in.
struct StoredTensor {
  TensorType type;
  std::span<const std::byte> bytes;
};

// Name to tensor of a whole file's bytes. Every tensor lies inside the file, is as long as its type says,
// begins at a multiple of its element size, and overlaps no other. The Error says which rule is broken; it
// names no file.
Result<std::map<std::string, StoredTensor, std::less<>>> parse_safetensors(std::span<const std::byte> file);

// An open, memory-mapped file. Immutable: any number of threads may read it.
class Safetensors {
 public:
  static Result<std::shared_ptr<const Safetensors>> open(const std::string& path);
  ~Safetensors();
  Safetensors(const Safetensors&) = delete;
  Safetensors& operator=(const Safetensors&) = delete;

  const StoredTensor* find(std::string_view name) const;

 private:
  Safetensors() = default;
  void* mapped_ = nullptr;
  std::size_t size_ = 0;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
};

}  // namespace evk
