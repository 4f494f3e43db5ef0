#include <algorithm>

#include "compiler/diagnostics/render.h"
#include "compiler/diagnostics/snippet.h"

namespace loop::diagnostics {
namespace {

const char* escape(Style style, Severity severity) {
  switch (style) {
    case Style::plain:
      return "";
    case Style::strong:
      return "\x1b[1m";
    case Style::gutter:
    case Style::secondary:
      return "\x1b[1;34m";
    case Style::primary:
      return severity == Severity::error     ? "\x1b[1;31m"
             : severity == Severity::warning ? "\x1b[1;33m"
                                             : "\x1b[1;36m";
    case Style::added:
      return "\x1b[32m";
    case Style::removed:
      return "\x1b[31m";
  }
  return "";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (begin < text.size() || lines.empty()) lines.push_back(text.substr(begin));
  return lines;
}

/// A text edit seen as whole lines of one file: which go, which come.
struct LineChange {
  uint32_t first_line = 1;
  std::vector<std::string> removed;
  std::vector<std::string> added;
};

/// before: edits by byte → after: changed whole lines. Edits that share a line are applied together.
std::vector<LineChange> line_changes(const base::SourceFile& file, std::vector<Edit> edits) {
  std::stable_sort(edits.begin(), edits.end(),
                   [](const Edit& a, const Edit& b) { return a.span.begin < b.span.begin; });
  const auto offset_in = [&](uint32_t line, uint32_t offset) {
    const auto begin = static_cast<uint32_t>(file.line(line).data() - file.text().data());
    return std::min<size_t>(offset - begin, file.line(line).size());
  };
  std::vector<LineChange> changes;
  for (size_t i = 0; i < edits.size();) {
    const uint32_t first = file.position(edits[i].span.begin).line;
    uint32_t last = first;
    std::string text(file.line(first).substr(0, offset_in(first, edits[i].span.begin)));
    for (bool more = true; more;) {
      text += edits[i].text;
      const uint32_t from = edits[i].span.end;
      last = file.position(from).line;
      ++i;
      more =
          i < edits.size() && file.position(edits[i].span.begin).line == last && edits[i].span.begin >= from;
      const std::string_view rest = file.line(last).substr(offset_in(last, from));
      text += more ? rest.substr(0, edits[i].span.begin - from) : rest;
    }
    LineChange change{.first_line = first};
    for (uint32_t line = first; line <= last; ++line) change.removed.emplace_back(file.line(line));
    change.added = lines_of(text);
    while (!change.removed.empty() && !change.added.empty() &&
           change.removed.front() == change.added.front()) {
      change.removed.erase(change.removed.begin());
      change.added.erase(change.added.begin());
      ++change.first_line;
    }
    while (!change.removed.empty() && !change.added.empty() && change.removed.back() == change.added.back()) {
      change.removed.pop_back();
      change.added.pop_back();
    }
    // A line that goes without anything in its place is deleted whole, not left empty.
    if (change.added.size() == 1 && change.added.front().find_first_not_of(" \t") == std::string::npos)
      change.added.clear();
    changes.push_back(std::move(change));
  }
  return changes;
}

class TextRenderer {
 public:
  TextRenderer(std::ostream& out, const base::SourceManager& sources, const TextOptions& options)
      : out_(out), sources_(sources), options_(options) {}

  void render(const Diagnostic& diagnostic) {
    severity_ = diagnostic.severity;
    blocks_ = lay_out_blocks(diagnostic);
    gutter_ = gutter_width(diagnostic);
    header(diagnostic);
    places();
    const bool more = !(diagnostic.notes.empty() && diagnostic.helps.empty() && diagnostic.fixes.empty());
    if (!blocks_.empty() && more) emit(gutter("|"));
    for (const std::string& note : diagnostic.notes) remark("note", note);
    for (const std::string& help : diagnostic.helps) remark("help", help);
    for (const FixIt& fix : diagnostic.fixes) suggestion(fix);
    out_ << '\n';
  }

 private:
  /// One file's part of a finding.
  struct Block {
    const base::SourceFile* file = nullptr;
    base::Position position;
    std::vector<SnippetRow> rows;
  };

  std::vector<Block> lay_out_blocks(const Diagnostic& diagnostic) const {
    std::vector<base::FileId> files;  // the primary place's file first, the others as their labels come
    std::vector<Mark> all;
    all.push_back({diagnostic.span, diagnostic.label, true});
    for (const Label& label : diagnostic.labels) all.push_back({label.span, label.text, false});
    std::erase_if(all, [&](const Mark& mark) { return !sources_.contains(mark.span.file); });
    for (const Mark& mark : all) {
      if (std::find(files.begin(), files.end(), mark.span.file) == files.end())
        files.push_back(mark.span.file);
    }
    std::vector<Block> blocks;
    for (const base::FileId id : files) {
      std::vector<Mark> marks;
      std::copy_if(all.begin(), all.end(), std::back_inserter(marks),
                   [&](const Mark& m) { return m.span.file == id; });
      const base::SourceFile& file = sources_.file(id);
      blocks.push_back(
          {&file, file.position(marks.front().span.begin), lay_out(file, marks, options_.max_width - 8)});
    }
    return blocks;
  }

  size_t gutter_width(const Diagnostic& diagnostic) const {
    uint32_t largest = 1;
    for (const Block& block : blocks_) {
      for (const SnippetRow& row : block.rows) largest = std::max(largest, row.line.value_or(1));
    }
    for (const FixIt& fix : diagnostic.fixes) {
      for (const Edit& edit : fix.edits) {
        if (sources_.contains(edit.span.file)) {
          largest = std::max(largest, sources_.file(edit.span.file).position(edit.span.end).line);
        }
      }
    }
    return std::to_string(largest).size();
  }

  StyledRow gutter(std::string_view mark) const {
    StyledRow row;
    row.put(gutter_ + 1, mark, Style::gutter);
    return row;
  }

  StyledRow numbered(uint32_t line, std::string_view mark) const {
    StyledRow row = gutter(mark);
    const std::string number = std::to_string(line);
    row.put(number.size() < gutter_ ? gutter_ - number.size() : 0, number, Style::gutter);
    return row;
  }

  void emit(const StyledRow& row) {
    if (options_.color) {
      out_ << row.text([&](Style style) { return escape(style, severity_); }, "\x1b[0m") << '\n';
    } else {
      out_ << row.text([](Style) { return ""; }, "") << '\n';
    }
  }

  void header(const Diagnostic& diagnostic) {
    const CatalogEntry& line = entry(diagnostic.code);
    const std::vector<std::string> message = lines_of(diagnostic.message);
    StyledRow row;
    row.append(std::string(name(diagnostic.severity)) + "[" + std::string(line.id) + " " +
                   std::string(line.name) + "]",
               Style::primary);
    row.append(": " + message.front(), Style::strong);
    emit(row);
    for (size_t i = 1; i < message.size(); ++i) {
      StyledRow more;
      more.append("  " + message[i], Style::strong);
      emit(more);
    }
  }

  void places() {
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const Block& block = blocks_[i];
      StyledRow place;
      place.put(gutter_, i == 0 ? "-->" : ":::", Style::gutter);
      place.append(" " + block.file->path() + ":" + std::to_string(block.position.line) + ":" +
                       std::to_string(block.position.column),
                   Style::plain);
      if (i > 0) emit(gutter("|"));
      emit(place);
      emit(gutter("|"));
      for (const SnippetRow& part : block.rows) emit_part(part);
    }
  }

  void emit_part(const SnippetRow& part) {
    StyledRow row = part.line ? numbered(*part.line, "|") : gutter(part.elided ? "" : "|");
    if (part.elided) row.put(0, "...", Style::gutter);
    if (part.row.width() > 0) {
      row.put(gutter_ + 2, " ", Style::plain);
      row.append(part.row);
    }
    emit(row);
  }

  void remark(const std::string& kind, const std::string& text) {
    const std::vector<std::string> lines = lines_of(text);
    StyledRow row = gutter("=");
    row.append(" " + kind, Style::strong);
    row.append(": " + lines.front(), Style::plain);
    emit(row);
    for (size_t i = 1; i < lines.size(); ++i) {
      StyledRow more;
      more.put(gutter_ + 3 + kind.size() + 2, lines[i], Style::plain);
      emit(more);
    }
  }

  void suggestion(const FixIt& fix) {
    StyledRow title;
    title.append("help", Style::strong);
    title.append(": " + fix.title, Style::plain);
    emit(title);
    std::vector<base::FileId> files;
    for (const Edit& edit : fix.edits) {
      const bool known = std::find(files.begin(), files.end(), edit.span.file) != files.end();
      if (sources_.contains(edit.span.file) && !known) files.push_back(edit.span.file);
    }
    for (const base::FileId id : files) {
      std::vector<Edit> edits;
      std::copy_if(fix.edits.begin(), fix.edits.end(), std::back_inserter(edits),
                   [&](const Edit& edit) { return edit.span.file == id; });
      emit(gutter("|"));
      for (const LineChange& change : line_changes(sources_.file(id), std::move(edits))) show(change);
    }
  }

  void show(const LineChange& change) {
    const auto side = [&](const std::vector<std::string>& lines, const char* sign, Style style) {
      for (size_t i = 0; i < lines.size(); ++i) {
        StyledRow row = numbered(change.first_line + static_cast<uint32_t>(i), "");
        row.put(gutter_ + 1, std::string(sign) + " " + lines[i], style);
        emit(row);
      }
    };
    side(change.removed, "-", Style::removed);
    side(change.added, "+", Style::added);
  }

  std::ostream& out_;
  const base::SourceManager& sources_;
  const TextOptions& options_;
  Severity severity_ = Severity::error;
  std::vector<Block> blocks_;
  size_t gutter_ = 1;
};

}  // namespace

void render_text(std::ostream& out, const base::SourceManager& sources,
                 const std::vector<Diagnostic>& diagnostics, const TextOptions& options) {
  TextRenderer renderer(out, sources, options);
  for (const Diagnostic& diagnostic : diagnostics) renderer.render(diagnostic);
  if (!diagnostics.empty()) out << summary(diagnostics) << '\n';
}

void render_text(std::ostream& out, const Report& report, const TextOptions& options) {
  TextRenderer renderer(out, report.sources, options);
  for (const Diagnostic& diagnostic : report.findings) renderer.render(diagnostic);
  out << summary_line(report) << '\n';
}

}  // namespace loop::diagnostics
