// The standard library's update rules for tests that build plans by hand, read by the compiler itself.
#pragma once

#include "runtime/plan/plan.h"

namespace loop::testing {

/// `name`: "adamw". Throws std::runtime_error for a file that is missing or has errors.
const plan::UpdateRule& standard_rule(const std::string& name);

/// Adds the text of every rule that a step of the plan names, then runs the passes that the compiler runs.
plan::Plan completed(plan::Plan plan);

}  // namespace loop::testing
