// Pairs the brackets of a text before it is parsed, so that a missing or superfluous one is reported once, at
// the place where a person would look for it, and the parser only ever sees balanced braces.
#pragma once

#include <string_view>

#include "compiler/base/source.h"
#include "compiler/syntax/findings.h"
#include "compiler/syntax/token.h"

namespace loop::syntax {

/// Before: tokens as written. After: every `{` has its `}` (missing ones are inserted, empty, where the
/// indentation says they belong; superfluous ones become separators); a `(` or `[` without partner is flagged
/// `unmatched`. Intervals such as `in [0, 1)` may mix their brackets. Reports L003, L004, L005, and L010 for
/// more than base::kMaxNesting open brackets: then the result is false and the tokens are not fit for
/// parsing.
bool pair_brackets(std::string_view text, base::FileId file, Tokens& tokens, Findings& findings);

}  // namespace loop::syntax
