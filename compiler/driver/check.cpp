// `loopc check`
#include <CLI/CLI.hpp>
#include <memory>

#include "compiler/driver/check_files.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/fix.h"
#include "compiler/driver/merge.h"
#include "compiler/driver/output_format.h"
#include "compiler/driver/spec_options.h"
#include "compiler/driver/subcommands.h"
#include "compiler/driver/text_file.h"

namespace loop::driver {
namespace {

struct CheckOptions {
  std::vector<std::string> files;
  std::string format = "text";
  CheckPatterns patterns;
  CheckRequest request;
  bool fix = false;
  bool diff = false;
};

void add_patterns(CLI::App& app, const std::string& option, std::optional<std::vector<std::string>>& patterns,
                  const std::string& description) {
  app.add_option_function<std::vector<std::string>>(
         option, [&patterns](const std::vector<std::string>& written) { patterns = written; }, description)
      ->type_name("WHAT")
      ->type_size(1)
      ->expected(1)
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

int check(const CheckOptions& options, Context& context) {
  SettingsOfFiles settings(options.patterns);
  const std::vector<SpecFile> specs = spec_files(options.files);
  CheckRequest request = options.request;
  // Standard output belongs to the repaired text or the difference, where there is one.
  bool out_is_taken = false;
  if (options.fix || options.diff) {
    for (FixedFile& file : fix_files(specs, !options.diff, settings, context)) {
      out_is_taken = out_is_taken || options.diff || file.path == kStandardInput;
      request.texts[file.path] = std::move(file.text);
    }
  }
  const auto files = check_files(specs, request, settings, context.in);
  base::SourceManager sources;
  diagnostics::Report report = merge(files, sources);
  if (shows_fixes(options.format)) attach_fixes(specs, report);
  Context beside{context.in, context.err, context.err, context.color_err, context.color_err};
  write_report(options.format, report, out_is_taken ? beside : context);
  return report.failing > 0 ? kFindings : kDone;
}

}  // namespace

Action add_check(CLI::App& app, Context& context) {
  auto options = std::make_shared<CheckOptions>();
  app.add_option("files", options->files,
                 "Spec files, and folders that are searched for `*.loop`; `-` reads standard input")
      ->required()
      ->type_name("PATH");
  app.add_option("--format", options->format, "How findings are written")
      ->check(CLI::IsMember(output_formats()))
      ->capture_default_str();
  add_patterns(
      app, "--select", options->patterns.select,
      "Show these findings only: codes, names, beginnings of codes (L3), families (order), severities");
  add_patterns(app, "--ignore", options->patterns.ignore, "Do not show these; errors are still counted");
  add_patterns(app, "--error-on", options->patterns.error_on, "Fail on these too; errors always fail");
  app.add_flag("--fix", options->fix,
               "Write the repairs that are certain into the files, then check those; with `-` the repaired "
               "text goes to standard output and the findings to standard error");
  app.add_flag("--diff", options->diff,
               "Write nothing; show what --fix would change, and what it would leave on standard error");
  add_set_option(app, options->request.overrides);
  app.add_flag("--data", options->request.look_for_data, "Look whether the data files that are named exist");
  app.add_option("--jobs", options->request.jobs,
                 "Files checked at the same time; by default one per processor")
      ->type_name("N")
      ->check(CLI::Range(size_t{1}, size_t{1} << 10));
  app.footer(
      "Exit status: 0 nothing that fails, 1 findings, 2 wrong usage, 3 internal error. The nearest loop.toml "
      "above a spec gives the same settings: [check] select, ignore, error_on.");
  return [options, &context] { return check(*options, context); };
}

}  // namespace loop::driver
