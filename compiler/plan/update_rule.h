// The text of an update rule for the plan.
#pragma once

#include "compiler/sema/spec.h"
#include "runtime/plan/update_rule.h"

namespace loop::planner {

plan::UpdateRule update_rule(const sema::RuleDefinition& rule);

}  // namespace loop::planner
