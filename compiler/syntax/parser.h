// Text to syntax tree.
#pragma once

#include <string>

#include "compiler/ast/ast.h"
#include "compiler/diagnostics/engine.h"

namespace loop::syntax {

/// Parses one text. Reports syntax errors (several per file, `L0xx`) to `engine` and returns what could be
/// read: items in which an error stands are left out, the rest is usable. Never throws on user input and
/// never recurses deeper than base::kMaxNesting. `had_errors` tells whether this text had any.
struct ParseResult {
  ast::File file;
  bool had_errors = false;
};
ParseResult parse(const base::SourceManager& sources, base::FileId file, diagnostics::Engine& engine);

/// Parses a single expression (used for `--set key=value`). Null when there were errors.
ast::ExprPtr parse_expression(const base::SourceManager& sources, base::FileId file,
                              diagnostics::Engine& engine);

}  // namespace loop::syntax
