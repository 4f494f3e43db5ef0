// Everything that can be wrong in a loop whose words are all right: order, synchronisation, normalisation,
// tail, clocks …
#pragma once

#include "compiler/diagnostics/engine.h"
#include "compiler/sema/spec.h"

namespace loop::check {

/// Whether anything is wrong, or everything that is.
enum class Thoroughness { first_fault, every_fault };

/// Runs all rule families over one loop and reports to `engine`. With `first_fault` the analyses of order and
/// denominators, which are the costly ones, stop at the first error they find.
void check(const sema::Spec& spec, diagnostics::Engine& engine,
           Thoroughness thoroughness = Thoroughness::every_fault);

}  // namespace loop::check
