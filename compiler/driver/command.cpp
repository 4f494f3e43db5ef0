#include "compiler/driver/command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "compiler/diagnostics/render.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/subcommands.h"
#include "loop_versions.h"

namespace loop::driver {
namespace {

struct Subcommand {
  const char* name;
  const char* summary;
  Action (*add)(CLI::App&, Context&);
};

constexpr Subcommand kSubcommands[] = {
    {"check", "Say what is wrong in spec files", add_check},
    {"fmt", "Write spec files in the canonical form", add_fmt},
    {"plan", "Show what a run of a loop would do", add_plan},
    {"run", "Train", add_run},
    {"verify", "Compare a window's gradient with one big batch", add_verify},
    {"explain", "Explain a finding by its code or name", add_explain},
    {"doctor", "Say what this installation can do and what it lacks", add_doctor},
};

int parse_and_run(const std::vector<std::string>& args, Context& context) {
  CLI::App app("Loop: a compiler and runtime for training loops", "loopc");
  app.set_version_flag("--version", std::string("loopc " LOOP_VERSION " (" LOOP_GIT_REVISION
                                                ", " LOOP_COMPILER ", " LOOP_BUILD_TYPE ")"));
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 done, 1 findings, 2 wrong usage, 3 internal error or broken installation, 4 training "
      "failed, 5 a process of several lost, "
      "130 interrupted.");
  std::vector<std::pair<CLI::App*, Action>> actions;
  for (const Subcommand& subcommand : kSubcommands) {
    CLI::App* added = app.add_subcommand(subcommand.name, subcommand.summary);
    actions.emplace_back(added, subcommand.add(*added, context));
  }
  try {
    std::vector<std::string> reversed(args.rbegin(), args.rend());  // the order CLI11 takes them in
    app.parse(std::move(reversed));
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked, context.out, context.err);
  } catch (const CLI::ParseError& error) {
    const auto parsed = app.get_subcommands();
    const std::string command = parsed.empty() ? "" : " " + parsed.front()->get_name();
    context.err << "loopc: " << error.what() << "\nSee `loopc" << command << " --help`.\n";
    return kUsage;
  }
  for (const auto& [subcommand, action] : actions) {
    if (subcommand->parsed()) return action();
  }
  return kUsage;
}

}  // namespace

int run_command(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
                std::ostream& err) {
  // Only the process' own streams can be a terminal.
  const bool own_out = &out == &std::cout;
  const bool own_err = &err == &std::cerr;
  Context context{in, out, err, own_out && diagnostics::want_color(STDOUT_FILENO),
                  own_err && diagnostics::want_color(STDERR_FILENO)};
  try {
    const int status = parse_and_run(args, context);
    out.flush();
    if (!out) throw InstallationError("the output cannot be written; is the disk full?");
    return status;
  } catch (const UsageError& error) {
    err << "loopc: " << error.what() << '\n';
    return kUsage;
  } catch (const InstallationError& error) {
    err << "loopc: " << error.what() << '\n';
    return kInternal;
  } catch (const std::exception& error) {
    err << "loopc: this is a fault of loopc, not of your file: " << error.what()
        << "\nPlease report it together with the file and the output of `loopc --version`.\n";
    return kInternal;
  }
}

}  // namespace loop::driver
