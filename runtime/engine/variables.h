// What the names in a condition, a schedule or a limit stand for at run time.
#pragma once

#include "runtime/engine/window_state.h"
#include "runtime/plan/expression.h"

namespace loop::engine {

/// Every clock by name and `horizon`; `finite` once there is a verdict; `first` and `last` inside a
/// micro-batch; UNIT.global and UNIT.rank ("tokens.global") once the window's counts are known, UNIT.micro
/// inside a micro-batch; `micro_batches.counted` and `ranks`. The references must outlive the lookup.
plan::Lookup variables(const Clocks& clocks, const Objective& objective, const WindowState& window,
                       const MicroState* micro, int64_t ranks = 1);

/// Throws loop::Error (internal) naming what has no value.
double value_of(const plan::Expression& expression, const plan::Lookup& lookup, const std::string& purpose);

}  // namespace loop::engine
