// One function per subcommand, each in a file of its own. It adds the subcommand's options to `app` and
// returns what is to be done once they are parsed; the result is the exit status.
#pragma once

#include <functional>

#include "compiler/driver/context.h"

namespace CLI {
class App;
}

namespace loop::driver {

using Action = std::function<int()>;

Action add_check(CLI::App& app, Context& context);
Action add_fmt(CLI::App& app, Context& context);
Action add_explain(CLI::App& app, Context& context);
Action add_plan(CLI::App& app, Context& context);
Action add_run(CLI::App& app, Context& context);
Action add_verify(CLI::App& app, Context& context);
Action add_doctor(CLI::App& app, Context& context);

}  // namespace loop::driver
