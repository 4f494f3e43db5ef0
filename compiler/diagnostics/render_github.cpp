// https://docs.github.com/actions/reference/workflow-commands-for-github-actions
#include "compiler/diagnostics/render.h"

namespace loop::diagnostics {
namespace {

/// What would end a command or a property early is percent-encoded, as GitHub's own toolkit does.
std::string escaped(const std::string& text, bool property) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (c == '%') {
      result += "%25";
    } else if (c == '\r') {
      result += "%0D";
    } else if (c == '\n') {
      result += "%0A";
    } else if (property && c == ':') {
      result += "%3A";
    } else if (property && c == ',') {
      result += "%2C";
    } else {
      result += c;
    }
  }
  return result;
}

const char* command(Severity severity) {
  return severity == Severity::note ? "notice" : name(severity);
}

std::string whole_message(const Diagnostic& finding, const base::SourceManager& sources) {
  std::string text = finding.message;
  if (!finding.label.empty()) text += "\n" + finding.label;
  for (const Label& label : finding.labels) {
    if (label.text.empty() || !sources.contains(label.span.file)) continue;
    const base::SourceFile& file = sources.file(label.span.file);
    text +=
        "\n" + file.path() + ":" + std::to_string(file.position(label.span.begin).line) + ": " + label.text;
  }
  for (const std::string& note : finding.notes) text += "\nnote: " + note;
  for (const std::string& help : finding.helps) text += "\nhelp: " + help;
  for (const FixIt& fix : finding.fixes) text += "\nfix: " + fix.title;
  return text;
}

}  // namespace

void render_github(std::ostream& out, const Report& report) {
  for (const Diagnostic& finding : report.findings) {
    const CatalogEntry& line = entry(finding.code);
    out << "::" << command(finding.severity) << ' ';
    if (report.sources.contains(finding.span.file)) {
      const base::SourceFile& file = report.sources.file(finding.span.file);
      const base::Position begin = file.position(finding.span.begin);
      const base::Position end = file.position(finding.span.end);
      out << "file=" << escaped(file.path(), true) << ",line=" << begin.line << ",endLine=" << end.line
          << ",col=" << begin.column << ",endColumn=" << end.column << ',';
    }
    out << "title=" << escaped(std::string(line.id) + " " + std::string(line.name), true)
        << "::" << escaped(whole_message(finding, report.sources), false) << '\n';
  }
  out << summary_line(report) << '\n';
}

}  // namespace loop::diagnostics
