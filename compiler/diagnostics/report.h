// What one `loopc check` has found, as every output format gets it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/diagnostics/engine.h"

namespace loop::diagnostics {

/// A finding that a comment in the text allows.
struct Allowed {
  Diagnostic finding;
  std::string reason;
  Span comment;
};

/// Findings that `select` and `ignore` keep from being shown, by severity.
struct Hidden {
  size_t errors = 0;
  size_t warnings = 0;
  size_t notes = 0;
};

struct Report {
  const base::SourceManager& sources;
  std::vector<Diagnostic> findings;  // in the order they are shown
  std::vector<Allowed> allowed;
  Hidden hidden;
  size_t checked_files = 0;
  size_t failing = 0;  // of `findings`: those that make a check fail
};

/// One line: "2 errors, 1 warning in 1 of 3 files; 1 allowed; not shown: 2 notes" or "no findings in 3
/// files". Errors that are not shown are always counted.
std::string summary_line(const Report& report);

}  // namespace loop::diagnostics
