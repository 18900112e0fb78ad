#include "twin/engine/gm.h"

#include <bit>
#include <cstring>

#include "base/random.h"

namespace evk::twin {
namespace {

constexpr std::uint64_t kGap = 1 << 20;  // between tensors: an overrun meets nothing
constexpr std::uint64_t kAlign = 512;

std::uint32_t poison_word(std::uint64_t draw) {
  const auto low = static_cast<std::uint32_t>(draw);
  switch (draw >> 62) {
    case 0:
    case 1:
      return 0x7fc00000u | (low & 0x3fffffu) | (low & 0x80000000u);  // NaN
    default:
      return std::bit_cast<std::uint32_t>((1.0f + static_cast<float>(low % 9)) *
                                          ((low & 0x80000000u) ? -1e30f : 1e30f));
  }
}

}  // namespace

void fill_with_poison(std::byte* data, std::size_t bytes, std::uint64_t seed) {
  // A short cycle of words: poison must be cheap, and a period of 251 words fits no tile.
  std::uint32_t words[251];
  Random random(seed);
  for (auto& word : words) word = poison_word(random.next());
  std::size_t i = 0;
  for (std::size_t at = 0; at < bytes; at += 4, i = i == 250 ? 0 : i + 1)
    std::memcpy(data + at, &words[i], std::min<std::size_t>(4, bytes - at));
}

std::size_t GlobalMemory::add(std::string name, GmTensor::Kind kind, std::uint64_t bytes,
                              std::vector<std::byte> data) {
  GmTensor tensor{std::move(name), kind, next_, bytes, {}};
  if (move_data_) {
    if (kind == GmTensor::Kind::kInput) {
      tensor.data = std::move(data);
    } else {
      tensor.data.resize(bytes);
      fill_with_poison(tensor.data.data(), bytes, mix(poison_, tensors_.size()));
    }
  }
  next_ = (next_ + bytes + kGap + kAlign - 1) / kAlign * kAlign;
  tensors_.push_back(std::move(tensor));
  return tensors_.size() - 1;
}

GmTensor* GlobalMemory::find(std::uint64_t addr, std::uint64_t bytes, const GmTensor** nearest) {
  for (auto& tensor : tensors_) {
    if (addr < tensor.base || addr >= tensor.base + tensor.bytes + kGap / 2) continue;
    if (nearest) *nearest = &tensor;
    const std::uint64_t offset = addr - tensor.base;
    return offset <= tensor.bytes && bytes <= tensor.bytes - offset ? &tensor : nullptr;
  }
  return nullptr;
}

}  // namespace evk::twin
