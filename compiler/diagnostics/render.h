// Findings in every form they are written in: for a person, for a program, for services that show them.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "compiler/diagnostics/engine.h"
#include "compiler/diagnostics/report.h"

namespace loop::diagnostics {

struct TextOptions {
  bool color = false;
  size_t max_width = 120;
};

/// rustc-like: `error[L110 clip-before-unscale]: message`, ` --> path:line:column`, the source line with a
/// caret run, labels on other lines or files, notes, helps, suggested fixes; then a line with the counts.
/// Nothing when there are no findings.
void render_text(std::ostream& out, const base::SourceManager& sources,
                 const std::vector<Diagnostic>& diagnostics, const TextOptions& options);

/// The same, and always a last line with the summary.
void render_text(std::ostream& out, const Report& report, const TextOptions& options);

/// One line per finding, `path:line:column: error L110 clip-before-unscale: message`, as editors and `grep`
/// read it; ` [fix: title]` follows where there is one. Then the summary.
void render_concise(std::ostream& out, const Report& report);

/// `{"version":1,"diagnostics":[{"code","name","severity","message","path","line","column","end_line","end_column","label","labels","notes","helps","fixes"}],"allowed":[{…,"reason"}],"summary":{"errors","warnings","notes","files","checked_files","allowed","hidden":{"errors","warnings","notes"}}}`
/// Columns count code points from 1; the end is the place after the last one. `path`, `line`, … are null for
/// a finding without a place.
void render_json(std::ostream& out, const Report& report);
void render_json(std::ostream& out, const base::SourceManager& sources,
                 const std::vector<Diagnostic>& diagnostics);

/// SARIF 2.1.0: all codes as rules, results with their labels as related locations, fixes, fingerprints that
/// survive shifted lines, and allowed findings as suppressed results. Paths below `root` (absolute) are
/// relative to it, under the base SRCROOT. `version` is loopc's own.
void render_sarif(std::ostream& out, const Report& report, const std::string& root,
                  const std::string& version);

/// GitHub's workflow commands, `::error file=…,line=…::message`, then the summary.
void render_github(std::ostream& out, const Report& report);

/// "2 errors, 1 warning in 1 file": only what occurs is counted; empty without findings.
std::string summary(const std::vector<Diagnostic>& diagnostics);

/// Colours are used on a terminal only, and never when NO_COLOR is set and not empty.
bool want_color(int file_descriptor);

}  // namespace loop::diagnostics
