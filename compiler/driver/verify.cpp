// `loopc verify`: what the spec's window really gives, against one big batch.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "compiler/diagnostics/render.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/foreground_runtime.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/runtime_command.h"
#include "compiler/driver/spec_options.h"
#include "compiler/driver/subcommands.h"

namespace loop::driver {
namespace {

struct VerifyOptions {
  SpecRequest request;
  VerifyRequest verification;
};

int verify_loop(const VerifyOptions& options, Context& context) {
  Compilation compilation;
  const std::vector<sema::Spec> specs = check_spec(compilation, options.request, context.in);
  diagnostics::render_text(context.err, compilation.sources, compilation.engine.diagnostics(),
                           {.color = context.color_err});
  const auto& findings = compilation.engine.diagnostics();
  if (std::any_of(findings.begin(), findings.end(), diagnostics::leaves_no_meaning)) return kFindings;
  const sema::Spec& spec = only_loop(specs, options.request);
  if (compilation.engine.has_errors()) {
    context.err << "loopc: the spec has findings; it is executed as it is written\n";
  }
  return run_runtime(verify_command(require_looprun(), options.verification), lower_spec(compilation, spec, options.request),
                     context);
}

}  // namespace

Action add_verify(CLI::App& app, Context& context) {
  auto options = std::make_shared<VerifyOptions>();
  VerifyRequest& verification = options->verification;
  add_loop_options(app, options->request);
  app.add_option("--window", verification.window, "first, tail (the one that ends the epoch) or a number")
      ->type_name("WINDOW")
      ->capture_default_str();
  app.add_option("--ranks", verification.ranks,
                 "Ranks, simulated one after the other; by default the spec's, else 1 and 2")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{64}));
  app.add_option("--tolerance", verification.tolerance, "Relative error that counts as equal (1e-10)")
      ->type_name("ERROR")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--data-dir", verification.data_dir, "Where relative data paths start")->type_name("DIR");
  app.add_flag("--json", verification.json, "The report for a program");
  return [options, &context] {
    options->request.look_for_data = options->verification.data_dir.empty();
    return verify_loop(*options, context);
  };
}

}  // namespace loop::driver
