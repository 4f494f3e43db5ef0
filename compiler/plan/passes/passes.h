// What the compiler makes of a plan beyond the order that was written: the same parameters, with less memory
// and fewer passes over it. One file per pass.
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace loop::planner {

/// Leaves out branches of update rules that constant hyper-parameters decide, and the states nobody then
/// reads.
void specialise_rules(plan::Plan& plan);

/// Marks operations of the window's end that need no pass over the gradient of their own.
void fold_update(plan::Plan& plan);

struct Pass {
  const char* name;
  void (*run)(plan::Plan& plan);
};
/// In the order in which they run.
const std::vector<Pass>& passes();

}  // namespace loop::planner
