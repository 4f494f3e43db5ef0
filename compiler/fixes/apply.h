// From findings to a repaired text. Every fix is tried in memory first: it counts only when the check of the
// edited text has lost the finding and has no other in exchange.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/diagnostics/engine.h"

namespace loop::fixes {

/// What a check says of one text.
struct Checked {
  base::FileId file;                              // the text itself: only findings in it are repaired
  std::vector<diagnostics::Diagnostic> findings;  // all of them, in other files too
  size_t loops = 0;                               // how many loops were understood well enough to be checked
};

/// Checks a text as if it stood in the file. Calls need not agree on `file`.
using Check = std::function<Checked(const std::string& text)>;

struct Applied {
  diagnostics::Code code;
  std::string title;
};

struct Fixed {
  std::string text;
  std::vector<Applied> applied;  // in the order of their application
  size_t remaining = 0;          // findings that are left, in the text or elsewhere
};

/// Applies every certain fix, one after the other, until none is left. Of each code there are then at most as
/// many findings as before, unless a loop could be checked for the first time: what that reveals was there
/// before. A fix that brings something else to light counts together with the certain fixes of that, or not
/// at all. A text in canonical form stays in it. Fixing the result changes nothing. With `wanted` only
/// findings that it accepts are repaired.
Fixed fix_text(const std::string& text, const Check& check,
               const std::function<bool(const diagnostics::Diagnostic&)>& wanted = {});

/// Gives the findings that are about `text` (those in `file`) their fixes: `certain` ones that passed the
/// check, and `likely` ones that at least repair the finding. Replaces what the analysis proposed.
void attach_fixes(const std::string& text, base::FileId file, const Check& check,
                  std::vector<diagnostics::Diagnostic>& findings);

}  // namespace loop::fixes
