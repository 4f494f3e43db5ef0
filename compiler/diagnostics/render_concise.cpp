#include <algorithm>

#include "compiler/diagnostics/render.h"

namespace loop::diagnostics {
namespace {

/// One line: a message may have several.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

}  // namespace

void render_concise(std::ostream& out, const Report& report) {
  for (const Diagnostic& finding : report.findings) {
    const CatalogEntry& line = entry(finding.code);
    if (report.sources.contains(finding.span.file)) {
      const base::SourceFile& file = report.sources.file(finding.span.file);
      const base::Position place = file.position(finding.span.begin);
      out << one_line(file.path()) << ':' << place.line << ':' << place.column << ": ";
    }
    out << name(finding.severity) << ' ' << line.id << ' ' << line.name << ": " << one_line(finding.message);
    for (const FixIt& fix : finding.fixes) out << " [fix: " << one_line(fix.title) << ']';
    out << '\n';
  }
  out << summary_line(report) << '\n';
}

}  // namespace loop::diagnostics
