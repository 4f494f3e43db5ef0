// Findings as text for a person and as JSON for a program.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "compiler/diagnostics/engine.h"

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

/// `{"version":1,"diagnostics":[{"code","name","severity","message","path","line","column","end_line","end_column","labels","notes","helps","fixes"}],"summary":{"errors","warnings","notes","files"}}`
/// Columns count code points from 1; the end is the place after the last one. `path`, `line`, … are null for
/// a finding without a place.
void render_json(std::ostream& out, const base::SourceManager& sources,
                 const std::vector<Diagnostic>& diagnostics);

/// "2 errors, 1 warning in 1 file": only what occurs is counted; empty without findings.
std::string summary(const std::vector<Diagnostic>& diagnostics);

/// Colours are used on a terminal only, and never when NO_COLOR is set and not empty.
bool want_color(int file_descriptor);

}  // namespace loop::diagnostics
