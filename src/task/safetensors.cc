#include "task/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

namespace evk {
namespace {

using nlohmann::json;

constexpr std::uint64_t kHeaderBytesMax = 1 << 20;
constexpr std::uint64_t kFileBytesMax = 8ull << 30;
constexpr std::size_t kRankMax = 8;
constexpr std::int64_t kElementsMax = std::int64_t{1} << 40;

std::optional<DType> dtype_coded(const std::string& code) {
  static const std::map<std::string, DType> kCodes = {{"F64", DType::kFloat64}, {"F32", DType::kFloat32},
                                                      {"F16", DType::kFloat16}, {"BF16", DType::kBFloat16},
                                                      {"I64", DType::kInt64},   {"I32", DType::kInt32},
                                                      {"I16", DType::kInt16},   {"I8", DType::kInt8},
                                                      {"U8", DType::kUInt8},    {"BOOL", DType::kBool}};
  const auto found = kCodes.find(code);
  return found == kCodes.end() ? std::nullopt : std::optional(found->second);
}

// The value as a number in [0, max], if it is one.
std::optional<std::int64_t> bounded(const json& value, std::int64_t max) {
  if (!value.is_number_unsigned()) return std::nullopt;
  const auto number = value.get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(max)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

// One tensor's entry against the data section of `size` bytes.
class Entry {
 public:
  Entry(const std::string& name, const json& entry, std::span<const std::byte> data)
      : name_(name), entry_(entry), data_(data) {}

  Result<StoredTensor> read() const {
    if (!entry_.is_object() || !entry_.contains("dtype") || !entry_.contains("shape") ||
        !entry_.contains("data_offsets"))
      return bad("needs dtype, shape and data_offsets");
    StoredTensor tensor;
    if (!entry_["dtype"].is_string()) return bad("has a dtype that is no string");
    const auto dtype = dtype_coded(entry_["dtype"].get<std::string>());
    if (!dtype) return bad("has an unknown dtype");
    tensor.type.dtype = *dtype;
    EVK_TRY(const std::int64_t elements, read_shape(tensor.type.shape));
    return read_data(std::move(tensor), elements);
  }

 private:
  tl::unexpected<Error> bad(const char* rule) const {
    return failure(fmt::format("tensor '{}' {}", name_.substr(0, 80), rule));
  }

  Result<std::int64_t> read_shape(std::vector<std::int64_t>& shape) const {
    const json& sizes = entry_["shape"];
    if (!sizes.is_array() || sizes.size() > kRankMax)
      return bad("has a shape that is no list of at most 8 sizes");
    std::int64_t elements = 1;
    for (const json& each : sizes) {
      const auto size = bounded(each, kElementsMax);
      if (!size) return bad("has a size outside [0, 2^40]");
      if (*size != 0 && elements > kElementsMax / *size) return bad("has more than 2^40 elements");
      elements *= *size;
      shape.push_back(*size);
    }
    return elements;
  }

  Result<StoredTensor> read_data(StoredTensor tensor, std::int64_t elements) const {
    const json& offsets = entry_["data_offsets"];
    const auto size = static_cast<std::int64_t>(data_.size());
    if (!offsets.is_array() || offsets.size() != 2) return bad("needs two data offsets");
    const auto begin = bounded(offsets[0], size), end = bounded(offsets[1], size);
    if (!begin || !end || *begin > *end) return bad("lies outside the file");
    const std::int64_t width = bytes_of(tensor.type.dtype);
    if (*end - *begin != elements * width) return bad("has data of another length than its shape says");
    tensor.bytes = data_.subspan(static_cast<std::size_t>(*begin), static_cast<std::size_t>(*end - *begin));
    if (reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % static_cast<std::uintptr_t>(width) != 0 &&
        elements > 0)
      return bad("is not aligned to its elements");
    return tensor;
  }

  const std::string& name_;
  const json& entry_;
  std::span<const std::byte> data_;
};

// Whether two tensors share bytes. Sharing would let one edit change two.
bool overlaps(const std::map<std::string, StoredTensor, std::less<>>& tensors) {
  std::vector<std::span<const std::byte>> parts;
  for (const auto& [name, tensor] : tensors)
    if (!tensor.bytes.empty()) parts.push_back(tensor.bytes);
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.data() < b.data(); });
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (parts[i - 1].data() + parts[i - 1].size() > parts[i].data()) return true;
  return false;
}

}  // namespace

Result<std::map<std::string, StoredTensor, std::less<>>> parse_safetensors(std::span<const std::byte> file) {
  std::uint64_t length = 0;
  if (file.size() < sizeof length) return failure("the file is shorter than 8 bytes");
  std::memcpy(&length, file.data(), sizeof length);
  if (length > kHeaderBytesMax) return failure("the header is longer than 1 MiB");
  if (length > file.size() - sizeof length) return failure("the header is cut off");
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + sizeof length,
                              static_cast<std::size_t>(length));
  if (!nests_at_most(text, 4)) return failure("the header nests too deep");
  const json header = json::parse(text, nullptr, false);
  if (!header.is_object()) return failure("the header is no JSON object");
  const auto data = file.subspan(sizeof length + static_cast<std::size_t>(length));
  std::map<std::string, StoredTensor, std::less<>> tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    EVK_TRY(StoredTensor tensor, Entry(name, entry, data).read());
    tensors.emplace(name, std::move(tensor));
  }
  if (overlaps(tensors)) return failure("two tensors share bytes");
  return tensors;
}

Result<std::shared_ptr<const Safetensors>> Safetensors::open(const std::string& path) {
  const auto bad = [&](const std::string& what) {
    return failure(fmt::format("{}: {}; make the pack again", path, what));
  };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return bad(std::strerror(errno));
  struct stat info {};
  const bool plain = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(info.st_size, 0));
  if (!plain || size > kFileBytesMax || size < 8) {
    close(fd);
    return bad(plain ? "has a size outside 8 bytes to 8 GiB" : "is no plain file");
  }
  std::shared_ptr<Safetensors> made(new Safetensors);
  void* mapped = mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, fd, 0);
  const int error = errno;
  close(fd);
  if (mapped == MAP_FAILED) return bad(std::strerror(error));
  made->mapped_ = mapped;
  made->size_ = static_cast<std::size_t>(size);
  auto tensors = parse_safetensors({static_cast<const std::byte*>(mapped), made->size_});
  if (!tensors) return bad(tensors.error().message);
  made->tensors_ = std::move(*tensors);
  return std::shared_ptr<const Safetensors>(std::move(made));
}

Safetensors::~Safetensors() {
  if (mapped_) munmap(mapped_, size_);
}

const StoredTensor* Safetensors::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

}  // namespace evk
