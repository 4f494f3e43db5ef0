// What the language has and this runtime cannot do yet.
#pragma once

#include "runtime/plan/plan.h"

namespace loop::engine {

/// Throws loop::Error (findings) when the plan is for another number of ranks than `ranks`, and naming every
/// key of the plan that asks for something this build cannot do, so that nothing is ignored silently.
void refuse_unavailable(const plan::Plan& plan, int64_t ranks = 1);

}  // namespace loop::engine
