// `# loop: allow(CODE, reason: "…")`: findings that a spec's author has seen and answers for.
//
//   at the end of a line    that line, and all of every statement that begins or ends on it
//   on a line of its own    the next statement, with its block; inside an expression the next line
//   allow-file              the whole file; it stands before the first statement
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "compiler/diagnostics/report.h"

namespace loop::driver {

/// One code of one comment.
struct Allowance {
  diagnostics::Code code;
  std::string reason;
  base::Span span;                 // the code in the comment
  std::vector<base::Span> scopes;  // a finding that begins in one of them is allowed
  bool used = false;
};

/// Why no comment can allow this finding; empty when one can. Errors of syntax and names leave a spec without
/// a meaning, and what the runtime has not it cannot be allowed to do.
std::string why_not_allowable(const diagnostics::CatalogEntry& entry);

/// All allowances of a text, in its order. What is wrong with one is reported (L020-L022, L024), and it then
/// allows nothing. Other comments are none of its business: only `# loop: WORD(` and `# loop: allow` are
/// read.
std::vector<Allowance> read_allowances(const base::SourceManager& sources, base::FileId file,
                                       diagnostics::Engine& engine);

/// The allowance for a finding, of several the one with the smallest scope, which is then used; null when
/// there is none.
const Allowance* allowance_for(std::vector<Allowance>& allowances, const diagnostics::Diagnostic& finding);

/// L023 for each allowance in `file` that was not used.
void report_unused(const std::vector<Allowance>& allowances, base::FileId file, diagnostics::Engine& engine);

/// One line for every error that is allowed, for the log of a run.
void log_allowed_errors(std::ostream& out, const base::SourceManager& sources,
                        const std::vector<diagnostics::Allowed>& allowed);

}  // namespace loop::driver
