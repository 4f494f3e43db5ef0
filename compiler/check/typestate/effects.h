// What is not wrong but costs, or does nothing.
#pragma once

#include "compiler/check/finding.h"
#include "compiler/check/typestate/facts.h"
#include "compiler/check/typestate/trace.h"

namespace loop::check {

/// `faulty`: errors have been reported; operations without effect are then left unmentioned.
void report_effects(const sema::Spec& spec, const Facts& facts, const Scenario& scenario,
                    const Repairs& repairs, bool faulty, diagnostics::Engine& engine);

}  // namespace loop::check
