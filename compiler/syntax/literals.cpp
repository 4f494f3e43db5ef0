#include "compiler/syntax/literals.h"

#include <charconv>

#include "compiler/syntax/utf8.h"

namespace loop::syntax {
namespace {

/// Reads `{hex}` at `at`; the length read, 0 when it is not a code point.
size_t read_code_point(std::string_view text, size_t at, std::string& out) {
  if (at >= text.size() || text[at] != '{') return 0;
  const size_t close = text.find('}', at);
  if (close == std::string_view::npos || close == at + 1 || close - at > 7) return 0;
  unsigned long value = 0;
  const char* const last = text.data() + close;
  const auto [end, error] = std::from_chars(text.data() + at + 1, last, value, 16);
  if (error != std::errc() || end != last || !append_utf8(out, value)) return 0;
  return close + 1 - at;
}

}  // namespace

std::optional<double> number_value(std::string_view spelling) {
  std::string digits;
  digits.reserve(spelling.size());
  for (const char c : spelling) {
    if (c != '_') digits.push_back(c);
  }
  double value = 0;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  return value;
}

TextValue text_value(std::string_view literal) {
  TextValue result;
  result.value.reserve(literal.size());
  const std::string_view text = literal.substr(0, literal.size() - 1);  // without the closing quote
  for (size_t i = 1; i < text.size();) {
    if (text[i] != '\\') {
      result.value.push_back(text[i++]);
      continue;
    }
    const char escape = i + 1 < text.size() ? text[i + 1] : '\0';
    size_t length = 2;
    switch (escape) {
      case 'n':
        result.value.push_back('\n');
        break;
      case 't':
        result.value.push_back('\t');
        break;
      case 'r':
        result.value.push_back('\r');
        break;
      case '"':
      case '\\':
        result.value.push_back(escape);
        break;
      case 'u': {
        const size_t read = read_code_point(text, i + 2, result.value);
        length = read == 0 ? 0 : 2 + read;
        break;
      }
      default:
        length = 0;
    }
    if (length == 0) {
      size_t end = i + 2;
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
        ++end;  // a whole character
      if (!result.bad) result.bad = BadEscape{static_cast<uint32_t>(i), static_cast<uint32_t>(end)};
      length = 2;
    }
    i += length;
  }
  return result;
}

}  // namespace loop::syntax
