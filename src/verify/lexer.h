// C++ tokens of a candidate's file, as far as rules about it need them: comments and literals are told apart
// from code, line splices are undone, directives are recognised. No preprocessing takes place.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace evk {

enum class TokenKind { kIdentifier, kNumber, kString, kCharacter, kPunctuator, kDirective };

struct Token {
  TokenKind kind = TokenKind::kPunctuator;
  std::string text;  // of a directive: its name ("include"), "" for a lone '#'; of a literal: as written
  int line = 0;
  int directive = 0;  // number of the directive whose line it stands on, from 1; 0 outside of directives
};

struct Lexed {
  std::vector<Token> tokens;
  // Not empty: the file ends within a comment or literal, or holds what no C++ file does; says what and
  // where.
  std::string problem;
  int problem_line = 0;
};

Lexed lex(std::string_view text);

}  // namespace evk
