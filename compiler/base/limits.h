// Limits of the front end. Each is reported as a diagnostic, never as a crash.
#pragma once

#include <cstddef>

namespace loop::base {

inline constexpr size_t kMaxNesting = 256;                 // brackets, braces and parentheses open at once
inline constexpr size_t kMaxExpressionDepth = 1024;         // height of one expression's tree; a chain a + b + c … counts one per operator
inline constexpr size_t kMaxFileBytes = 4U * 1024 * 1024;  // one source text
inline constexpr size_t kMaxImports = 1000;                // files a spec may bring in
inline constexpr size_t kMaxSyntaxErrorsPerFile = 50;      // then parsing of that file stops

}  // namespace loop::base
