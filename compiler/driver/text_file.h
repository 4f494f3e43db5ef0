// Reading and replacing text files, with errors a user can act on.
#pragma once

#include <string>

#include "compiler/driver/context.h"

namespace loop::driver {

/// The path that means standard input, and what it is called in messages.
inline constexpr const char* kStandardInput = "-";
inline constexpr const char* kStandardInputName = "<stdin>";

/// The bytes of a spec; `-` reads `in`. Reads at most one byte more than a spec may have, enough to report it
/// as too long. Throws UsageError for what is missing, a folder, unreadable, or does not end.
std::string read_spec(const std::string& path, std::istream& in);

/// The whole file. Throws UsageError.
std::string read_file(const std::string& path);

/// Replaces the file's text at once: whoever reads it sees the old or the new text, and a failure leaves the
/// old one. Permissions are kept, a symbolic link stays one. Throws UsageError.
void replace_file(const std::string& path, const std::string& text);

}  // namespace loop::driver
