#include "twin/program/globals.h"

#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace evk::twin {
namespace {

struct Search {
  std::uintptr_t symbol;
  // Address ranges, first to end: writable segments, and the part of them that is read-only since relocation.
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> writable;
  std::pair<std::uintptr_t, std::uintptr_t> read_only{0, 0};
};

bool holds(const dl_phdr_info& info, std::uintptr_t address) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& header = info.dlpi_phdr[i];
    const std::uintptr_t begin = info.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && address >= begin && address < begin + header.p_memsz) return true;
  }
  return false;
}

int visit(dl_phdr_info* info, std::size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  if (!holds(*info, search.symbol)) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr, end = begin + header.p_memsz;
    if (header.p_type == PT_LOAD && (header.p_flags & PF_W)) search.writable.emplace_back(begin, end);
    if (header.p_type == PT_GNU_RELRO) search.read_only = {begin, (end + 4095) / 4096 * 4096};
  }
  return 1;
}

}  // namespace

Globals::Globals(const void* symbol) {
  Search search{reinterpret_cast<std::uintptr_t>(symbol), {}, {0, 0}};
  ::dl_iterate_phdr(visit, &search);
  const auto [ro_begin, ro_end] = search.read_only;
  const auto add = [&](std::uintptr_t begin, std::uintptr_t end) {
    if (begin < end) parts_.push_back({reinterpret_cast<std::byte*>(begin), end - begin});
  };
  for (const auto& [begin, end] : search.writable) {
    if (ro_end <= begin || ro_begin >= end) {
      add(begin, end);
    } else {
      add(begin, ro_begin);
      add(std::max(begin, ro_end), end);
    }
  }
}

std::vector<std::byte> Globals::save() const {
  std::vector<std::byte> saved;
  for (const Part& part : parts_) saved.insert(saved.end(), part.begin, part.begin + part.bytes);
  return saved;
}

void Globals::restore(const std::vector<std::byte>& saved) const {
  std::size_t at = 0;
  for (const Part& part : parts_) {
    std::memcpy(part.begin, saved.data() + at, part.bytes);
    at += part.bytes;
  }
}

}  // namespace evk::twin
