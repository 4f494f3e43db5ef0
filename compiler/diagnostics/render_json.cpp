#include <nlohmann/json.hpp>

#include "compiler/diagnostics/counts.h"
#include "compiler/diagnostics/render.h"

namespace loop::diagnostics {
namespace {

using Json = nlohmann::ordered_json;

void put_place(Json& object, const base::SourceManager& sources, Span span) {
  if (!sources.contains(span.file)) {
    for (const char* key : {"path", "line", "column", "end_line", "end_column"}) object[key] = nullptr;
    return;
  }
  const base::SourceFile& file = sources.file(span.file);
  const base::Position begin = file.position(span.begin);
  const base::Position end = file.position(span.end);
  object["path"] = file.path();
  object["line"] = begin.line;
  object["column"] = begin.column;
  object["end_line"] = end.line;
  object["end_column"] = end.column;
}

Json to_json(const base::SourceManager& sources, const FixIt& fix) {
  Json edits = Json::array();
  for (const Edit& edit : fix.edits) {
    Json object;
    put_place(object, sources, edit.span);
    object["text"] = edit.text;
    edits.push_back(std::move(object));
  }
  const bool certain = fix.certainty == Certainty::certain;
  return {{"title", fix.title}, {"certainty", certain ? "certain" : "likely"}, {"edits", std::move(edits)}};
}

Json to_json(const base::SourceManager& sources, const Diagnostic& diagnostic) {
  const CatalogEntry& line = entry(diagnostic.code);
  Json object;
  object["code"] = line.id;
  object["name"] = line.name;
  object["severity"] = name(diagnostic.severity);
  object["message"] = diagnostic.message;
  put_place(object, sources, diagnostic.span);
  object["label"] = diagnostic.label;
  object["labels"] = Json::array();
  for (const Label& label : diagnostic.labels) {
    Json entry;
    put_place(entry, sources, label.span);
    entry["text"] = label.text;
    object["labels"].push_back(std::move(entry));
  }
  object["notes"] = diagnostic.notes;
  object["helps"] = diagnostic.helps;
  object["fixes"] = Json::array();
  for (const FixIt& fix : diagnostic.fixes) object["fixes"].push_back(to_json(sources, fix));
  return object;
}

}  // namespace

void render_json(std::ostream& out, const Report& report) {
  Json findings = Json::array();
  for (const Diagnostic& diagnostic : report.findings)
    findings.push_back(to_json(report.sources, diagnostic));
  Json allowed = Json::array();
  for (const Allowed& one : report.allowed) {
    allowed.push_back(to_json(report.sources, one.finding));
    allowed.back()["reason"] = one.reason;
  }
  Json document;
  document["version"] = 1;
  document["diagnostics"] = std::move(findings);
  document["allowed"] = std::move(allowed);
  document["summary"] = {{"errors", count(report.findings, Severity::error)},
                         {"warnings", count(report.findings, Severity::warning)},
                         {"notes", count(report.findings, Severity::note)},
                         {"files", files_with_findings(report.findings)},
                         {"checked_files", report.checked_files},
                         {"allowed", report.allowed.size()},
                         {"hidden",
                          {{"errors", report.hidden.errors},
                           {"warnings", report.hidden.warnings},
                           {"notes", report.hidden.notes}}}};
  // A text that is no UTF-8 may be quoted in a message: replaced, so that the document stays valid JSON.
  out << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

void render_json(std::ostream& out, const base::SourceManager& sources,
                 const std::vector<Diagnostic>& diagnostics) {
  render_json(out, Report{sources, diagnostics, {}, {}, files_with_findings(diagnostics)});
}

}  // namespace loop::diagnostics
