#include "compiler/diagnostics/display_line.h"

#include <algorithm>

namespace loop::diagnostics {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Decoded {
  char32_t code = 0;
  size_t bytes = 1;
  bool valid = false;
};

Decoded decode(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return {lead, 1, true};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + bytes > text.size()) return {};
  char32_t code = lead & (0xFFU >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) return {};
    code = (code << 6U) | (byte(at + i) & 0x3FU);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kSmallest[bytes] || code > 0x10FFFF || surrogate) return {};
  return {code, bytes, true};
}

bool steers_terminal(char32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool bidirectional = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return control || bidirectional;
}

}  // namespace

uint32_t DisplayLine::cell(size_t byte) const {
  return cell_of_byte[std::min(byte, cell_of_byte.size() - 1)];
}

DisplayLine display_line(std::string_view line, uint32_t tab_width) {
  DisplayLine shown;
  shown.cells.reserve(line.size());
  shown.cell_of_byte.reserve(line.size() + 1);
  bool only_blanks = true;
  for (size_t at = 0; at < line.size();) {
    const Decoded point = decode(line, at);
    shown.cell_of_byte.insert(shown.cell_of_byte.end(), point.bytes,
                              static_cast<uint32_t>(shown.cells.size()));
    if (point.valid && point.code == '\t') {
      shown.cells.insert(shown.cells.end(), tab_width - shown.cells.size() % tab_width, " ");
    } else if (!point.valid || steers_terminal(point.code)) {
      shown.cells.emplace_back(kReplacement);
    } else {
      shown.cells.emplace_back(line.substr(at, point.bytes));
    }
    only_blanks = only_blanks && (line[at] == ' ' || line[at] == '\t');
    if (only_blanks) shown.indentation = static_cast<uint32_t>(shown.cells.size());
    at += point.bytes;
  }
  shown.cell_of_byte.push_back(static_cast<uint32_t>(shown.cells.size()));
  return shown;
}

std::vector<std::string> code_points(std::string_view text) {
  std::vector<std::string> points;
  for (size_t at = 0; at < text.size();) {
    const Decoded point = decode(text, at);
    points.emplace_back(point.valid ? text.substr(at, point.bytes) : std::string_view(kReplacement));
    at += point.bytes;
  }
  return points;
}

}  // namespace loop::diagnostics
