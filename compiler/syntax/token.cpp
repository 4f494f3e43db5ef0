#include "compiler/syntax/token.h"

namespace loop::syntax {

bool is_word(TokenKind kind) {
  return kind == TokenKind::name || (kind >= TokenKind::use_word && kind <= TokenKind::in_word);
}

bool is_binary_operator(TokenKind kind) {
  return kind == TokenKind::and_word || kind == TokenKind::or_word ||
         (kind >= TokenKind::right_arrow && kind <= TokenKind::not_equal);
}

bool is_opener(TokenKind kind) {
  return kind == TokenKind::left_brace || kind == TokenKind::left_paren || kind == TokenKind::left_bracket;
}

bool is_closer(TokenKind kind) {
  return kind == TokenKind::right_brace || kind == TokenKind::right_paren || kind == TokenKind::right_bracket;
}

bool ends_value(TokenKind kind) {
  switch (kind) {
    case TokenKind::percent:
    case TokenKind::number:
    case TokenKind::string:
    case TokenKind::right_paren:
    case TokenKind::right_bracket:
      return true;
    default:
      return is_word(kind);
  }
}

std::string_view partner(TokenKind kind) {
  switch (kind) {
    case TokenKind::left_brace:
      return "}";
    case TokenKind::left_paren:
      return ")";
    case TokenKind::left_bracket:
      return "]";
    case TokenKind::right_brace:
      return "{";
    case TokenKind::right_paren:
      return "(";
    case TokenKind::right_bracket:
      return "[";
    default:
      return "";
  }
}

}  // namespace loop::syntax
