// One row of shown text whose parts have a meaning (a caret, a gutter), so that colours are decided in one
// place.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace loop::diagnostics {

enum class Style { plain, strong, gutter, primary, secondary, added, removed };

/// A growing row of cells; what is written later covers what was there.
class StyledRow {
 public:
  /// Writes UTF-8 text, one cell per code point, from `column` on.
  void put(size_t column, std::string_view text, Style style);
  /// Writes `glyph` into the cells [from, to).
  void fill(size_t from, size_t to, char glyph, Style style);
  /// Writes a text after the last cell.
  void append(std::string_view text, Style style) { put(cells_.size(), text, style); }
  void append(const StyledRow& other);
  size_t width() const { return cells_.size(); }
  /// The row without trailing blanks; `escape(style)` gives the terminal sequence that starts a style.
  template <typename Escape>
  std::string text(Escape escape, std::string_view reset) const;

 private:
  struct Cell {
    std::string glyph = " ";
    Style style = Style::plain;
  };
  size_t shown_width() const;
  std::vector<Cell> cells_;
};

template <typename Escape>
std::string StyledRow::text(Escape escape, std::string_view reset) const {
  std::string result;
  Style current = Style::plain;
  const size_t width = shown_width();
  for (size_t i = 0; i < width; ++i) {
    const Cell& cell = cells_[i];
    if (cell.style != current) {
      if (current != Style::plain) result += reset;
      if (cell.style != Style::plain) result += escape(cell.style);
      current = cell.style;
    }
    result += cell.glyph;
  }
  if (current != Style::plain) result += reset;
  return result;
}

}  // namespace loop::diagnostics
