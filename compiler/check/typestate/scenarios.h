// The executions that together show every difference: full, short, non-finite and empty windows in every
// order that matters.
#pragma once

#include <vector>

#include "compiler/check/typestate/facts.h"
#include "compiler/check/typestate/trace.h"
#include "compiler/sema/spec.h"

namespace loop::check {

/// Plain ones first, so that a fault is shown where it is easiest to see.
std::vector<Scenario> scenarios(const sema::Spec& spec, const Facts& facts);

}  // namespace loop::check
