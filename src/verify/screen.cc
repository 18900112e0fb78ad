#include "verify/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "verify/lexer.h"
#include "verify/screen_words.h"

namespace evk {
namespace {

constexpr std::size_t kFindingsMax = 20;
constexpr std::size_t kLineMax = 4096;

enum class Side { kKernel, kHost, kBoth };

Side side_of(const std::string& path) {
  if (path.starts_with("op_kernel/")) return Side::kKernel;
  if (path.starts_with("op_host/")) return Side::kHost;
  return Side::kBoth;
}

bool plain_path(const std::string& path) {
  if (path.empty() || path.size() > 128 || path.front() == '/') return false;
  const auto fine = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' || c == '/';
  };
  if (!std::all_of(path.begin(), path.end(), fine) || path.find("..") != std::string::npos ||
      path.find("//") != std::string::npos)
    return false;
  return std::count(path.begin(), path.end(), '/') <= 3;
}

bool known_place(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension();
  const bool source = extension == ".cpp" || extension == ".h" || extension == ".hpp";
  if (path.starts_with("op_kernel/") || path.starts_with("op_host/")) return source;
  // A direct-launch file and its headers.
  return (extension == ".asc" || extension == ".h" || extension == ".hpp") &&
         path.find('/') == std::string::npos;
}

// Length of the UTF-8 sequence at `at` and its code point; 0 if it is not one.
std::size_t decode(std::string_view text, std::size_t at, char32_t& point) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(at);
  const std::size_t size = first < 0x80       ? 1
                           : first >> 5 == 6  ? 2
                           : first >> 4 == 14 ? 3
                           : first >> 3 == 30 ? 4
                                              : 0;
  if (size == 0) return 0;
  point = size == 1 ? first : first & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (byte(at + i) >> 6 != 2) return 0;
    point = point << 6 | (byte(at + i) & 0x3fu);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  return point < kSmallest[size] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000) ? 0 : size;
}

// Characters that make text look other than it reads: directions, joiners, zero width.
bool deceptive(char32_t c) {
  return (c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2060 && c <= 0x2069) ||
         c == 0xfeff || c == 0x061c || c == 0x180e || (c < 0x20 && c != '\n' && c != '\t' && c != '\r') ||
         c == 0x7f;
}

class FileScreen {
 public:
  FileScreen(const SourceFile& file, const std::set<std::string>& own_macros,
             const std::set<std::string>& own_files, const ScreenLimits& limits,
             std::vector<Finding>& findings)
      : file_(file),
        side_(side_of(file.path)),
        own_macros_(own_macros),
        own_files_(own_files),
        limits_(limits),
        findings_(findings),
        lexed_(lex(file.text)) {}

  void run() {
    if (!encoding()) return;
    if (!lexed_.problem.empty()) {
      report("screen.unreadable", lexed_.problem_line, "the file holds " + lexed_.problem, "write plain C++");
      return;
    }
    find_own_functions();
    for (at_ = 0; at_ < tokens().size(); ++at_) {
      const Token& token = tokens()[at_];
      if (token.kind == TokenKind::kDirective) directive(token);
      if (token.kind == TokenKind::kIdentifier) identifier(token);
      if (token.kind == TokenKind::kPunctuator) punctuator(token);
    }
    literal_tables();
  }

 private:
  const std::vector<Token>& tokens() const { return lexed_.tokens; }
  const Token& token_at(std::size_t index) const {
    static const Token none;
    return index < tokens().size() ? tokens()[index] : none;
  }
  const Token& next(std::size_t by = 1) const { return token_at(at_ + by); }
  const Token& before(std::size_t by = 1) const {
    return at_ >= by ? tokens()[at_ - by] : token_at(tokens().size());
  }
  bool is(const Token& token, std::string_view text) const {
    return token.kind == TokenKind::kPunctuator && token.text == text;
  }

  void report(std::string code, int line, std::string message, std::string remedy) {
    Finding finding;
    finding.code = std::move(code);
    finding.message = std::move(message);
    finding.remedy = std::move(remedy);
    finding.file = file_.path;
    finding.line = line;
    findings_.push_back(std::move(finding));
  }

  void refuse(const Token& token, const screen_words::Reason& reason) {
    report("screen.forbidden_token", token.line,
           fmt::format("'{}' is not allowed: {}", token.text, reason.why), std::string(reason.remedy));
  }

  bool encoding() {
    int line = 1;
    std::size_t line_start = 0;
    for (std::size_t at = 0; at < file_.text.size();) {
      char32_t point = 0;
      const std::size_t size = decode(file_.text, at, point);
      if (size == 0 || deceptive(point)) {
        report("screen.encoding", line,
               size == 0 ? "the file is not valid UTF-8"
                         : "the file holds an invisible or direction-changing character",
               "use plain ASCII");
        return false;
      }
      at += size;
      if (point == '\n') {
        ++line;
        line_start = at;
      }
      if (at - line_start > kLineMax) {
        report("screen.size", line, fmt::format("a line of more than {} characters", kLineMax), "break it");
        return false;
      }
    }
    return true;
  }

  // A name followed by a parameter list and a body belongs to the candidate, whatever it is called.
  void find_own_functions() {
    for (std::size_t i = 1; i + 1 < tokens().size(); ++i) {
      if (tokens()[i].kind != TokenKind::kIdentifier || !is(token_at(i + 1), "(")) continue;
      const Token& previous = token_at(i - 1);
      const bool typed = previous.kind == TokenKind::kIdentifier
                             ? previous.text != "return" && previous.text != "else"
                             : is(previous, "*") || is(previous, "&") || is(previous, ">");
      if (!typed) continue;
      std::size_t close = matching(i + 1);
      while (token_at(close + 1).kind == TokenKind::kIdentifier) ++close;  // const, noexcept, override
      if (is(token_at(close + 1), "{")) own_functions_.insert(tokens()[i].text);
    }
  }

  // The index of the parenthesis that closes the one at `open`; the last token if none does.
  std::size_t matching(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < tokens().size(); ++i) {
      if (is(tokens()[i], "(")) ++depth;
      if (is(tokens()[i], ")") && --depth == 0) return i;
    }
    return tokens().size();
  }

  void identifier(const Token& token) {
    const std::string_view word = token.text;
    if (const auto found = screen_words::always_refused().find(word);
        found != screen_words::always_refused().end())
      return refuse(token, found->second);
    if (side_ == Side::kKernel) {
      if (const auto found = screen_words::refused_on_device().find(word);
          found != screen_words::refused_on_device().end() && device_word_counts(word))
        return refuse(token, found->second);
    }
    if (const auto found = screen_words::refused_calls().find(word);
        found != screen_words::refused_calls().end() && is_free_call())
      return refuse(token, found->second);
    if (is_internal(word))
      return report("screen.internal", token.line,
                    fmt::format("'{}' reaches into the machinery around the kernel", word),
                    "use the public Ascend C interface");
    if (word.starts_with("__builtin_") && !screen_words::builtins().contains(word))
      return refuse(token, {"this builtin is not part of Ascend C", "use the Ascend C interface"});
    if (word == "__attribute__" || word == "__attribute" || word == "__declspec")
      return attribute_list(token, 1);
    if (word == "goto" && is(next(), "*"))
      return refuse(token, {"a computed jump cannot be followed", "use a loop or switch"});
    if (word == "static") return mutable_static(token);
    if (word == "extern") return external(token);
  }

  // `vector` and `new` are also parts of honest names; only std::vector and the expression count.
  bool device_word_counts(std::string_view word) const {
    if (word == "vector" || word == "unique_ptr" || word == "shared_ptr")
      return is(before(), "::") && before(2).text == "std";
    if (word == "delete") return !is(before(), "=");  // a deleted function is fine
    return word != "malloc" && word != "calloc" && word != "realloc" && word != "alloca" ? true
                                                                                         : is_free_call();
  }

  bool is_free_call() const {
    if (!is(next(), "("))
      return tokens()[at_].text == "thread" && is(before(), "::") && before(2).text == "std";
    if (own_functions_.contains(tokens()[at_].text)) return false;
    const Token& previous = before();
    if (is(previous, ".") || is(previous, "->")) return false;
    if (is(previous, "::")) return before(2).kind != TokenKind::kIdentifier || before(2).text == "std";
    return true;
  }

  bool is_internal(std::string_view word) const {
    for (const std::string_view prefix : {"evk_", "EVK_", "__evk", "twin_", "TWIN_", "__twin", "tw_"}) {
      if (word.starts_with(prefix)) return true;
    }
    if (word != "evk" && word != "twin" && word != "abi") return false;
    return is(next(), "::") || before().text == "namespace";
  }

  // Walks the words between the parentheses or brackets that follow.
  void attribute_list(const Token& at, std::size_t from) {
    int depth = 0;
    for (std::size_t i = at_ + from; i < tokens().size(); ++i) {
      const Token& token = tokens()[i];
      if (is(token, "(") || is(token, "[")) ++depth;
      if (is(token, ")") || is(token, "]")) --depth;
      if (depth <= 0) return;
      if (token.kind == TokenKind::kIdentifier && token.text != "gnu" && token.text != "using" &&
          !screen_words::attributes().contains(token.text) && !own_macros_.contains(token.text)) {
        return report(
            "screen.attribute", at.line,
            fmt::format("attribute '{}' is not allowed: it changes how or when code is placed or run",
                        token.text),
            "remove it");
      }
    }
  }

  void mutable_static(const Token& token) {
    if (before().text == "constexpr" || before().text == "const" || before().text == "consteval") return;
    for (std::size_t i = at_ + 1; i < std::min(at_ + 64, tokens().size()); ++i) {
      const Token& t = tokens()[i];
      if (t.kind == TokenKind::kIdentifier &&
          (t.text == "const" || t.text == "constexpr" || t.text == "consteval"))
        return;
      if (is(t, "(")) return;  // a function
      if (is(t, ";") || is(t, "=") || is(t, "{") || is(t, "[")) break;
    }
    report("screen.mutable_static", token.line,
           "a static variable that is not const keeps state between launches, which a device does not",
           "use a member, a local variable or constexpr");
  }

  void external(const Token& token) {
    const bool linkage = next().kind == TokenKind::kString;
    if (linkage && (next(2).text == "__global__" || next(2).text == "{") && side_ != Side::kHost) return;
    if (!linkage && next().text == "template") return;
    report("screen.forbidden_token", token.line, "'extern' names something outside of the candidate",
           linkage ? "keep extern \"C\" for the kernel's entry" : "define it in the candidate");
  }

  void punctuator(const Token& token) {
    if (token.text == "##" || token.text == "%:%:" || token.text == "%:")
      return report("screen.forbidden_token", token.line, "joining tokens hides what the code says",
                    "write the names out");
    if (token.text == "[" && is(next(), "[")) {
      if (next(2).kind == TokenKind::kIdentifier && !is(before(), ")") &&
          before().kind != TokenKind::kIdentifier && !is(before(), "]"))
        attribute_list(token, 0);
    }
    if (token.text == "&&" && is_label_address())
      report("screen.forbidden_token", token.line, "the address of a label cannot be followed",
             "use a loop or switch");
  }

  // `&&name` where no expression can end before it.
  bool is_label_address() const {
    if (next().kind != TokenKind::kIdentifier) return false;
    const Token& previous = before();
    return is(previous, "=") || is(previous, "(") || is(previous, "{") || is(previous, ",") ||
           (previous.kind == TokenKind::kIdentifier && previous.text == "return");
  }

  std::vector<const Token*> rest_of_directive() const {
    std::vector<const Token*> rest;
    for (std::size_t i = at_ + 1; i < tokens().size() && tokens()[i].directive == tokens()[at_].directive;
         ++i)
      rest.push_back(&tokens()[i]);
    return rest;
  }

  void directive(const Token& token) {
    const std::vector<const Token*> rest = rest_of_directive();
    const std::string& name = token.text;
    if (name == "include") return include(token, rest);
    if (name == "pragma") return pragma(token, rest);
    if (name == "if" || name == "ifdef" || name == "ifndef" || name == "elif") return condition(token, rest);
    if (name == "define") return define(token, rest);
    if (name == "undef") {
      if (rest.empty() || !own_macros_.contains(rest[0]->text))
        report("screen.directive", token.line, "#undef of a macro that the candidate did not define",
               "remove it");
      return;
    }
    if (name.empty() || name == "else" || name == "endif" || name == "error" || name == "warning") return;
    report("screen.directive", token.line, fmt::format("directive #{} is not allowed", name), "remove it");
  }

  void include(const Token& token, const std::vector<const Token*>& rest) {
    if (rest.size() != 1 || rest[0]->kind != TokenKind::kString || rest[0]->text.size() < 3) {
      return report("screen.include", token.line, "an include must name its header in <> or quotes",
                    "write the header's name");
    }
    const std::string header = rest[0]->text.substr(1, rest[0]->text.size() - 2);
    const bool quoted = rest[0]->text.front() == '"';
    if (quoted && names_own_file(header)) return;
    const bool kernel = side_ != Side::kHost && screen_words::kernel_headers().contains(header);
    const bool host = side_ != Side::kKernel && screen_words::host_headers().contains(header);
    if (kernel || host) return;
    report("screen.include", token.line,
           fmt::format("header '{}' is not available {}", header,
                       side_ == Side::kKernel ? "to a kernel" : "to host code"),
           side_ == Side::kKernel
               ? "a kernel includes kernel_operator.h and the candidate's own headers"
               : "host code includes the tiling and registration headers and plain C++ ones");
  }

  bool names_own_file(const std::string& header) const {
    const std::filesystem::path own = std::filesystem::path(file_.path).parent_path() / header;
    return own_files_.contains(own.lexically_normal().string());
  }

  void pragma(const Token& token, const std::vector<const Token*>& rest) {
    if (!rest.empty() && (rest[0]->text == "unroll" || rest[0]->text == "once")) return;
    report("screen.directive", token.line, "only #pragma unroll and #pragma once are allowed", "remove it");
  }

  void condition(const Token& token, const std::vector<const Token*>& rest) {
    for (const Token* word : rest) {
      if (word->kind != TokenKind::kIdentifier || own_macros_.contains(word->text) ||
          screen_words::condition_macros().contains(word->text))
        continue;
      return report(
          "screen.conditional", token.line,
          fmt::format("compiling by '{}' could make code that only the simulation sees", word->text),
          "compile the same code everywhere");
    }
  }

  void define(const Token& token, const std::vector<const Token*>& rest) {
    if (rest.empty() || !screen_words::keywords().contains(rest[0]->text)) return;
    report("screen.directive", token.line, fmt::format("'{}' may not be redefined", rest[0]->text),
           "choose another name");
  }

  // Tables of answers look like this; so does no honest kernel.
  void literal_tables() {
    std::vector<std::size_t> numbers;
    for (const Token& token : tokens()) {
      if (is(token, "{")) numbers.push_back(0);
      if (is(token, "}") && !numbers.empty()) numbers.pop_back();
      if (token.kind != TokenKind::kNumber || numbers.empty()) continue;
      if (++numbers.back() == limits_.literals_max + 1) {
        report("screen.literal_table", token.line,
               fmt::format("a list of more than {} numbers", limits_.literals_max), "compute the values");
      }
    }
  }

  const SourceFile& file_;
  const Side side_;
  const std::set<std::string>& own_macros_;
  const std::set<std::string>& own_files_;
  const ScreenLimits& limits_;
  std::vector<Finding>& findings_;
  const Lexed lexed_;
  std::set<std::string> own_functions_;
  std::size_t at_ = 0;
};

struct Census {
  bool entry = false;
  std::size_t transfers = 0, computations = 0;
};

void count(const std::vector<Token>& tokens, Census& census) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.kind != TokenKind::kIdentifier) continue;
    census.entry = census.entry || token.text == "__global__";
    const bool called = i + 1 < tokens.size() && (tokens[i + 1].text == "(" || tokens[i + 1].text == "<");
    if (!called) continue;
    census.transfers += screen_words::transfers().contains(token.text) ? 1 : 0;
    census.computations += screen_words::computations().contains(token.text) ? 1 : 0;
  }
}

Finding whole(std::string code, std::string message, std::string remedy, std::string file = {}) {
  Finding finding;
  finding.code = std::move(code);
  finding.message = std::move(message);
  finding.remedy = std::move(remedy);
  finding.file = std::move(file);
  return finding;
}

void screen_set(const Candidate& candidate, const ScreenLimits& limits, std::vector<Finding>& findings) {
  std::size_t bytes = 0;
  std::set<std::string> seen;
  for (const SourceFile& file : candidate.files) {
    bytes += file.text.size();
    if (!plain_path(file.path) || !known_place(file.path)) {
      findings.push_back(whole("screen.path", "a file may not lie at this path",
                               "use op_host/ and op_kernel/ with .cpp and .h files, or one .asc file",
                               plain_path(file.path) ? file.path : ""));
    } else if (!seen.insert(file.path).second) {
      findings.push_back(whole("screen.path", "two files have the same path", "keep one", file.path));
    }
  }
  if (candidate.files.size() > limits.files_max || bytes > limits.bytes_max) {
    findings.push_back(whole("screen.size",
                             fmt::format("{} files of {} bytes; at most {} files of {} bytes are read",
                                         candidate.files.size(), bytes, limits.files_max, limits.bytes_max),
                             "shorten the candidate"));
  }
}

std::set<std::string> macros_of(const std::vector<std::vector<Token>>& files) {
  std::set<std::string> macros;
  for (const std::vector<Token>& tokens : files) {
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (tokens[i].kind == TokenKind::kDirective && tokens[i].text == "define" &&
          tokens[i + 1].directive == tokens[i].directive)
        macros.insert(tokens[i + 1].text);
    }
  }
  return macros;
}

void screen_contents(const Task& task, const Census& census, std::vector<Finding>& findings) {
  if (!census.entry)
    findings.push_back(whole("screen.no_entry", "no kernel entry: nothing is declared __global__ __aicore__",
                             "define extern \"C\" __global__ __aicore__ void name(GM_ADDR ...)"));
  if (census.transfers == 0)
    findings.push_back(whole("screen.no_transfer",
                             "the kernel moves no data between global memory and the core",
                             "load with DataCopy or DataCopyPad, store likewise"));
  if (census.computations == 0 && task.tolerance.op_class != "copy")
    findings.push_back(whole("screen.no_compute", "the kernel calls no computing instruction",
                             "compute with the Ascend C interface"));
}

}  // namespace

std::vector<Finding> screen(const Task& task, const Candidate& candidate, const ScreenLimits& limits) {
  std::vector<Finding> findings;
  screen_set(candidate, limits, findings);
  if (!findings.empty() || candidate.files.empty()) return findings;
  std::set<std::string> paths;
  std::vector<std::vector<Token>> tokens;
  Census census;
  bool kernel = false;
  for (const SourceFile& file : candidate.files) {
    paths.insert(file.path);
    tokens.push_back(lex(file.text).tokens);
    if (side_of(file.path) == Side::kHost) continue;
    kernel = true;
    count(tokens.back(), census);
  }
  const std::set<std::string> macros = macros_of(tokens);
  for (const SourceFile& file : candidate.files) FileScreen(file, macros, paths, limits, findings).run();
  // A missing kernel file is told by the compile gate, which knows the layout.
  if (kernel && findings.empty()) screen_contents(task, census, findings);
  if (findings.size() > kFindingsMax) findings.resize(kFindingsMax);
  return findings;
}

}  // namespace evk
