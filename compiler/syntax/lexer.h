// Text to tokens.
#pragma once

#include <string_view>

#include "compiler/syntax/token.h"

namespace loop::syntax {

/// All tokens of the text, comments and newlines included, blanks left out, without an end-of-file token.
/// What is not a token of the language comes as `unclosed_string`, `single_quoted`, `bad_number` or
/// `bad_character` (one per run of bytes).
Tokens tokenize(std::string_view text);

}  // namespace loop::syntax
