// Reads a compiled shared object (64-bit ELF) for what the source's tokens could hide: which outside
// functions it wants, what runs when it is loaded, how much state it keeps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace evk {

struct ObjectSymbol {
  std::string name;
  bool defined = false, function = false, weak = false;
  std::uint64_t size = 0;
};

struct ObjectFacts {
  std::vector<ObjectSymbol> symbols;   // of the dynamic symbol table, by name
  std::vector<std::string> libraries;  // DT_NEEDED
  std::uint64_t initialisers = 0;      // entries of .init_array and .preinit_array
  std::uint64_t data_bytes = 0, bss_bytes = 0, thread_bytes = 0, constant_bytes = 0;
};

// Fails on anything that is not a well-formed shared object; every offset is checked.
Result<ObjectFacts> read_object(std::string_view bytes);

// Whether a kernel or tiling function may call it: the C++ runtime, libm, the memory functions, the program's
// side of the simulated device.
bool allowed_symbol(std::string_view name);

}  // namespace evk
