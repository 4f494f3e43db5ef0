#include "compiler/diagnostics/styled_row.h"

#include <algorithm>

#include "compiler/diagnostics/display_line.h"

namespace loop::diagnostics {

void StyledRow::put(size_t column, std::string_view text, Style style) {
  std::vector<std::string> points = code_points(text);
  cells_.resize(std::max(cells_.size(), column + points.size()));
  for (size_t i = 0; i < points.size(); ++i) cells_[column + i] = {std::move(points[i]), style};
}

void StyledRow::fill(size_t from, size_t to, char glyph, Style style) {
  if (to <= from) return;
  cells_.resize(std::max(cells_.size(), to));
  for (size_t i = from; i < to; ++i) cells_[i] = {std::string(1, glyph), style};
}

void StyledRow::append(const StyledRow& other) {
  cells_.insert(cells_.end(), other.cells_.begin(), other.cells_.end());
}

size_t StyledRow::shown_width() const {
  size_t width = cells_.size();
  while (width > 0 && cells_[width - 1].glyph == " ") --width;
  return width;
}

}  // namespace loop::diagnostics
