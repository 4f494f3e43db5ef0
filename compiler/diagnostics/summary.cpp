#include <algorithm>
#include <set>

#include "compiler/diagnostics/counts.h"
#include "compiler/diagnostics/render.h"

namespace loop::diagnostics {
namespace {

std::string by_severity(size_t errors, size_t warnings, size_t notes) {
  std::string text;
  const auto add = [&](size_t count, const char* noun) {
    if (count > 0) text += (text.empty() ? "" : ", ") + counted(count, noun);
  };
  add(errors, "error");
  add(warnings, "warning");
  add(notes, "note");
  return text;
}

std::string by_severity(const std::vector<Diagnostic>& diagnostics) {
  return by_severity(count(diagnostics, Severity::error), count(diagnostics, Severity::warning),
                     count(diagnostics, Severity::note));
}

}  // namespace

std::string counted(size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

size_t count(const std::vector<Diagnostic>& diagnostics, Severity severity) {
  return static_cast<size_t>(std::count_if(diagnostics.begin(), diagnostics.end(),
                                           [&](const Diagnostic& d) { return d.severity == severity; }));
}

size_t files_with_findings(const std::vector<Diagnostic>& diagnostics) {
  std::set<uint32_t> files;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.span) files.insert(diagnostic.span.file.value);
  }
  return files.size();
}

std::string summary(const std::vector<Diagnostic>& diagnostics) {
  std::string text = by_severity(diagnostics);
  const size_t files = files_with_findings(diagnostics);
  if (files > 0) text += " in " + counted(files, "file");
  return text;
}

std::string summary_line(const Report& report) {
  std::string text = by_severity(report.findings);
  const size_t files = files_with_findings(report.findings);
  if (text.empty()) {
    text = "no findings in " + counted(report.checked_files, "file");
  } else if (files > 0 && files < report.checked_files) {
    text += " in " + std::to_string(files) + " of " + counted(report.checked_files, "file");
  } else if (files > 0) {
    text += " in " + counted(files, "file");
  }
  if (!report.allowed.empty()) text += "; " + std::to_string(report.allowed.size()) + " allowed";
  const std::string hidden = by_severity(report.hidden.errors, report.hidden.warnings, report.hidden.notes);
  if (!hidden.empty()) text += "; not shown: " + hidden;
  return text;
}

}  // namespace loop::diagnostics
