#include "compiler/diagnostics/snippet.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/diagnostics/display_line.h"

namespace loop::diagnostics {
namespace {

constexpr uint32_t kMaxWholeLines = 6;  // a mark over more lines shows only its first and last

struct PlacedMark {
  const Mark* mark = nullptr;
  uint32_t first_line = 1;
  uint32_t last_line = 1;
  size_t begin = 0;  // cell in the first line
  size_t end = 0;    // cell after the last one, in the last line
  size_t lane = 0;   // of a mark over several lines

  bool several_lines() const { return first_line != last_line; }
  Style style() const { return mark->primary ? Style::primary : Style::secondary; }
  char glyph() const { return mark->primary ? '^' : '-'; }
};

/// A line as shown, with the part that fits.
struct CutLine {
  DisplayLine shown;
  size_t shift = 0;  // cells cut off at the left
  size_t width = 0;  // cells kept

  size_t column(size_t cell) const { return std::clamp(cell, shift, shift + width) - shift; }
};

class Layout {
 public:
  Layout(const base::SourceFile& file, const std::vector<Mark>& marks, size_t max_width)
      : file_(file), max_width_(std::max<size_t>(max_width, 20)) {
    for (const Mark& mark : marks) place(mark);
    assign_lanes();
    choose_lines();
  }

  std::vector<SnippetRow> rows() {
    uint32_t previous = 0;
    for (const uint32_t line : lines_) {
      if (previous != 0 && line != previous + 1)
        rows_.push_back({std::nullopt, true, lanes_between(previous)});
      draw_line(line);
      previous = line;
    }
    return std::move(rows_);
  }

 private:
  size_t margin() const { return 2 * lane_count_; }

  DisplayLine& shown(uint32_t line) {
    const auto found = shown_.find(line);
    if (found != shown_.end()) return found->second;
    return shown_.emplace(line, display_line(file_.line(line))).first->second;
  }

  size_t line_begin(uint32_t line) const {
    return static_cast<size_t>(file_.line(line).data() -
                               file_.text().data());  // lines are views into the text
  }

  void place(const Mark& mark) {
    const std::string& text = file_.text();
    const auto size = static_cast<uint32_t>(text.size());
    const uint32_t begin = std::min(mark.span.begin, size);
    uint32_t end = std::clamp(mark.span.end, begin, size);
    while (end > begin && (text[end - 1] == '\n' || text[end - 1] == '\r'))
      --end;  // a line's end is no line of its own
    PlacedMark placed;
    placed.mark = &mark;
    placed.first_line = file_.position(begin).line;
    placed.last_line = file_.position(end).line;
    placed.begin = shown(placed.first_line).cell(begin - line_begin(placed.first_line));
    placed.end = shown(placed.last_line).cell(end - line_begin(placed.last_line));
    if (!placed.several_lines())
      placed.end = std::max(placed.end, placed.begin + 1);  // an empty place is one caret
    marks_.push_back(placed);
  }

  void assign_lanes() {
    std::vector<PlacedMark*> several;
    for (PlacedMark& mark : marks_) {
      if (mark.several_lines()) several.push_back(&mark);
    }
    std::stable_sort(several.begin(), several.end(), [](const PlacedMark* a, const PlacedMark* b) {
      return std::pair(a->first_line, b->last_line) < std::pair(b->first_line, a->last_line);
    });
    std::vector<uint32_t> lane_ends;  // last line taken in each lane
    for (PlacedMark* mark : several) {
      const auto free = std::find_if(lane_ends.begin(), lane_ends.end(),
                                     [&](uint32_t end) { return end < mark->first_line; });
      mark->lane = static_cast<size_t>(free - lane_ends.begin());
      if (free == lane_ends.end()) {
        lane_ends.push_back(mark->last_line);
      } else {
        *free = mark->last_line;
      }
    }
    lane_count_ = lane_ends.size();
  }

  void choose_lines() {
    for (const PlacedMark& mark : marks_) {
      lines_.insert(mark.first_line);
      lines_.insert(mark.last_line);
      if (mark.last_line - mark.first_line < kMaxWholeLines) {
        for (uint32_t line = mark.first_line; line < mark.last_line; ++line) lines_.insert(line);
      }
    }
    // A gap of one line is shown, not left out: the sign for it would take as much room.
    const std::set<uint32_t> marked = lines_;
    for (const uint32_t line : marked) {
      if (!marked.contains(line + 1) && marked.contains(line + 2)) lines_.insert(line + 1);
    }
  }

  CutLine cut(uint32_t line) {
    CutLine result{shown(line), 0, 0};
    const size_t room = max_width_ > margin() + 20 ? max_width_ - margin() : 20;
    const size_t cells = result.shown.cells.size();
    result.width = std::min(cells + 1, room);
    if (cells <= room) {
      result.width = cells + 1;  // the place after the last character can be marked
      return result;
    }
    size_t first = cells;
    size_t last = 0;
    for (const PlacedMark& mark : marks_) {
      if (mark.first_line == line) {
        first = std::min(first, mark.begin);
        last = std::max(last, mark.several_lines() ? mark.begin + 1 : mark.end);
      }
      if (mark.several_lines() && mark.last_line == line) last = std::max(last, mark.end);
    }
    if (last >= room) result.shift = std::min(first > room / 4 ? first - room / 4 : 0, cells + 1 - room);
    return result;
  }

  StyledRow source_row(uint32_t line, const CutLine& cut) const {
    StyledRow row;
    row.fill(0, margin(), ' ', Style::plain);
    for (const PlacedMark& mark : marks_) {
      if (!mark.several_lines()) continue;
      const bool opens = line == mark.first_line && starts_at_indentation(mark, cut);
      if (opens) row.put(2 * mark.lane, "/", mark.style());
      if (line > mark.first_line && line <= mark.last_line) row.put(2 * mark.lane, "|", mark.style());
    }
    const std::vector<std::string>& cells = cut.shown.cells;
    const size_t end = std::min(cells.size(), cut.shift + cut.width);
    for (size_t i = cut.shift; i < end; ++i) {
      const bool cut_off = (i == cut.shift && cut.shift > 0) || (i + 1 == end && end < cells.size());
      row.append(cut_off ? "…" : std::string_view(cells[i]), Style::plain);
    }
    return row;
  }

  static bool starts_at_indentation(const PlacedMark& mark, const CutLine& cut) {
    return mark.begin <= cut.shown.indentation && cut.shift == 0;
  }

  /// The lanes that run on below `line`: marks drawn as begun and not as ended.
  StyledRow lanes_between(uint32_t line) const {
    StyledRow row;
    for (const PlacedMark& mark : marks_) {
      if (mark.several_lines() && mark.first_line <= line && mark.last_line > line) {
        row.put(2 * mark.lane, "|", mark.style());
      }
    }
    return row;
  }

  void add_marks_row(StyledRow row) { rows_.push_back({std::nullopt, false, std::move(row)}); }

  void draw_line(uint32_t line) {
    const CutLine cut_line = cut(line);
    rows_.push_back({line, false, source_row(line, cut_line)});
    std::vector<const PlacedMark*> ending;
    std::vector<const PlacedMark*> beginning;
    std::vector<const PlacedMark*> within;
    for (const PlacedMark& mark : marks_) {
      if (!mark.several_lines() && mark.first_line == line) within.push_back(&mark);
      if (mark.several_lines() && mark.last_line == line) ending.push_back(&mark);
      if (mark.several_lines() && mark.first_line == line && !starts_at_indentation(mark, cut_line)) {
        beginning.push_back(&mark);
      }
    }
    // Lanes that pass this line, and those that end in it until their end is drawn.
    const auto running = [&](const std::vector<const PlacedMark*>& not_begun,
                             const std::vector<const PlacedMark*>& not_ended) {
      StyledRow row;
      for (const PlacedMark& mark : marks_) {
        if (!mark.several_lines()) continue;
        const bool begun =
            mark.first_line < line ||
            (mark.first_line == line && std::count(not_begun.begin(), not_begun.end(), &mark) == 0);
        const bool ended =
            mark.last_line < line ||
            (mark.last_line == line && std::count(not_ended.begin(), not_ended.end(), &mark) == 0);
        if (begun && !ended) row.put(2 * mark.lane, "|", mark.style());
      }
      return row;
    };
    draw_within(within, cut_line, running(beginning, ending));
    while (!beginning.empty()) {
      const PlacedMark& mark = *beginning.back();
      StyledRow row = running(beginning, ending);
      const size_t column = margin() + cut_line.column(mark.begin);
      row.fill(2 * mark.lane + 1, column, '_', mark.style());
      row.put(column, std::string(1, mark.glyph()), mark.style());
      add_marks_row(std::move(row));
      beginning.pop_back();
    }
    while (!ending.empty()) {
      const PlacedMark& mark = *ending.back();
      StyledRow row = running({}, ending);
      const size_t column = margin() + cut_line.column(mark.end > 0 ? mark.end - 1 : 0);
      row.fill(2 * mark.lane + 1, column, '_', mark.style());
      row.put(column, std::string(1, mark.glyph()), mark.style());
      if (!mark.mark->text.empty()) row.append(" " + mark.mark->text, mark.style());
      add_marks_row(std::move(row));
      ending.pop_back();
    }
  }

  /// before: marks at cells of one line → after: one row of carets, the rightmost label beside its carets,
  /// the other labels on rows of their own from right to left, each joined to its carets by bars.
  void draw_within(std::vector<const PlacedMark*> marks, const CutLine& cut_line, const StyledRow& lanes) {
    if (marks.empty()) return;
    const auto column = [&](size_t cell) { return margin() + cut_line.column(cell); };
    std::stable_sort(marks.begin(), marks.end(), [](const PlacedMark* a, const PlacedMark* b) {
      return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
    });
    StyledRow carets = lanes;
    size_t rightmost_end = 0;
    for (const bool primary : {false, true}) {  // the primary's carets cover the others'
      for (const PlacedMark* mark : marks) {
        if (mark->mark->primary != primary) continue;
        const size_t from = column(mark->begin);
        const size_t to = std::max(column(mark->end), from + 1);
        carets.fill(from, to, mark->glyph(), mark->style());
        rightmost_end = std::max(rightmost_end, to);
      }
    }
    std::vector<const PlacedMark*> hanging;
    for (const PlacedMark* mark : marks) {
      if (!mark->mark->text.empty()) hanging.push_back(mark);
    }
    if (!hanging.empty() && column(hanging.back()->end) >= rightmost_end) {
      carets.append(" " + hanging.back()->mark->text, hanging.back()->style());
      hanging.pop_back();
    }
    add_marks_row(std::move(carets));
    if (hanging.empty()) return;
    const auto bars = [&](size_t count) {
      StyledRow row = lanes;
      for (size_t i = 0; i < count; ++i) row.put(column(hanging[i]->begin), "|", hanging[i]->style());
      return row;
    };
    add_marks_row(bars(hanging.size()));
    while (!hanging.empty()) {
      const PlacedMark& mark = *hanging.back();
      StyledRow row = bars(hanging.size() - 1);
      row.put(column(mark.begin), mark.mark->text, mark.style());
      add_marks_row(std::move(row));
      hanging.pop_back();
    }
  }

  const base::SourceFile& file_;
  size_t max_width_;
  std::vector<PlacedMark> marks_;
  std::map<uint32_t, DisplayLine> shown_;
  std::set<uint32_t> lines_;
  size_t lane_count_ = 0;
  std::vector<SnippetRow> rows_;
};

}  // namespace

std::vector<SnippetRow> lay_out(const base::SourceFile& file, const std::vector<Mark>& marks,
                                size_t max_width) {
  return Layout(file, marks, max_width).rows();
}

}  // namespace loop::diagnostics
