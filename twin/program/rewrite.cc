#include "twin/program/rewrite.h"

#include <cctype>
#include <map>
#include <vector>

namespace evk::twin {
namespace {

// What matters for finding launches: words, and single characters of punctuation. Literals are one token of
// kind 'x'.
struct Token {
  std::size_t begin = 0, end = 0;
  char kind = ' ';  // 'w' a word or number, 'x' a literal, else the character itself
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  std::vector<Token> run() {
    while (at_ < text_.size()) step();
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void add(std::size_t begin, char kind) { tokens_.push_back({begin, at_, kind}); }

  void step() {
    const std::size_t begin = at_;
    const char c = peek();
    if (c == '/' && peek(1) == '/') return skip_to("\n");
    if (c == '/' && peek(1) == '*') return at_ += 2, skip_to("*/");
    if (c == '"' || c == '\'') return literal(c), add(begin, 'x');
    if (is_word(c)) return word();
    ++at_;
    if (!std::isspace(static_cast<unsigned char>(c)) && c != '\\') add(begin, c);
  }

  void skip_to(std::string_view end) {
    const auto found = text_.find(end, at_);
    at_ = found == std::string_view::npos ? text_.size() : found + end.size();
  }

  void literal(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_)
      if (text_[at_] == '\\') ++at_;
    at_ = at_ < text_.size() ? at_ + 1 : text_.size();
  }

  // R"delimiter( ... )delimiter"
  void raw_literal() {
    const auto open = text_.find('(', at_);
    if (open == std::string_view::npos) {
      at_ = text_.size();
      return;
    }
    const std::string end = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    at_ = open;
    skip_to(end);
  }

  // Digit separators belong to numbers; an R before a quote begins a raw literal.
  void word() {
    const std::size_t begin = at_;
    const bool number = std::isdigit(static_cast<unsigned char>(peek()));
    while (is_word(peek()) || (number && peek() == '\'' && is_word(peek(1)))) ++at_;
    if (peek() == '"' && text_[at_ - 1] == 'R') return raw_literal(), add(begin, 'x');
    add(begin, 'w');
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
};

class Rewriter {
 public:
  explicit Rewriter(std::string_view text) : text_(text), tokens_(Lexer(text).run()) {}

  std::string run() {
    find_kinds();
    for (std::size_t i = 0; i + 2 < tokens_.size(); ++i) {
      if (!triple(i, '<')) continue;
      const std::size_t close = end_of_configuration(i + 3), callee = start_of_callee(i);
      if (close == kNone || callee == kNone) continue;
      replace(callee, i, close);
      i = close + 2;
    }
    return made_ + std::string(text_.substr(copied_));
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  char kind(std::size_t i) const { return i < tokens_.size() ? tokens_[i].kind : ' '; }
  bool adjacent(std::size_t i) const { return tokens_[i].end == tokens_[i + 1].begin; }
  bool triple(std::size_t i, char c) const {
    return kind(i) == c && kind(i + 1) == c && kind(i + 2) == c && adjacent(i) && adjacent(i + 1);
  }
  std::string_view between(std::size_t first, std::size_t last) const {
    return text_.substr(tokens_[first].begin, tokens_[last].end - tokens_[first].begin);
  }

  // What `__cube__`, `__vector__` and `__mix__(1, 2)` say of the functions that they stand before, as the
  // number of the launch's kind.
  void find_kinds() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (kind(i) != 'w') continue;
      const std::string_view word = between(i, i);
      int said = word == "__cube__" ? 1 : word == "__vector__" ? 0 : -1;
      if (word == "__mix__" && i + 5 < tokens_.size() && kind(i + 1) == '(' && kind(i + 3) == ',')
        said = kind_of_mix(between(i + 2, i + 2), between(i + 4, i + 4));
      const std::size_t name = said < 0 ? kNone : name_after(i + 1);
      if (name != kNone) kinds_[std::string(between(name, name))] = said;
    }
  }
  static int kind_of_mix(std::string_view cubes, std::string_view vectors) {
    if (cubes == "1") return vectors == "2" ? 5 : vectors == "1" ? 4 : 3;
    return 2;
  }
  // The word before the first bracket that is not an attribute's.
  std::size_t name_after(std::size_t i) const {
    for (; i + 1 < tokens_.size(); ++i) {
      if (kind(i) == ';' || kind(i) == '{') return kNone;
      if (kind(i) == 'w' && kind(i + 1) == '(' && !between(i, i).starts_with("__")) return i;
    }
    return kNone;
  }
  std::string template_argument(std::string_view callee) const {
    const std::string_view name = callee.substr(0, callee.find_first_of("< \t\n"));
    const auto colon = name.rfind(':');
    const auto found =
        kinds_.find(std::string(colon == std::string_view::npos ? name : name.substr(colon + 1)));
    return found == kinds_.end() ? "" : "<" + std::to_string(found->second) + ">";
  }

  // The first '>' of the >>> that is outside of all brackets and followed by the arguments.
  std::size_t end_of_configuration(std::size_t i) const {
    int depth = 0;
    for (; i + 3 < tokens_.size(); ++i) {
      const char c = kind(i);
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      if (depth < 0 || (depth == 0 && c == ';')) return kNone;
      if (depth == 0 && triple(i, '>') && kind(i + 3) == '(') return i;
    }
    return kNone;
  }

  // Walks back over template arguments and qualifiers: `ns::K<T, 4>`.
  std::size_t start_of_callee(std::size_t open) const {
    if (open == 0) return kNone;
    std::size_t i = open - 1;
    if (kind(i) == '>') {
      int depth = 0;
      for (;; --i) {
        if (kind(i) == '>') ++depth;
        if (kind(i) == '<' && --depth == 0) break;
        if (i == 0 || kind(i) == ';') return kNone;
      }
      if (i-- == 0) return kNone;
    }
    if (kind(i) != 'w' || between(i, i) == "operator") return kNone;
    while (i >= 3 && kind(i - 1) == ':' && kind(i - 2) == ':' && kind(i - 3) == 'w') i -= 3;
    if (i >= 2 && kind(i - 1) == ':' && kind(i - 2) == ':') i -= 2;
    return i;
  }

  void replace(std::size_t callee, std::size_t open, std::size_t close) {
    made_ += text_.substr(copied_, tokens_[callee].begin - copied_);
    made_ += "::npu::configure" + template_argument(between(callee, open - 1)) + "(";
    // White space and comments before and in the configuration stay, and with them the lines.
    made_ += text_.substr(tokens_[open - 1].end, tokens_[open].begin - tokens_[open - 1].end);
    made_ += text_.substr(tokens_[open + 2].end, tokens_[close].begin - tokens_[open + 2].end);
    made_ += ").run([&](auto... evk_a) { ";
    made_ += between(callee, open - 1);
    made_ += "(evk_a...); })";
    copied_ = tokens_[close + 2].end;
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::string made_;
  std::size_t copied_ = 0;
  std::map<std::string, int> kinds_;
};

}  // namespace

std::string rewrite_launches(std::string_view text) { return Rewriter(text).run(); }

}  // namespace evk::twin
