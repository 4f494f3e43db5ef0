#include "compiler/syntax/spacing.h"

namespace loop::syntax {
namespace {

bool sets_value(TokenKind kind) {
  return kind == TokenKind::assign || kind == TokenKind::left_arrow;
}

}  // namespace

Role role_of(TokenKind kind, PlacedToken before, TokenKind after) {
  const bool value_before = ends_value(before.kind) && before.role != Role::keyword;
  if (kind == TokenKind::minus) return value_before ? Role::plain : Role::prefix;
  if (kind == TokenKind::name) return Role::name;
  if (!is_word(kind)) return Role::plain;
  if (before.kind == TokenKind::separator) {
    const bool opens_statement = kind == TokenKind::use_word || kind == TokenKind::when_word;
    return opens_statement && !sets_value(after) ? Role::keyword : Role::name;
  }
  return value_before ? Role::keyword : Role::name;
}

bool blank_between(PlacedToken left, PlacedToken right) {
  switch (right.kind) {
    case TokenKind::right_paren:
    case TokenKind::right_bracket:
    case TokenKind::comma:
    case TokenKind::colon:
    case TokenKind::semicolon:
      return false;
    case TokenKind::dot:
      return left.role == Role::keyword;  // `use .shared`
    case TokenKind::right_brace:
      return left.kind != TokenKind::left_brace;
    default:
      break;
  }
  switch (left.kind) {
    case TokenKind::left_paren:
    case TokenKind::left_bracket:
    case TokenKind::dot:
      return false;
    default:
      break;
  }
  if (left.role == Role::prefix) return false;
  return right.kind != TokenKind::left_paren || left.role != Role::name;
}

}  // namespace loop::syntax
