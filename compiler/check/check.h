// Everything that can be wrong in a loop whose words are all right: order, synchronisation, normalisation,
// tail, clocks …
#pragma once

#include "compiler/diagnostics/engine.h"
#include "compiler/sema/spec.h"

namespace loop::check {

/// Runs all rule families over one loop and reports to `engine`.
void check(const sema::Spec& spec, diagnostics::Engine& engine);

}  // namespace loop::check
