// The runtime in the foreground, as `run` and `verify` start it.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/context.h"
#include "runtime/plan/plan.h"

namespace loop::driver {

/// Runs `command` (runtime_command.h) with the plan on its standard input and waits; returns the exit status
/// for our own process, a signal that ended the runtime translated into one. Throws InstallationError when it
/// cannot be started.
int run_runtime(const std::vector<std::string>& command, const plan::Plan& plan, Context& context);

}  // namespace loop::driver
