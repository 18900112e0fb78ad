#include "memory/knowledge.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace evk {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileBytesMax = 64u << 10;
constexpr std::size_t kFilesMax = 4096;
constexpr std::array<std::string_view, 9> kKeys = {"kind",   "name",  "title", "category", "names",
                                                   "static", "shows", "avoid", "answers"};

class Reader {
 public:
  Reader(std::string_view text, const std::string& file, const std::string& backend)
      : text_(text), file_(file) {
    item_.backend = backend;
    item_.source = "seed";
  }

  Result<MemoryItem> run() {
    EVK_TRY_STATUS(split());
    EVK_TRY_STATUS(check_keys());
    EVK_TRY(const std::string kind, line("kind"));
    EVK_TRY(item_.name, line("name"));
    EVK_TRY(item_.title, line("title"));
    EVK_TRY(item_.category, line("category"));
    EVK_TRY_STATUS(take_kind(kind));
    EVK_TRY_STATUS(take_static());
    EVK_TRY(item_.names, list("names"));
    EVK_TRY(item_.answers, list("answers"));
    EVK_TRY_STATUS(take_facts("shows", true));
    EVK_TRY_STATUS(take_facts("avoid", false));
    item_.key_text = fmt::format("{}\n{}\n{}\n{}", item_.title, item_.category, fmt::join(item_.names, " "),
                                 item_.text.substr(0, 2000));
    return std::move(item_);
  }

 private:
  tl::unexpected<Error> wrong(const std::string& what) const {
    return failure(fmt::format("{}: {}", file_, what), Retry::kAfterFix);
  }

  Status split() {
    if (text_.size() > kFileBytesMax)
      return wrong(fmt::format("{} bytes; at most {} are read", text_.size(), kFileBytesMax));
    constexpr std::string_view kFence = "+++\n";
    const auto end = text_.find("\n+++\n", 3);
    if (!text_.starts_with(kFence) || end == std::string_view::npos)
      return wrong("no front matter between two lines \"+++\"");
    toml::parse_result parsed = toml::parse(text_.substr(kFence.size(), end + 1 - kFence.size()));
    table_ = std::move(parsed);
    std::string_view body = text_.substr(end + 5);
    while (body.starts_with('\n')) body.remove_prefix(1);
    while (body.ends_with('\n')) body.remove_suffix(1);
    if (body.empty()) return wrong("no text after the front matter");
    item_.text = std::string(body);
    return {};
  }

  Status check_keys() const {
    for (const auto& [key, value] : table_)
      if (std::find(kKeys.begin(), kKeys.end(), key.str()) == kKeys.end())
        return wrong(fmt::format("unknown key \"{}\"; the keys are {}", std::string(key.str()),
                                 fmt::join(kKeys, ", ")));
    return {};
  }

  Result<std::string> line(const char* key) const {
    const auto value = table_[key].value<std::string>();
    if (!value || value->empty() || value->size() > 300 || value->find('\n') != std::string::npos)
      return wrong(fmt::format("key \"{}\" is not a line of text", key));
    return *value;
  }

  Result<std::vector<std::string>> list(const char* key) const {
    std::vector<std::string> found;
    const auto node = std::as_const(table_)[key];
    if (!node) return found;
    const toml::array* values = node.as_array();
    if (!values || values->size() > 200)
      return wrong(fmt::format("key \"{}\" is not a list of at most 200", key));
    for (const auto& value : *values) {
      const auto text = value.value<std::string>();
      if (!text || text->empty() || text->size() > 200)
        return wrong(fmt::format("key \"{}\" holds something else than words", key));
      found.push_back(*text);
    }
    return found;
  }

  Status take_kind(const std::string& kind) {
    if (kind != "api" && kind != "practice" && kind != "pitfall")
      return wrong(fmt::format("key \"kind\" is \"{}\", not api, practice or pitfall", kind));
    if (!item_.name.starts_with(kind + "/"))
      return wrong(fmt::format("key \"name\" does not start with \"{}/\"", kind));
    if ((kind == "pitfall") != (item_.category == "pitfall"))
      return wrong("key \"category\" is \"pitfall\" for pitfalls, and for nothing else");
    item_.kind = kind == "api" ? ItemKind::kApi : ItemKind::kPractice;
    return {};
  }

  Status take_static() {
    const auto node = std::as_const(table_)["static"];
    if (!node) return {};
    const auto value = node.value_exact<bool>();
    if (!value) return wrong("key \"static\" is neither true nor false");
    if (*value && item_.kind != ItemKind::kApi)
      return wrong("key \"static\" is true for something else than an api");
    item_.static_bundle = *value;
    return {};
  }

  Status take_facts(const char* key, bool works) {
    EVK_TRY(const std::vector<std::string> words, list(key));
    for (const auto& word : words) {
      const auto equals = word.find('=');
      if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
        return wrong(fmt::format("key \"{}\" holds \"{}\", which is not construct=form", key, word));
      item_.facts.push_back({{word.substr(0, equals), word.substr(equals + 1)}, works});
    }
    return {};
  }

  std::string_view text_;
  const std::string& file_;
  toml::table table_;
  MemoryItem item_;
};

Result<std::string> text_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return failure(fmt::format("{}: cannot be read", path.string()), Retry::kAfterFix);
  std::string text(kFileBytesMax + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

}  // namespace

Result<MemoryItem> read_knowledge(std::string_view text, const std::string& file,
                                  const std::string& backend) {
  try {
    return Reader(text, file, backend).run();
  } catch (const toml::parse_error& error) {
    return failure(
        fmt::format("{}: front matter line {}: {}", file, error.source().begin.line, error.description()),
        Retry::kAfterFix);
  }
}

Result<std::vector<MemoryItem>> load_knowledge(const std::string& dir, const std::string& backend) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::recursive_directory_iterator it(dir, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".md" && it->is_regular_file() && it.depth() == 1)
      paths.push_back(it->path());
  if (error) return failure(fmt::format("{}: {}", dir, error.message()), Retry::kAfterFix);
  if (paths.empty() || paths.size() > kFilesMax)
    return failure(fmt::format("{}: {} knowledge files in its folders", dir, paths.size()), Retry::kAfterFix);
  std::vector<MemoryItem> items;
  for (const auto& path : paths) {
    EVK_TRY(const std::string text, text_of(path));
    EVK_TRY(MemoryItem item, read_knowledge(text, path.string(), backend));
    if (item.name.substr(item.name.find('/') + 1) != path.stem().string())
      return failure(fmt::format("{}: key \"name\" does not end with the file's name", path.string()),
                     Retry::kAfterFix);
    items.push_back(std::move(item));
  }
  std::sort(items.begin(), items.end(),
            [](const MemoryItem& a, const MemoryItem& b) { return a.name < b.name; });
  const auto twice = std::adjacent_find(
      items.begin(), items.end(), [](const MemoryItem& a, const MemoryItem& b) { return a.name == b.name; });
  if (twice != items.end())
    return failure(fmt::format("{}: two files have the name \"{}\"", dir, twice->name), Retry::kAfterFix);
  return items;
}

}  // namespace evk
