// `horizon`: how many updates the run is planned to apply.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/data/window_former.h"
#include "runtime/plan/plan.h"

namespace loop::engine {

/// The number of windows until the first bound of `stop` that can be counted (updates, attempts, epochs,
/// samples, tokens and their seen variants, micro-batches) is reached, as if every window were applied. Time,
/// evaluations and `no_better` do not count. Nothing when there is no such bound.
std::optional<int64_t> planned_updates(const plan::Plan& plan, const data::WindowFormerOptions& options);

/// True when the plan reads `horizon` anywhere: in a step's hyper-parameters, a limit, a condition or an
/// average's decay.
bool reads_horizon(const plan::Plan& plan);

}  // namespace loop::engine
