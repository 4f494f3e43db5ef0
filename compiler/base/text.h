// Small text helpers shared by the compiler's folders.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loop::base {

/// Optimal-string-alignment distance (insertions, deletions, substitutions, neighbours exchanged).
size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate a user most likely meant, or nothing when none is near enough (distance at most 1 +
/// length/4).
std::optional<std::string> nearest(std::string_view written, const std::vector<std::string>& candidates);

/// "a", "a or b", "a, b or c".
std::string enumerate(const std::vector<std::string>& words, std::string_view last_separator = " or ");

}  // namespace loop::base
