#include "verify/lexer.h"

#include <array>
#include <cctype>

namespace evk {
namespace {

bool starts_identifier(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}
bool continues_identifier(char c) {
  return starts_identifier(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

constexpr std::array<std::string_view, 25> kLongPunctuators = {
    "%:%:", "...", "<<=", ">>=", "->*", "<=>", "##", "::", "->", "++", "--", "<<", ">>",
    "<=",   ">=",  "==",  "!=",  "&&",  "||",  "+=", "-=", "*=", "/=", "%:", ".*"};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) { undo_splices(); }

  Lexed run() {
    while (at_ < text_.size() && out_.problem.empty()) step();
    return std::move(out_);
  }

 private:
  // A backslash before the end of a line joins it with the next, wherever it stands but in a raw string.
  void undo_splices() {
    int line = 1;
    for (std::size_t i = 0; i < source_.size(); ++i) {
      std::size_t end = i + 1;
      if (source_[i] == '\\') {
        while (end < source_.size() && (source_[end] == ' ' || source_[end] == '\t' || source_[end] == '\r'))
          ++end;
        if (end < source_.size() && source_[end] == '\n') {
          ++line;
          i = end;
          continue;
        }
      }
      text_.push_back(source_[i]);
      line_.push_back(line);
      origin_.push_back(i);
      if (source_[i] == '\n') ++line;
    }
  }

  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool sees(std::string_view word) const { return std::string_view(text_).substr(at_, word.size()) == word; }
  int line() const { return at_ < line_.size() ? line_[at_] : line_.empty() ? 1 : line_.back(); }

  void fail(std::string problem, int where) {
    out_.problem = std::move(problem);
    out_.problem_line = where;
  }

  void push(TokenKind kind, std::size_t from) {
    out_.tokens.push_back({kind, text_.substr(from, at_ - from), line_[from], directive_});
    line_start_ = false;
  }

  void step() {
    const char c = peek();
    if (c == '\n') {
      line_start_ = true;
      directive_ = 0;
      include_next_ = false;
      ++at_;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at_;
    } else if (sees("//")) {
      while (at_ < text_.size() && peek() != '\n') ++at_;
    } else if (sees("/*")) {
      block_comment();
    } else if (line_start_ && (c == '#' || sees("%:"))) {
      directive();
    } else if (include_next_ && c == '<') {
      header_name();
    } else if (starts_identifier(c)) {
      identifier();
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0 ||
               (c == '.' && std::isdigit(static_cast<unsigned char>(peek(1))) != 0)) {
      number();
    } else if (c == '"' || c == '\'') {
      literal(at_, c);
    } else if (static_cast<unsigned char>(c) >= 0x80 || c == '\\' || c == '`' || c == '@') {
      fail("a character that no C++ token starts with", line());
    } else {
      punctuator();
    }
  }

  void block_comment() {
    const int where = line();
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == std::string::npos) return fail("a comment that does not end", where);
    at_ = end + 2;
  }

  void directive() {
    directive_ = ++directives_;
    const int where = line();
    at_ += peek() == '#' ? 1 : 2;
    while (peek() == ' ' || peek() == '\t') ++at_;
    const std::size_t from = at_;
    while (continues_identifier(peek())) ++at_;
    const std::string name = text_.substr(from, at_ - from);
    out_.tokens.push_back({TokenKind::kDirective, name, where, directive_});
    line_start_ = false;
    include_next_ = name == "include" || name == "include_next" || name == "import" || name == "embed";
  }

  void header_name() {
    const std::size_t from = at_;
    while (at_ < text_.size() && peek() != '>' && peek() != '\n') ++at_;
    if (peek() != '>') return fail("a header name that does not end", line_[from]);
    ++at_;
    push(TokenKind::kString, from);
  }

  void identifier() {
    const std::size_t from = at_;
    while (continues_identifier(peek())) ++at_;
    const std::string_view name = std::string_view(text_).substr(from, at_ - from);
    const bool prefix = name == "R" || name == "LR" || name == "uR" || name == "UR" || name == "u8R";
    if (peek() == '"' && prefix) return raw_string(from);
    const bool encoding = name == "L" || name == "u" || name == "U" || name == "u8";
    if (encoding && (peek() == '"' || peek() == '\'')) return literal(from, peek());
    push(TokenKind::kIdentifier, from);
  }

  void number() {
    const std::size_t from = at_;
    while (continues_identifier(peek()) || peek() == '.' ||
           (peek() == '\'' && continues_identifier(peek(1))) ||
           ((peek() == '+' || peek() == '-') &&
            std::string_view("eEpP").find(text_[at_ - 1]) != std::string_view::npos)) {
      ++at_;
    }
    push(TokenKind::kNumber, from);
  }

  void literal(std::size_t from, char quote) {
    const int where = line();
    ++at_;
    while (at_ < text_.size() && peek() != quote && peek() != '\n') at_ += peek() == '\\' ? 2 : 1;
    if (peek() != quote) return fail("a literal that does not end on its line", where);
    ++at_;
    push(quote == '"' ? TokenKind::kString : TokenKind::kCharacter, from);
  }

  // R"name( ... )name": splices within it are text, so its end is sought in the source as written.
  void raw_string(std::size_t from) {
    const int where = line();
    const std::size_t open = origin_[at_] + 1, paren = source_.find('(', open);
    if (paren == std::string_view::npos || paren - open > 16)
      return fail("a raw string without a proper beginning", where);
    const std::string close = ")" + std::string(source_.substr(open, paren - open)) + "\"";
    const std::size_t end = source_.find(close, paren);
    if (end == std::string_view::npos) return fail("a raw string that does not end", where);
    while (at_ < text_.size() && origin_[at_] < end + close.size()) ++at_;
    out_.tokens.push_back({TokenKind::kString,
                           std::string(source_.substr(origin_[from], end + close.size() - origin_[from])),
                           where, directive_});
    line_start_ = false;
  }

  void punctuator() {
    const std::size_t from = at_;
    for (const std::string_view word : kLongPunctuators) {
      if (!sees(word)) continue;
      at_ += word.size();
      return push(TokenKind::kPunctuator, from);
    }
    ++at_;
    push(TokenKind::kPunctuator, from);
  }

  std::string_view source_;
  std::string text_;
  std::vector<int> line_;
  std::vector<std::size_t> origin_;
  std::size_t at_ = 0;
  bool line_start_ = true, include_next_ = false;
  int directive_ = 0, directives_ = 0;
  Lexed out_;
};

}  // namespace

Lexed lex(std::string_view text) { return Lexer(text).run(); }

}  // namespace evk
