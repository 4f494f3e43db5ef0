// Blanks between two tokens of one line.
#pragma once

#include "compiler/syntax/token.h"

namespace loop::syntax {

/// The part a token plays, as far as blanks depend on it.
enum class Role {
  plain,
  name,     // a word used as a name, a call's included
  keyword,  // `on`, `when`, `in` … used as such
  prefix,   // a `-` before its operand
};

struct PlacedToken {
  TokenKind kind = TokenKind::separator;
  Role role = Role::plain;
};

/// The role of a token: `before` precedes it in its statement (kind `separator` at the statement's start),
/// `after` follows it.
Role role_of(TokenKind kind, PlacedToken before, TokenKind after);

/// Whether a blank stands between two neighbours on a line.
bool blank_between(PlacedToken left, PlacedToken right);

}  // namespace loop::syntax
