#include "twin/engine/gm.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "base/random.h"

namespace evk::twin {
namespace {

constexpr std::uint64_t kStaggerBytes = 5 * 512;
constexpr std::uint64_t kGap = 1 << 20;  // between tensors: an overrun meets nothing
constexpr std::uint64_t kAlign = 512;
constexpr std::uint64_t kLazyBytes = 64 * 1024;
constexpr std::size_t kWords = 251;  // a period that fits no tile

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
  std::array<std::uint32_t, kWords> words;
  Random random(seed);
  for (auto& word : words) word = poison_word(random.next());
  for (std::size_t at = 0; at < bytes; at += sizeof words)
    std::memcpy(data + at, words.data(), std::min(sizeof words, bytes - at));
}

void WrittenMap::mark(std::uint64_t lo, std::uint64_t hi) {
  if (pages_.empty() && hi > lo) pages_.resize((bytes_ + kPageBytes - 1) / kPageBytes);
  for (std::uint64_t at = lo; at < hi;) {
    const std::uint64_t begin = at / kPageBytes * kPageBytes, size = std::min(kPageBytes, bytes_ - begin),
                        end = std::min(hi, begin + size);
    Page& page = pages_[at / kPageBytes];
    if (page.written == 0 && end - at == size) {
      page.written = static_cast<std::uint32_t>(size);
      unwritten_ -= size;
    } else if (page.written < size) {
      mark_part(page, at - begin, end - begin);
      if (page.written == size) page.bits.reset();
    }
    at = end;
  }
}

void WrittenMap::mark_part(Page& page, std::uint64_t lo, std::uint64_t hi) {
  if (!page.bits) page.bits = std::make_unique<Bits>();
  for (std::uint64_t word = lo / 64; word * 64 < hi; ++word) {
    const std::uint64_t from = std::max(lo, word * 64) - word * 64,
                        to = std::min(hi, word * 64 + 64) - word * 64;
    const std::uint64_t mask = (to == 64 ? ~0ull : (1ull << to) - 1) & ~((1ull << from) - 1);
    const auto fresh = static_cast<std::uint32_t>(std::popcount(mask & ~(*page.bits)[word]));
    (*page.bits)[word] |= mask;
    page.written += fresh;
    unwritten_ -= fresh;
  }
}

std::size_t GlobalMemory::add(std::string name, GmTensor::Kind kind, std::uint64_t bytes,
                              std::vector<std::byte> data, std::uint64_t padding) {
  const std::uint64_t whole = bytes + padding;
  GmTensor tensor{std::move(name), kind, tensors_.size(), next_, whole, bytes, WrittenMap(whole), {}};
  const bool given = data.size() == bytes && bytes > 0;
  if (padding > 0) tensor.written.mark(bytes, whole);
  if (given) tensor.written.mark(0, bytes);
  if (move_data_ && kind != GmTensor::Kind::kWorkspace && !(given && padding == 0)) {
    tensor.data.resize(whole);
    fill_with_poison(tensor.data.data(), whole, mix(poison_, tensor.index));
    if (given) std::memcpy(tensor.data.data(), data.data(), bytes);
  } else if (move_data_ && given) {
    tensor.data = std::move(data);
  }
  if (move_data_ && kind == GmTensor::Kind::kWorkspace && bytes > 0) {
    workspace_.bytes.reset(static_cast<std::byte*>(std::malloc(bytes)));
    workspace_.poisoned.assign(bytes / kLazyBytes + 1, false);
  }
  tensors_.push_back(std::move(tensor));
  // Tensors do not all begin in one set of the caches: equal bases would throw each other out at every
  // access.
  next_ = (next_ + whole + kGap + kAlign - 1) / kAlign * kAlign + tensors_.size() * kStaggerBytes;
  return tensors_.size() - 1;
}

GmTensor* GlobalMemory::find(std::uint64_t addr, std::uint64_t bytes, const GmTensor** nearest) {
  for (auto& tensor : tensors_) {
    if (addr < tensor.base || addr - tensor.base >= tensor.bytes + kGap / 2) continue;
    if (nearest) *nearest = &tensor;
    const std::uint64_t offset = addr - tensor.base;
    return offset <= tensor.bytes && bytes <= tensor.bytes - offset ? &tensor : nullptr;
  }
  return nullptr;
}

std::byte* GlobalMemory::at(GmTensor& tensor, std::uint64_t addr, std::uint64_t bytes) {
  const std::uint64_t offset = addr - tensor.base;
  if (tensor.kind != GmTensor::Kind::kWorkspace)
    return tensor.data.empty() ? nullptr : tensor.data.data() + offset;
  if (!workspace_.bytes) return nullptr;
  for (std::uint64_t page = offset / kLazyBytes; page * kLazyBytes < offset + bytes; ++page) {
    if (workspace_.poisoned[page]) continue;
    workspace_.poisoned[page] = true;
    const std::uint64_t begin = page * kLazyBytes;
    fill_with_poison(workspace_.bytes.get() + begin, std::min(kLazyBytes, tensor.bytes - begin),
                     mix(poison_, mix(tensor.index, page)));
  }
  return workspace_.bytes.get() + offset;
}

}  // namespace evk::twin
