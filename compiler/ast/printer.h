// The tree as text, for tests and for looking at: compact s-expressions, one top-level item a line, without
// places.
#pragma once

#include <ostream>
#include <string>

#include "compiler/ast/ast.h"

namespace loop::ast {

/// `window { size = 4 micro_batches }` is `(window {(size = 4 micro_batches)})`; operators are in prefix
/// form: `a + b * c` is `(+ a (* b c))`. Two files print alike exactly when their trees are equal but for
/// places and comments.
void print(std::ostream& out, const File& file);
void print(std::ostream& out, const Item& item);
void print(std::ostream& out, const Expr& expr);
std::string to_string(const File& file);
std::string to_string(const Expr& expr);

}  // namespace loop::ast
