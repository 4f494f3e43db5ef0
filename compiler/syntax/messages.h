// What is said about a place the grammar does not accept.
#pragma once

#include <optional>
#include <set>

#include "compiler/syntax/findings.h"
#include "compiler/syntax/tree_builder.h"

namespace loop::syntax {

/// What the statement before an unexpected token looks like.
enum class StatementForm {
  none,      // there is none: the token stands where a statement starts
  bare,      // only names: `window`
  assigned,  // has a value
  other,
};

/// The kind and place of the statement's part in which the parser stopped.
enum class Part { other, use, per, args, list };

/// `at` is the index of the token that was not accepted, `tokens.size()` at the end of the file; `accepted`
/// what the grammar takes there.
Finding unexpected_in_statement(const ParsedText& parsed, size_t at, Part part,
                                const std::set<TokenKind>& accepted);

/// A token where a statement should start (`none`) or end.
Finding unexpected_after_statement(const ParsedText& parsed, size_t at, StatementForm before);

}  // namespace loop::syntax
