// D: what the loss scale is divided by for a window.
#pragma once

#include "runtime/data/window_former.h"
#include "runtime/engine/objective.h"
#include "runtime/plan/plan.h"

namespace loop::engine {

/// Under fp16, with a loss that is a sum: the power of two near the N that this window will count, the
/// largest of all classes. Else 1. Known from what the window was formed with, before any batch is read, and
/// equal on all ranks; where a class counts what only the labels tell (class weights), their number stands
/// for it.
double loss_scale_divisor(const plan::Plan& plan, const data::WindowPlan& window, const Objective& objective);

}  // namespace loop::engine
