// `loopc verify`: what the spec's window really gives, against one big batch.
#include <CLI/CLI.hpp>
#include <memory>
#include <system_error>

#include "compiler/diagnostics/render.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/process.h"
#include "compiler/driver/runtime_command.h"
#include "compiler/driver/spec_options.h"
#include "compiler/driver/subcommands.h"
#include "runtime/plan/json.h"

namespace loop::driver {
namespace {

struct VerifyOptions {
  SpecRequest request;
  VerifyRequest verification;
};

/// Syntax, names and keys: a spec with such errors has no meaning that could be executed. Codes are as the
/// families are: L0xx.
bool has_meaning(const diagnostics::Engine& engine) {
  for (const diagnostics::Diagnostic& finding : engine.diagnostics()) {
    const bool of_language = diagnostics::entry(finding.code).id < "L100";
    if (of_language && finding.severity == diagnostics::Severity::error) return false;
  }
  return true;
}

int verify_loop(const VerifyOptions& options, Context& context) {
  Compilation compilation;
  const std::vector<sema::Spec> specs = check_spec(compilation, options.request, context.in);
  diagnostics::render_text(context.err, compilation.sources, compilation.engine.diagnostics(),
                           {.color = context.color_err});
  if (!has_meaning(compilation.engine)) return kFindings;
  const sema::Spec& spec = only_loop(specs, options.request);
  if (compilation.engine.has_errors()) {
    context.err << "loopc: the spec has findings; it is executed as it is written\n";
  }
  const std::string plan = plan::to_json(lower_spec(compilation, spec)).dump();
  context.out.flush();
  context.err.flush();
  try {
    const Ended ended = run_in_foreground(verify_command(require_looprun(), options.verification), plan);
    if (ended.signal == 0) return ended.status;
    context.err << "loopc: the runtime was ended by signal " << ended.signal << '\n';
    return kInternal;
  } catch (const std::system_error& error) {
    throw InstallationError("the runtime cannot be started: " + std::string(error.what()));
  }
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
