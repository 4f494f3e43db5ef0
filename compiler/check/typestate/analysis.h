// Both analyses of a loop's order and denominators: every scenario is executed and judged against the
// reference.
#pragma once

#include "compiler/check/check.h"
#include "compiler/diagnostics/engine.h"
#include "compiler/sema/spec.h"

namespace loop::check {

/// Reports every fault once, each as if the ones reported before it were repaired; or only the first.
void analyze_program(const sema::Spec& spec, diagnostics::Engine& engine, Thoroughness thoroughness);

}  // namespace loop::check
