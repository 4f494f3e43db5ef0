// The difference of two texts as lines, in the form `patch` reads.
#pragma once

#include <string>
#include <string_view>

namespace loop::driver {

/// Unified format with three lines of context; empty when the texts are equal. `from` and `to` name the texts
/// in its head.
std::string unified_diff(std::string_view old_text, std::string_view new_text, const std::string& from,
                         const std::string& to);

}  // namespace loop::driver
