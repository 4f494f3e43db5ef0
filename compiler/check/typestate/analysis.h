// Both analyses of a loop's order and denominators: every scenario is executed and judged against the
// reference.
#pragma once

#include "compiler/diagnostics/engine.h"
#include "compiler/sema/spec.h"

namespace loop::check {

/// Reports every fault once, each as if the ones reported before it were repaired.
void analyze_program(const sema::Spec& spec, diagnostics::Engine& engine);

}  // namespace loop::check
