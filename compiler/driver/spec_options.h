// Options that several subcommands share, with one spelling and one meaning.
#pragma once

#include "compiler/driver/pipeline.h"

namespace CLI {
class App;
}

namespace loop::driver {

/// `--set key=value`, any number of times.
void add_set_option(CLI::App& app, std::vector<std::string>& overrides);
/// FILE, `--set` and `--loop`, for the subcommands that are about one loop.
void add_loop_options(CLI::App& app, SpecRequest& request);

}  // namespace loop::driver
