// What numbers and strings stand for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loop::syntax {

/// The value of `1_000`, `2e-3`, `0.5`; nothing when it does not fit a double (overflow to infinity, or a
/// non-zero number that becomes zero).
std::optional<double> number_value(std::string_view spelling);

/// An escape that means nothing, as bytes [begin, end) of the literal, quotes counted.
struct BadEscape {
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// The text of a literal `"…"`: `\n \t \r \" \\` and `\u{hex}` are resolved. With a bad escape `bad` names
/// the first one.
struct TextValue {
  std::string value;
  std::optional<BadEscape> bad;
};
TextValue text_value(std::string_view literal);

}  // namespace loop::syntax
