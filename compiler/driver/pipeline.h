// The one place where the compiler's stages are wired together: text → meaning → checks → plan.
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/source.h"
#include "compiler/diagnostics/engine.h"
#include "compiler/diagnostics/report.h"
#include "compiler/sema/spec.h"
#include "runtime/plan/plan.h"

namespace loop::driver {

/// Sources and findings of one command.
struct Compilation {
  base::SourceManager sources;
  diagnostics::Engine engine;
  std::vector<diagnostics::Allowed> allowed;  // findings that comments in the texts allow: not in the engine
};

struct SpecRequest {
  std::string path;                    // `-` is standard input
  std::string loop;                    // empty: every loop of the file
  std::vector<std::string> overrides;  // key=value
  bool look_for_data = false;
  std::optional<std::string> text;          // checked in the place of what the file holds
  bool may_lack_loop = false;               // a file with definitions for others is no finding
  std::vector<std::string> without_passes;  // of the plan
};

/// Reads a file and says everything that is wrong in it. Findings go to the compilation's engine, sorted,
/// save those that comments allow (allowances.h); of a text with syntax errors those alone. Throws UsageError
/// for a file that cannot be read and for an override without `=`.
std::vector<sema::Spec> check_spec(Compilation& compilation, const SpecRequest& request, std::istream& in);

/// The one loop of the file that `plan` and `run` are about. Throws UsageError when there is none, or several
/// and none is named.
const sema::Spec& only_loop(const std::vector<sema::Spec>& specs, const SpecRequest& request);

/// Lowers a spec without errors and runs the plan's passes, those left out by the request excepted.
plan::Plan lower_spec(const Compilation& compilation, const sema::Spec& spec, const SpecRequest& request);

}  // namespace loop::driver
