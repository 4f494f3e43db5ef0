// The loopc command line as a function, so that tests call it as a shell does.
#pragma once

#include <istream>
#include <ostream>
#include <string>
#include <vector>

namespace loop::driver {

/// Runs one command; `args` are those after the program's name. Results go to `out`, what is wrong to `err`.
/// Returns the exit status (exit_codes.h) and never throws. `run` starts the runtime, whose output goes to
/// this process' own standard streams.
int run_command(const std::vector<std::string>& args, std::istream& in, std::ostream& out, std::ostream& err);

}  // namespace loop::driver
