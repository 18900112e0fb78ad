#include "generate/reply_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "generate/constructs.h"

namespace evk {
namespace {

struct Block {
  std::string label;  // a path, or empty
  std::string language;
  std::string body;
};

using Files = std::map<std::string, std::string>;

Finding finding(std::string code, std::string message, std::string remedy) {
  Finding made;
  made.code = std::move(code);
  made.message = std::move(message);
  made.remedy = std::move(remedy);
  return made;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

// The text without <think>...</think>; an unclosed block hides the rest only if the rest has no fence.
std::string without_thinking(std::string_view text) {
  std::string kept;
  while (true) {
    const auto begin = text.find("<think>");
    if (begin == std::string_view::npos) break;
    kept += text.substr(0, begin);
    const auto end = text.find("</think>", begin);
    text.remove_prefix(end == std::string_view::npos ? begin + 7 : end + 8);
  }
  const auto stray = text.find("</think>");  // the opening tag is part of some models' prompts
  if (kept.empty() && stray != std::string_view::npos) text.remove_prefix(stray + 8);
  return kept + std::string(text);
}

bool is_path_char(char ch) {
  return std::isalnum(static_cast<unsigned char>(ch)) || ch == '_' || ch == '-' || ch == '.' || ch == '/';
}

bool has_source_ending(std::string_view word) {
  for (const auto* ending : {".cpp", ".h", ".asc", ".cc", ".hpp"})
    if (word.ends_with(ending)) return true;
  return false;
}

// The last word of a line that looks like a source path: "title="op_kernel/x.cpp"", "**op_kernel/x.cpp**:",
// "// a.cpp".
std::string path_in(std::string_view line) {
  std::string found;
  std::size_t i = 0;
  while (i < line.size()) {
    if (!is_path_char(line[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < line.size() && is_path_char(line[end])) ++end;
    std::string_view word = line.substr(i, end - i);
    while (word.ends_with('.')) word.remove_suffix(1);
    if (has_source_ending(word)) found = word;
    i = end;
  }
  return found;
}

std::size_t fence_length(std::string_view line) {
  const auto text = trimmed(line);
  std::size_t n = 0;
  while (n < text.size() && (text[n] == '`' || text[n] == '~') && text[n] == text[0]) ++n;
  return n >= 3 ? n : 0;
}

std::vector<Block> blocks_of(std::string_view text) {
  const auto lines = lines_of(text);
  std::vector<Block> blocks;
  std::string_view before;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t fence = fence_length(lines[i]);
    if (fence == 0) {
      if (!trimmed(lines[i]).empty()) before = lines[i];
      continue;
    }
    const auto info = trimmed(trimmed(lines[i]).substr(fence));
    Block block;
    block.language = std::string(info.substr(0, info.find_first_of(" \t:{")));
    block.label = path_in(info);
    if (block.label.empty() && before.size() < 200) block.label = path_in(before);
    for (++i; i < lines.size(); ++i) {
      const std::size_t closing = fence_length(lines[i]);
      if (closing >= fence && trimmed(lines[i]).size() == closing) break;
      block.body += lines[i];
      block.body += '\n';
    }
    before = {};
    blocks.push_back(std::move(block));
  }
  return blocks;
}

// --- what a block is
// ------------------------------------------------------------------------------------------------

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
bool is_kernel(std::string_view code) { return has(code, "__global__") || has(code, "__aicore__"); }
bool is_tiling(std::string_view code) { return has(code, "BEGIN_TILING_DATA_DEF"); }
bool is_host(std::string_view code) {
  return has(code, "OP_ADD") || has(code, "TilingFunc") || has(code, "OpDef");
}
bool is_search_replace(std::string_view body) {
  return has(body, "<<<<<<< SEARCH") && has(body, ">>>>>>> REPLACE");
}
bool is_unified_diff(const Block& block) {
  return block.body.starts_with("@@ ") || has(block.body, "\n@@ ") ||
         (block.language == "diff" && has(block.body, "@@"));
}

std::string path_for(const Block& block, const std::string& op) {
  if (is_host(block.body) && has(block.body, "OP_ADD")) return fmt::format("op_host/{}.cpp", op);
  if (is_tiling(block.body)) return fmt::format("op_host/{}_tiling.h", op);
  if (is_kernel(block.body))
    return has(block.body, "<<<") ? "kernel.asc" : fmt::format("op_kernel/{}.cpp", op);
  return is_host(block.body) ? fmt::format("op_host/{}.cpp", op) : "";
}

// The path within the project, or nothing if it leaves it. A bare file name goes where its kind belongs.
std::optional<std::string> project_path(std::string path, std::string_view body) {
  if (path.starts_with("./")) path.erase(0, 2);
  if (path.empty() || path.size() > 200 || path.front() == '/' || has(path, "..") || has(path, "//") ||
      has(path, "/./"))
    return std::nullopt;
  for (const auto* folder : {"op_host/", "op_kernel/"}) {
    const auto at = path.find(folder);
    if (at == 0) return path;
    if (at != std::string::npos && path[at - 1] == '/') return path.substr(at);
  }
  if (path == "kernel.asc") return path;
  if (has(path, "/")) return std::nullopt;
  return (is_kernel(body) && !is_tiling(body) ? "op_kernel/" : "op_host/") + path;
}

// --- edits
// ----------------------------------------------------------------------------------------------------------

// Replaces the one occurrence of `from`; false if there is none, or several.
bool replace_once(std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) return false;
  const auto at = text.find(from);
  if (at == std::string::npos || text.find(from, at + 1) != std::string::npos) return false;
  text.replace(at, from.size(), to);
  return true;
}

// Edits whichever file contains the text exactly once; the labelled one first.
bool edit(Files& files, const std::string& label, const std::string& from, const std::string& to) {
  const auto named = files.find(label);
  if (named != files.end()) return replace_once(named->second, from, to);
  for (auto& [path, text] : files)
    if (replace_once(text, from, to)) return true;
  return false;
}

bool apply_search_replace(Files& files, const std::string& label, std::string_view body) {
  bool any = false;
  std::string from, to;
  int part = 0;
  for (const auto line : lines_of(body)) {
    const auto word = trimmed(line);
    if (word == "<<<<<<< SEARCH") {
      part = 1;
      from.clear();
      to.clear();
    } else if (word == "=======" && part == 1) {
      part = 2;
    } else if (word == ">>>>>>> REPLACE" && part == 2) {
      part = 0;
      if (!edit(files, label, from, to)) return false;
      any = true;
    } else if (part != 0) {
      (part == 1 ? from : to).append(line).push_back('\n');
    }
  }
  return any && part == 0;
}

bool apply_unified_diff(Files& files, std::string label, std::string_view body) {
  bool any = false, inside = false;
  std::string from, to;
  const auto finish = [&]() {
    if (inside && from != to) {
      if (!edit(files, label, from, to)) return false;
      any = true;
    }
    from.clear();
    to.clear();
    return true;
  };
  for (const auto line : lines_of(body)) {
    if (line.starts_with("--- ") || line.starts_with("+++ ")) {
      if (!finish()) return false;
      inside = false;
      const std::string path = path_in(line);
      const auto known = project_path(path, "");
      if (const auto stripped = known ? *known : path; files.contains(stripped)) label = stripped;
    } else if (line.starts_with("@@")) {
      if (!finish()) return false;
      inside = true;
    } else if (inside) {
      const auto rest = line.empty() ? line : line.substr(1);
      if (!line.starts_with('+')) from.append(rest).push_back('\n');
      if (!line.starts_with('-')) to.append(rest).push_back('\n');
    }
  }
  return finish() && any;
}

// --- the whole
// ------------------------------------------------------------------------------------------------------

class Reading {
 public:
  Reading(const Task& task, const Candidate* start) : task_(task), start_(start) {
    if (start)
      for (const auto& file : start->files) files_[file.path] = file.text;
  }

  std::optional<Finding> take(const Block& block) {
    if (is_search_replace(block.body) || is_unified_diff(block)) return take_edit(block);
    return take_file(block);
  }

  ParsedReply finish(std::string hypothesis, std::vector<Choice> choices) {
    if (!taken_)
      return finding("reply.no_code", "the answer holds no code block that belongs to an operator project",
                     "answer with file blocks fenced as ```cpp title=\"op_kernel/NAME.cpp\"");
    if (files_.size() > kReplyFilesMax)
      return finding("reply.too_many_files",
                     fmt::format("{} files; at most {} are read", files_.size(), kReplyFilesMax),
                     "merge files");
    Candidate made;
    for (auto& [path, text] : files_) made.files.push_back({path, std::move(text)});
    if (start_ && made.files == start_->files)
      return finding("reply.unchanged", "the answer changes nothing of the start point",
                     "change at least one decision of the kernel");
    if (!complete(made))
      return finding("reply.incomplete", "the answer lacks a kernel file or a host file",
                     "answer with op_host/ and op_kernel/ files");
    made.hypothesis = std::move(hypothesis);
    made.choices = std::move(choices);
    return made;
  }

 private:
  std::optional<Finding> take_edit(const Block& block) {
    const auto label = project_path(block.label, "").value_or("");
    const bool applied = is_search_replace(block.body) ? apply_search_replace(files_, label, block.body)
                                                       : apply_unified_diff(files_, label, block.body);
    if (!applied)
      return finding("reply.unmatched_edit", "an edit does not match the start point exactly once",
                     "quote the lines to change as they stand, or answer with whole files");
    taken_ = true;
    return std::nullopt;
  }

  std::optional<Finding> take_file(const Block& block) {
    const bool code = is_kernel(block.body) || is_host(block.body) || is_tiling(block.body);
    std::string path = block.label;
    if (path.empty()) path = code ? path_for(block, task_.name) : "";
    if (path.empty()) return std::nullopt;  // an example, a command, a listing
    if (block.body.size() > kReplyFileBytesMax)
      return finding(
          "reply.too_large",
          fmt::format("{} has {} bytes; at most {} are read", path, block.body.size(), kReplyFileBytesMax),
          "write a shorter file");
    const auto inside = project_path(path, block.body);
    if (!inside) {
      return finding("reply.bad_path",
                     fmt::format("\"{}\" is not a path within the operator project", path.substr(0, 200)),
                     "use op_host/... and op_kernel/... paths");
    }
    if (trimmed(block.body).empty()) return std::nullopt;
    files_[*inside] = block.body;
    taken_ = true;
    return std::nullopt;
  }

  static bool complete(const Candidate& made) {
    const auto any = [&](std::string_view folder) {
      return std::any_of(made.files.begin(), made.files.end(), [&](const SourceFile& f) {
        return f.path.starts_with(folder) && f.path.ends_with(".cpp");
      });
    };
    return made.file("kernel.asc") || (any("op_kernel/") && any("op_host/"));
  }

  const Task& task_;
  const Candidate* start_;
  Files files_;
  bool taken_ = false;
};

// What follows `mark` on the last line that starts with it, outside code.
std::string field(std::string_view text, std::string_view mark) {
  std::string found;
  std::size_t fence = 0;
  for (const auto line : lines_of(text)) {
    if (const auto length = fence_length(line)) fence = fence == 0 ? length : length >= fence ? 0 : fence;
    auto words = trimmed(line);
    while (!words.empty() && (words.front() == '*' || words.front() == '#' || words.front() == ' '))
      words.remove_prefix(1);
    if (fence != 0 || !words.starts_with(mark)) continue;
    words.remove_prefix(mark.size());
    while (words.starts_with("*")) words.remove_prefix(1);
    found = trimmed(words).substr(0, 16384);
  }
  return found;
}

}  // namespace

ParsedReply parse_reply(std::string_view text, const Task& task, const Candidate* start) {
  if (text.size() > kReplyBytesMax)
    return finding("reply.too_large",
                   fmt::format("the answer has {} bytes; at most {} are read", text.size(), kReplyBytesMax),
                   "answer with the files alone");
  if (trimmed(text).ends_with(kCutMark))
    return finding("reply.cut", "the answer was cut at its token limit before it was complete",
                   "answer with less prose, or with edits of the start point in place of whole files");
  const std::string said = without_thinking(text);
  Reading reading(task, start);
  for (const auto& block : blocks_of(said))
    if (auto wrong = reading.take(block)) return *std::move(wrong);
  return reading.finish(field(said, "Hypothesis:").substr(0, 500), read_choices(field(said, "Constructs:")));
}

}  // namespace evk
