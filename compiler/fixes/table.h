// Which finding has which fixes: one line per code. Fixing, and the reference page docs/reference/fixes.md,
// come from here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/fixes/subject.h"

namespace loop::fixes {

struct Entry {
  diagnostics::Code code;
  std::string_view certain;  // what `--fix` does; empty: nothing
  std::string_view likely;   // what is offered; empty: nothing
  /// The fixes that this folder makes; null where the analysis itself attaches them (a name that was meant).
  Fixes (*make)(const Subject&);
  /// Whether a fix that the analysis attached is applied by `--fix`.
  bool trusts_analysis = false;
};

/// In the order of the codes.
const std::vector<Entry>& table();
/// Null: the finding has no fix.
const Entry* find(diagnostics::Code code);
/// The table as the reference page shows it.
std::string reference_page();

}  // namespace loop::fixes
