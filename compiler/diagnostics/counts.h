// Counting findings for summaries.
#pragma once

#include <string>
#include <vector>

#include "compiler/diagnostics/engine.h"

namespace loop::diagnostics {

/// "1 error", "3 errors"
std::string counted(size_t count, const std::string& noun);

size_t count(const std::vector<Diagnostic>& diagnostics, Severity severity);
/// Files in which findings have their place.
size_t files_with_findings(const std::vector<Diagnostic>& diagnostics);

}  // namespace loop::diagnostics
