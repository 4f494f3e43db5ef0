// What the language has and this runtime cannot do yet.
#pragma once

#include "runtime/plan/plan.h"

namespace loop::engine {

/// Throws loop::Error (findings), naming every key of the plan that asks for something this build cannot do,
/// so that nothing is ignored silently.
void refuse_unavailable(const plan::Plan& plan);

}  // namespace loop::engine
