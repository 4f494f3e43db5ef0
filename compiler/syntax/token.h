// The words and marks of a text, as plain values: what the folder's stages before and beside the parser work
// on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/source.h"

namespace loop::syntax {

/// The numbers are those of grammar/LoopLexer.g4 (lexer.cpp asserts it).
enum class TokenKind : uint8_t {
  end_of_file = 0,
  separator,
  use_word,
  when_word,
  on_word,
  every_word,
  per_word,
  extends_word,
  in_word,
  if_word,
  then_word,
  else_word,
  and_word,
  or_word,
  not_word,
  left_brace,
  right_brace,
  left_paren,
  right_paren,
  left_bracket,
  right_bracket,
  comma,
  colon,
  semicolon,
  dot,
  assign,
  left_arrow,
  right_arrow,
  plus,
  minus,
  star,
  slash,
  caret,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  percent,
  number,
  name,
  string,
  comment,
  newline,
  blank,
  unclosed_string,
  single_quoted,
  bad_number,
  bad_character,
};

/// Bytes [begin, end) of the text.
struct Token {
  TokenKind kind = TokenKind::end_of_file;
  bool unmatched = false;  // a bracket without its partner: it opens no level
  uint32_t begin = 0;
  uint32_t end = 0;
};

using Tokens = std::vector<Token>;

/// `use when on every per extends in` and plain names: what may stand where a name is wanted.
bool is_word(TokenKind kind);
/// `+ - * / ^ and or == …` and `->`
bool is_binary_operator(TokenKind kind);
/// `(`, `[` and `{`
bool is_opener(TokenKind kind);
/// `)`, `]` and `}`
bool is_closer(TokenKind kind);
/// A value may end with this token: names, literals, `)` and `]`.
bool ends_value(TokenKind kind);
/// The partner of a bracket, as text: "}" for `{`.
std::string_view partner(TokenKind kind);

}  // namespace loop::syntax
