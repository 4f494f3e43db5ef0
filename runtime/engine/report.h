// From what a window left behind to what is reported of it.
#pragma once

#include "runtime/engine/parts.h"
#include "runtime/engine/window_runner.h"
#include "runtime/telemetry/record.h"

namespace loop::engine {

/// The record of a finished window; `clocks` as they are after it. Reads the losses from the device.
telemetry::UpdateRecord make_record(const Parts& parts, const Clocks& clocks, const data::WindowPlan& window,
                                    const WindowResult& result);

/// The run as it begins.
telemetry::RunStart make_start(const Parts& parts, std::optional<int64_t> planned_updates);

}  // namespace loop::engine
