// Parse tree to syntax tree.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/syntax/findings.h"
#include "compiler/syntax/token.h"

namespace antlr4 {
class ParserRuleContext;
}

namespace loop::syntax {

/// What the parse tree was made from. `tokens` are those the parser read; a parse-tree token's index is its
/// place in them.
struct ParsedText {
  std::string_view text;
  base::FileId file;
  const Tokens& tokens;
};

/// The items of the grammar's rule `file`. Items that did not parse, and items with a marked place outside
/// their blocks, are left out. Reports what the grammar does not say: L001 and L002 in argument lists, L014,
/// L015; such items are left out too.
std::vector<ast::ItemPtr> build_items(const ParsedText& parsed, antlr4::ParserRuleContext* file_rule,
                                      Findings& findings);

/// The value of the grammar's rule `expression`, which parsed without error. Null when something was reported
/// or marked.
ast::ExprPtr build_expression(const ParsedText& parsed, antlr4::ParserRuleContext* expression_rule,
                              Findings& findings);

}  // namespace loop::syntax
