// The formatter behind `loopc fmt`.
#pragma once

#include <string>

#include "compiler/ast/ast.h"

namespace loop::syntax {

/// The canonical text of a parsed file: two-space indent, aligned `=` within runs of adjacent one-line
/// assignments, at most one blank line, comments kept at their places. Idempotent: format(parse(format(f)))
/// == format(f). Call it only for a file that parsed without errors.
std::string format(const base::SourceManager& sources, const ast::File& file);

}  // namespace loop::syntax
