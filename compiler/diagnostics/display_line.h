// A source line as it is shown: tabs expanded, unprintable characters made visible, one cell per code point.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loop::diagnostics {

struct DisplayLine {
  std::vector<std::string> cells;  // one shown code point (UTF-8) each
  std::vector<uint32_t>
      cell_of_byte;          // the cell a byte of the line starts at; one more entry for the line's end
  uint32_t indentation = 0;  // cells before the first that is not blank

  /// The cell of a byte offset within the line; offsets past the end give the end.
  uint32_t cell(size_t byte) const;
};

/// Control characters, bidirectional overrides and bytes that are no UTF-8 are shown as U+FFFD: a source text
/// must not be able to steer the terminal it is shown on. Tabs advance to the next multiple of `tab_width`.
DisplayLine display_line(std::string_view line, uint32_t tab_width = 4);

/// The code points of a UTF-8 text, each as its own string; a byte that does not belong to one is U+FFFD.
std::vector<std::string> code_points(std::string_view text);

}  // namespace loop::diagnostics
