#include "compiler/driver/spec_options.h"

#include <CLI/CLI.hpp>

#include "compiler/plan/passes/passes.h"

namespace loop::driver {

void add_set_option(CLI::App& app, std::vector<std::string>& overrides) {
  app.add_option("--set", overrides, "Override a value of the spec, typed and checked like the file")
      ->type_name("KEY=VALUE")
      ->type_size(1)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

void add_loop_options(CLI::App& app, SpecRequest& request) {
  app.add_option("file", request.path, "The spec; `-` reads standard input")->required()->type_name("FILE");
  add_set_option(app, request.overrides);
  app.add_option("--loop", request.loop, "Which loop of the file, when it has several")->type_name("NAME");
  std::vector<std::string> passes;
  for (const planner::Pass& pass : planner::passes()) passes.emplace_back(pass.name);
  app.add_option("--without-pass", request.without_passes,
                 "Leave out a pass of the plan: the same result to rounding, with more memory traffic")
      ->type_name("PASS")
      ->check(CLI::IsMember(passes))
      ->allow_extra_args(false);
}

}  // namespace loop::driver
