// `loopc check`
#include <CLI/CLI.hpp>
#include <memory>

#include "compiler/diagnostics/render.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/spec_options.h"
#include "compiler/driver/subcommands.h"

namespace loop::driver {
namespace {

struct CheckOptions {
  std::vector<std::string> files;
  std::string format = "text";
  std::vector<std::string> overrides;
  bool look_for_data = false;
};

int check_files(const CheckOptions& options, Context& context) {
  Compilation compilation;
  for (const std::string& file : options.files) {
    check_spec(compilation, {file, "", options.overrides, options.look_for_data}, context.in);
  }
  const auto& findings = compilation.engine.diagnostics();
  if (options.format == "json") {
    diagnostics::render_json(context.out, compilation.sources, findings);
  } else {
    diagnostics::render_text(context.out, compilation.sources, findings, {.color = context.color_out});
  }
  return compilation.engine.has_errors() ? kFindings : kDone;
}

}  // namespace

Action add_check(CLI::App& app, Context& context) {
  auto options = std::make_shared<CheckOptions>();
  app.add_option("files", options->files, "Spec files; `-` reads standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("--format", options->format,
                 "How findings are written: text for a person, json for a program")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  add_set_option(app, options->overrides);
  app.add_flag("--data", options->look_for_data, "Look whether the data files that are named exist");
  return [options, &context] { return check_files(*options, context); };
}

}  // namespace loop::driver
