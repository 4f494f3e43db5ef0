// `loopc run`: the only subcommand that starts the runtime to train.
#include <CLI/CLI.hpp>
#include <memory>

#include "compiler/diagnostics/render.h"
#include "compiler/driver/allowances.h"
#include "compiler/driver/availability.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/foreground_runtime.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/runtime_command.h"
#include "compiler/driver/spec_options.h"
#include "compiler/driver/subcommands.h"

namespace loop::driver {
namespace {

struct RunOptions {
  SpecRequest request;
  std::string out;
  std::optional<int64_t> ranks;
};

int run_loop(const RunOptions& options, Context& context) {
  Compilation compilation;
  const std::vector<sema::Spec> specs = check_spec(compilation, options.request, context.in);
  const bool sound = !compilation.engine.has_errors();
  const sema::Spec* spec = sound ? &only_loop(specs, options.request) : nullptr;
  if (spec != nullptr) {
    report_unavailable(*spec, options.ranks, compilation.engine);
    compilation.engine.sort();
  }
  diagnostics::render_text(context.err, compilation.sources, compilation.engine.diagnostics(),
                           {.color = context.color_err});
  if (compilation.engine.has_errors()) return kFindings;
  log_allowed_errors(context.err, compilation.sources, compilation.allowed);
  const std::filesystem::path looprun = require_looprun();
  return run_runtime(train_command(looprun, options.out, options.ranks), lower_spec(compilation, *spec, options.request),
                     context);
}

}  // namespace

Action add_run(CLI::App& app, Context& context) {
  auto options = std::make_shared<RunOptions>();
  options->request.look_for_data = true;
  add_loop_options(app, options->request);
  app.add_option("--out", options->out,
                 "Folder for the run's records; by default the one of the spec's `log`")
      ->type_name("DIR");
  app.add_option("--ranks", options->ranks, "Number of processes that train together")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  return [options, &context] { return run_loop(*options, context); };
}

}  // namespace loop::driver
