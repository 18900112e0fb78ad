#include "backend/object_check.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <unordered_set>

namespace evk {
namespace {

constexpr std::size_t kSectionsMax = 4096;

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  // The string at `offset` of a string table section.
  std::string string(const Elf64_Shdr& table, std::uint64_t offset) const {
    if (table.sh_offset > bytes_.size() || offset >= table.sh_size ||
        table.sh_size > bytes_.size() - table.sh_offset)
      return {};
    const std::string_view rest = bytes_.substr(table.sh_offset + offset, table.sh_size - offset);
    return std::string(rest.substr(0, rest.find('\0')));
  }

 private:
  std::string_view bytes_;
};

struct Sections {
  std::vector<Elf64_Shdr> headers;
  std::vector<std::string> names;
};

Result<Sections> read_sections(const Reader& reader) {
  const auto header = reader.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_DYN) {
    return failure("the linker's result is no 64-bit shared object");
  }
  if (header->e_shnum == 0 || header->e_shnum > kSectionsMax || header->e_shstrndx >= header->e_shnum)
    return failure("the shared object has no usable section table");
  Sections out;
  for (std::size_t i = 0; i < header->e_shnum; ++i) {
    const auto section = reader.at<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return failure("the shared object's section table is cut off");
    out.headers.push_back(*section);
  }
  for (const Elf64_Shdr& section : out.headers)
    out.names.push_back(reader.string(out.headers[header->e_shstrndx], section.sh_name));
  return out;
}

void read_symbols(const Reader& reader, const Sections& sections, const Elf64_Shdr& table,
                  ObjectFacts& facts) {
  if (table.sh_link >= sections.headers.size()) return;
  for (std::uint64_t offset = sizeof(Elf64_Sym); offset + sizeof(Elf64_Sym) <= table.sh_size;
       offset += sizeof(Elf64_Sym)) {
    const auto symbol = reader.at<Elf64_Sym>(table.sh_offset + offset);
    if (!symbol) return;
    facts.symbols.push_back({reader.string(sections.headers[table.sh_link], symbol->st_name),
                             symbol->st_shndx != SHN_UNDEF, ELF64_ST_TYPE(symbol->st_info) == STT_FUNC,
                             ELF64_ST_BIND(symbol->st_info) == STB_WEAK, symbol->st_size});
  }
}

void read_needed(const Reader& reader, const Sections& sections, const Elf64_Shdr& table,
                 ObjectFacts& facts) {
  if (table.sh_link >= sections.headers.size()) return;
  for (std::uint64_t offset = 0; offset + sizeof(Elf64_Dyn) <= table.sh_size; offset += sizeof(Elf64_Dyn)) {
    const auto entry = reader.at<Elf64_Dyn>(table.sh_offset + offset);
    if (!entry || entry->d_tag == DT_NULL) return;
    if (entry->d_tag == DT_NEEDED)
      facts.libraries.push_back(reader.string(sections.headers[table.sh_link], entry->d_un.d_val));
  }
}

bool starts_with_any(std::string_view name, const auto& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// Of the C++ library, what a kernel or its tiling has no use for: threads, clocks, files.
constexpr std::array kRefusedPrefixes = std::to_array<std::string_view>(
    {"_ZNSt6thread", "_ZNSt10filesystem", "_ZNSt12__basic_file", "_ZNSt6chrono", "_ZNSt13basic_fstream",
     "_ZNSt14basic_ifstream", "_ZNSt14basic_ofstream", "_ZNSt13basic_filebuf", "_ZSt9terminatev",
     "_ZNSt13random_device", "_ZNSt18condition_variable", "_ZNSt11this_thread"});
constexpr std::array kAllowedPrefixes = std::to_array<std::string_view>(
    {"_ZNSt", "_ZNKSt", "_ZSt", "_ZTISt", "_ZTVN10__cxxabiv", "_ZTVSt", "_ZTSSt", "_ZTI", "_ZNSa", "_ZNSs",
     "__cxa_", "evk_", "_ZN3evk", "_ZNK3evk", "_ZTVN3evk", "tw_", "__evk"});

const std::unordered_set<std::string_view>& allowed_names() {
  static const std::unordered_set<std::string_view> names = {
      "memcpy", "memset", "memmove", "memcmp", "strlen", "strcmp", "strncmp", "strcpy", "strncpy", "strchr",
      "snprintf", "vsnprintf", "printf", "puts", "putchar", "__printf_chk", "__snprintf_chk", "__memcpy_chk",
      "__memset_chk", "_Znwm", "_ZdlPv", "_ZdlPvm", "_Znam", "_ZdaPv", "_ZdaPvm", "_ZdlPvSt11align_val_t",
      "_ZnwmSt11align_val_t", "malloc", "free", "calloc", "realloc", "__stack_chk_fail",
      "__libc_single_threaded", "__gxx_personality_v0", "_Unwind_Resume", "__gmon_start__",
      "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__assert_fail", "__dso_handle",
      "__sanitizer_cov_trace_pc", "__sanitizer_cov_trace_pc_guard", "__sanitizer_cov_trace_pc_guard_init",
      "__popcountdi2", "__tls_get_addr",
      // libm
      "exp", "expf", "exp2", "exp2f", "log", "logf", "log2", "log2f", "log10", "log10f", "log1p", "log1pf",
      "expm1", "expm1f", "pow", "powf", "sqrt", "sqrtf", "cbrt", "cbrtf", "sin", "sinf", "cos", "cosf", "tan",
      "tanf", "tanh", "tanhf", "sinh", "sinhf", "cosh", "coshf", "atan", "atanf", "atan2", "atan2f", "asin",
      "asinf", "acos", "acosf", "erf", "erff", "erfc", "erfcf", "floor", "floorf", "ceil", "ceilf", "round",
      "roundf", "lround", "lroundf", "llround", "rint", "rintf", "lrint", "lrintf", "nearbyint", "nearbyintf",
      "trunc", "truncf", "fmod", "fmodf", "fmax", "fmaxf", "fmin", "fminf", "fma", "fmaf", "ldexp", "ldexpf",
      "frexp", "frexpf", "hypot", "hypotf", "fabs", "fabsf", "remainder", "remainderf", "tgamma", "lgamma",
      "__expf_finite", "abs", "labs"};
  return names;
}

}  // namespace

Result<ObjectFacts> read_object(std::string_view bytes) {
  const Reader reader(bytes);
  EVK_TRY(const Sections sections, read_sections(reader));
  ObjectFacts facts;
  for (std::size_t i = 0; i < sections.headers.size(); ++i) {
    const Elf64_Shdr& section = sections.headers[i];
    if (section.sh_type == SHT_DYNSYM) read_symbols(reader, sections, section, facts);
    if (section.sh_type == SHT_DYNAMIC) read_needed(reader, sections, section, facts);
    if (section.sh_type == SHT_INIT_ARRAY || section.sh_type == SHT_PREINIT_ARRAY)
      facts.initialisers += section.sh_size / 8;
    const bool allocated = (section.sh_flags & SHF_ALLOC) != 0,
               writable = (section.sh_flags & SHF_WRITE) != 0;
    if (allocated && (section.sh_flags & SHF_TLS) != 0) facts.thread_bytes += section.sh_size;
    if (allocated && writable && section.sh_type == SHT_NOBITS) facts.bss_bytes += section.sh_size;
    if (sections.names[i] == ".data") facts.data_bytes += section.sh_size;
    if (sections.names[i].starts_with(".rodata")) facts.constant_bytes += section.sh_size;
  }
  std::sort(facts.symbols.begin(), facts.symbols.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return facts;
}

bool allowed_symbol(std::string_view name) {
  if (allowed_names().contains(name)) return true;
  return !starts_with_any(name, kRefusedPrefixes) && starts_with_any(name, kAllowedPrefixes);
}

}  // namespace evk
