// Decides which newlines end a statement, and how deep a text nests.
#pragma once

#include <cstddef>

#include "compiler/syntax/token.h"

namespace loop::syntax {

/// Before: tokens with comments, newlines and `;`, brackets paired. After: no comments; one `separator`
/// between two statements, at the place of the newline or `;` that ends the first. A newline does not count
///   - inside parentheses and brackets,
///   - after `=`, `<-`, `,`, `:`, a binary operator, `if`, `then`, `else`, `not`,
///   - before `else`, `then`, `{`, or a binary operator.
/// After an operator it counts all the same when the next line plainly starts a statement (`name =`), after
/// `=` also before `name {`: the value is then missing, and the error is said there.
Tokens separate_statements(const Tokens& tokens);

/// The first token at which brackets, `if`s and prefix operators together nest more than `limit` deep;
/// `tokens.size()` when they do not. Takes the tokens of separate_statements.
size_t first_too_deep(const Tokens& tokens, size_t limit);

}  // namespace loop::syntax
