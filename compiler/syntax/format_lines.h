// Lines on their way out of the formatter: alignment of `=` and of trailing comments.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace loop::syntax {

struct Line {
  size_t indent = 0;    // blanks
  std::string text;     // empty when the line is only a comment
  std::string comment;  // `# …`, behind the text or alone
  size_t comment_column =
      0;  // where a trailing comment stood in the source, in characters from the line's start
  bool blank_before = false;
  bool whole_statement = false;
  size_t operator_at = 0;  // in text, the `=` or `<-` of an assignment to a plain name; 0 when there is none
  size_t operator_length = 0;
};

/// The number of code points.
size_t characters(const std::string& text);

/// Before: lines with single blanks. After: in each run of adjacent one-line assignments the values start in
/// one column. Comment lines do not interrupt a run; a blank line, any other line and another indentation do.
void align_assignments(std::vector<Line>& lines);

/// The finished text. A trailing comment stays in its column where the text leaves room, else two blanks
/// behind the text; neighbours that shared a column go on sharing one.
std::string render_lines(const std::vector<Line>& lines);

}  // namespace loop::syntax
