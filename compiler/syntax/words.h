// Checks the tokens one by one: strings, numbers, characters.
#pragma once

#include <string_view>

#include "compiler/base/source.h"
#include "compiler/syntax/findings.h"
#include "compiler/syntax/token.h"

namespace loop::syntax {

/// Reports L006 to L009, one per line at most, and marks the places. Afterwards every token is one the
/// grammar knows: a malformed string or number has become a `string` or `number`, a foreign character is
/// gone.
void check_words(std::string_view text, base::FileId file, Tokens& tokens, Findings& findings);

}  // namespace loop::syntax
