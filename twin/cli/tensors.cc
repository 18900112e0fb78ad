#include "twin/cli/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/random.h"
#include "twin/engine/vector_exec.h"

namespace evk::twin {
namespace {

constexpr std::uint64_t kBytesMax = 1ull << 34;
constexpr std::size_t kRankMax = 8, kFirst = 6;

constexpr std::pair<const char*, abi::DType> kTypes[] = {
    {"f32", abi::DType::kF32}, {"f16", abi::DType::kF16}, {"bf16", abi::DType::kBf16},
    {"i8", abi::DType::kI8},   {"u8", abi::DType::kU8},   {"i16", abi::DType::kI16},
    {"u16", abi::DType::kU16}, {"i32", abi::DType::kI32}, {"u32", abi::DType::kU32},
    {"i64", abi::DType::kI64}, {"u64", abi::DType::kU64}, {"bool", abi::DType::kBool}};

Result<abi::DType> type_named(const std::string& name) {
  std::string all;
  for (const auto& [known, dtype] : kTypes) {
    if (name == known) return dtype;
    all += std::string(all.empty() ? "" : ", ") + known;
  }
  return failure(fmt::format("'{}' is no type; there are {}", name, all));
}

bool is_float(abi::DType t) {
  return t == abi::DType::kF32 || t == abi::DType::kF16 || t == abi::DType::kBf16;
}

Result<std::vector<std::int64_t>> parse_sizes(const std::string& text) {
  std::vector<std::int64_t> shape;
  std::stringstream sizes(text);
  for (std::string size; std::getline(sizes, size, 'x');) {
    char* end = nullptr;
    const long long n = std::strtoll(size.c_str(), &end, 10);
    if (end == size.c_str() || *end || n < 1 || n > (1ll << 34) || shape.size() == kRankMax)
      return failure(
          fmt::format("'{}': write sizes as 64x128, positive numbers, at most {}", text, kRankMax));
    shape.push_back(n);
  }
  if (shape.empty()) return failure(fmt::format("'{}': write sizes as 64x128", text));
  return shape;
}

// Reals between -2 and 2, integers between 0 and 7 (bool: 0 and 1).
void fill_randomly(LaunchTensor& tensor, std::uint64_t seed) {
  Random random(mix(seed, hash64(tensor.name)));
  const std::size_t size = abi::bytes_of(tensor.dtype);
  for (std::size_t at = 0; at < tensor.data.size(); at += size) {
    const double value = is_float(tensor.dtype)
                             ? random.uniform() * 4 - 2
                             : static_cast<double>(random.below(tensor.dtype == abi::DType::kBool ? 2 : 8));
    store(tensor.dtype, tensor.data.data() + at, value);
  }
}

Status fill_from_file(LaunchTensor& tensor, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in.read(reinterpret_cast<char*>(tensor.data.data()), static_cast<std::streamsize>(tensor.data.size())))
    return failure(fmt::format("{}: cannot read {} bytes; the file holds the elements, little-endian", path,
                               tensor.data.size()));
  return {};
}

}  // namespace

Result<LaunchTensor> parse_tensor(const std::string& text, const std::string& name, bool with_contents,
                                  std::uint64_t seed) {
  const auto colon = text.find(':');
  if (colon == std::string::npos) return failure(fmt::format("'{}': write a tensor as f32:64x128", text));
  const auto second = text.find(':', colon + 1);
  LaunchTensor tensor;
  tensor.name = name;
  EVK_TRY(tensor.dtype, type_named(text.substr(0, colon)));
  EVK_TRY(tensor.shape,
          parse_sizes(text.substr(colon + 1, second == std::string::npos ? second : second - colon - 1)));
  std::uint64_t bytes = abi::bytes_of(tensor.dtype);
  for (const std::int64_t n : tensor.shape) {
    if (static_cast<std::uint64_t>(n) > kBytesMax / bytes)
      return failure(fmt::format("'{}': larger than 16 GiB", text));
    bytes *= static_cast<std::uint64_t>(n);
  }
  if (!with_contents) return tensor;
  tensor.data.resize(bytes);
  const std::string source = second == std::string::npos ? "random" : text.substr(second + 1);
  if (source == "random")
    fill_randomly(tensor, seed);
  else
    EVK_TRY_STATUS(fill_from_file(tensor, source));
  return tensor;
}

TensorSummary summarise(abi::DType dtype, const std::vector<std::byte>& bytes) {
  TensorSummary s;
  const std::size_t size = abi::bytes_of(dtype);
  double sum = 0;
  std::uint64_t finite = 0;
  for (std::size_t at = 0; at + size <= bytes.size(); at += size, ++s.elements) {
    const double value = load(dtype, bytes.data() + at);
    if (s.first.size() < kFirst) s.first.push_back(value);
    if (std::isnan(value)) ++s.nans;
    if (std::isinf(value)) ++s.infinities;
    if (!std::isfinite(value)) continue;
    s.min = finite ? std::min(s.min, value) : value;
    s.max = finite ? std::max(s.max, value) : value;
    sum += value;
    ++finite;
  }
  if (finite) s.mean = sum / static_cast<double>(finite);
  return s;
}

std::string type_name(abi::DType dtype) {
  for (const auto& [name, known] : kTypes)
    if (known == dtype) return name;
  return "none";
}

std::string sizes_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("{}", fmt::join(shape, "x"));
}

}  // namespace evk::twin
