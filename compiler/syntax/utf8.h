// UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace loop::syntax {

/// The offset of the first byte that is not part of a valid sequence; nothing when the text is valid.
std::optional<size_t> first_invalid_utf8(std::string_view text);

/// Appends a code point; false when it is none (a surrogate or above U+10FFFF).
bool append_utf8(std::string& out, unsigned long code_point);

}  // namespace loop::syntax
