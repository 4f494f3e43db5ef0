// The lines of one source file with marks below them: what stands between ` --> path` and the notes of a
// finding.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/base/source.h"
#include "compiler/diagnostics/styled_row.h"

namespace loop::diagnostics {

/// A place to mark and what to say there. The primary place is drawn with `^`, others with `-`.
struct Mark {
  base::Span span;
  std::string text;
  bool primary = false;
};

/// One row to the right of the gutter. A source line has its number; a row of marks has none; `elided` stands
/// for lines left out.
struct SnippetRow {
  std::optional<uint32_t> line;
  bool elided = false;
  StyledRow row;
};

/// Lays out all marks, which must be in `file`. Marks on one line share its rows, a mark over several lines
/// gets a lane at the left, lines wider than `max_width` cells are cut around their marks.
std::vector<SnippetRow> lay_out(const base::SourceFile& file, const std::vector<Mark>& marks,
                                size_t max_width);

}  // namespace loop::diagnostics
