// What is known of a window and its micro-batches before any operation runs.
#pragma once

#include <functional>

#include "runtime/data/window_former.h"
#include "runtime/engine/interpreter.h"
#include "runtime/engine/window_state.h"

namespace loop::engine {

/// The state of a window that opens when `clocks` stand as they do; nothing is counted yet.
WindowState open_window(const plan::Plan& plan, const data::WindowPlan& window, const Clocks& clocks,
                        int64_t horizon, const Objective& objective);

/// The micro-batch with this 0-based index of a window of `micro_batches`.
MicroState open_micro_batch(size_t index, size_t micro_batches, Counts counts);

/// N_r: what one rank's micro-batches will have counted when their operations have run. `counts` gives a
/// micro-batch's by its index, one after the other.
Counts count_window(const std::vector<plan::Operation>& micro, const WindowState& window,
                    const Interpreter& interpreter, const Objective& objective,
                    const std::function<Counts(size_t)>& counts);

}  // namespace loop::engine
