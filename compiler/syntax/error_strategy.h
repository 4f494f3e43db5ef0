// How the parser reports and survives a statement it cannot read.
#pragma once

#include <memory>

#include "compiler/syntax/findings.h"
#include "compiler/syntax/tree_builder.h"

namespace antlr4 {
class ANTLRErrorStrategy;
}

namespace loop::syntax {

/// Before: a statement with an error. After: one finding (none when the place was marked before), the
/// statement's parse tree carries an exception, its blocks have been read for further errors, and the parser
/// stands at the separator or `}` that ends it.
std::shared_ptr<antlr4::ANTLRErrorStrategy> make_error_strategy(const ParsedText& parsed, Findings& findings);

}  // namespace loop::syntax
