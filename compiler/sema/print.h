// Syntax trees back to text: for the resolved spec that is saved beside a run, and for messages.
#pragma once

#include <string>

#include "compiler/ast/ast.h"

namespace loop::sema {

std::string to_text(const ast::Expr& expr);
/// One statement per line, nested blocks indented by two spaces more than `indent`.
std::string to_text(const std::vector<ast::ItemPtr>& items, int indent);
std::string to_text(const ast::Item& item, int indent);

}  // namespace loop::sema
