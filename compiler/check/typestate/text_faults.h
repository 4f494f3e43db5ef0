// Faults of a program that show in its text, before anything is executed.
#pragma once

#include "compiler/check/finding.h"

namespace loop::check {

/// Reports them, and takes them as repaired.
void report_text_faults(const sema::Spec& spec, Repairs& repairs, diagnostics::Engine& engine);

}  // namespace loop::check
