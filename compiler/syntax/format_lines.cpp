#include "compiler/syntax/format_lines.h"

#include <algorithm>

namespace loop::syntax {
namespace {

constexpr size_t kCommentGap = 2;

bool is_comment_line(const Line& line) {
  return line.text.empty();
}
bool is_assignment(const Line& line) {
  return line.whole_statement && line.operator_at > 0;
}
bool has_trailing_comment(const Line& line) {
  return !line.text.empty() && !line.comment.empty();
}

/// Where the first character of the value's side comes: the operator's end.
size_t operator_end(const Line& line) {
  return line.operator_at + line.operator_length;
}

void align_run(std::vector<Line>& lines, size_t begin, size_t end) {
  size_t column = 0;
  for (size_t i = begin; i < end; ++i) {
    if (is_assignment(lines[i])) column = std::max(column, operator_end(lines[i]));
  }
  for (size_t i = begin; i < end; ++i) {
    if (!is_assignment(lines[i])) continue;
    const size_t missing = column - operator_end(lines[i]);
    lines[i].text.insert(lines[i].operator_at, missing, ' ');
    lines[i].operator_at += missing;
  }
}

}  // namespace

size_t characters(const std::string& text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void align_assignments(std::vector<Line>& lines) {
  size_t begin = 0;
  while (begin < lines.size()) {
    if (!is_assignment(lines[begin])) {
      ++begin;
      continue;
    }
    size_t end = begin + 1;
    while (end < lines.size() && !lines[end].blank_before && lines[end].indent == lines[begin].indent &&
           (is_assignment(lines[end]) || is_comment_line(lines[end]))) {
      ++end;
    }
    align_run(lines, begin, end);
    begin = end;
  }
}

std::string render_lines(const std::vector<Line>& lines) {
  std::string out;
  size_t group_end = 0;  // of neighbours whose comments share a column
  size_t column = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    if (line.blank_before && i > 0) out += '\n';
    out.append(line.indent, ' ');
    out += line.text;
    if (has_trailing_comment(line)) {
      if (i >= group_end) {
        column = line.comment_column;
        for (group_end = i; group_end < lines.size(); ++group_end) {
          const Line& member = lines[group_end];
          if (!has_trailing_comment(member) || member.comment_column != line.comment_column) break;
          column = std::max(column, member.indent + characters(member.text) + kCommentGap);
        }
      }
      out.append(column - line.indent - characters(line.text), ' ');
    }
    out += line.comment;
    out += '\n';
  }
  return out;
}

}  // namespace loop::syntax
