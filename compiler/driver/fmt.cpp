// `loopc fmt`
#include <CLI/CLI.hpp>
#include <memory>

#include "compiler/diagnostics/render.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/subcommands.h"
#include "compiler/driver/text_file.h"
#include "compiler/driver/unified_diff.h"
#include "compiler/syntax/format.h"
#include "compiler/syntax/parser.h"

namespace loop::driver {
namespace {

struct FmtOptions {
  std::vector<std::string> files;
  bool check = false;
  bool diff = false;
};

/// The canonical text, or nothing when the text has syntax errors, which are then in the engine.
std::optional<std::string> canonical(Compilation& compilation, const std::string& path,
                                     const std::string& text) {
  const base::FileId id = compilation.sources.add(path, text);
  const syntax::ParseResult parsed = syntax::parse(compilation.sources, id, compilation.engine);
  if (parsed.had_errors) return std::nullopt;
  std::string formatted = syntax::format(compilation.sources, parsed.file);
  // A user's file is only ever replaced by a text that is known to be read in the same way.
  Compilation again;
  const base::FileId formatted_id = again.sources.add(path, formatted);
  const syntax::ParseResult reparsed = syntax::parse(again.sources, formatted_id, again.engine);
  if (reparsed.had_errors || syntax::format(again.sources, reparsed.file) != formatted) {
    throw std::logic_error("the formatted text of `" + path + "` is not stable; the file was left as it is");
  }
  return formatted;
}

/// True when the file is, or has now been put, in order.
bool format_file(const FmtOptions& options, const std::string& path, Compilation& compilation,
                 Context& context) {
  const bool standard_input = path == kStandardInput;
  const std::string shown_path = standard_input ? kStandardInputName : path;
  const std::string text = read_spec(path, context.in);
  const std::optional<std::string> formatted = canonical(compilation, shown_path, text);
  if (!formatted) return false;
  const bool only_look = options.check || options.diff;
  if (!only_look && standard_input) context.out << *formatted;
  if (*formatted == text) return true;
  if (options.diff) context.out << unified_diff(text, *formatted, shown_path, shown_path + " (formatted)");
  if (options.check && !options.diff) context.out << shown_path << " would be changed\n";
  if (!only_look && !standard_input) replace_file(path, *formatted);
  return !only_look;
}

int format_files(const FmtOptions& options, Context& context) {
  Compilation compilation;
  bool in_order = true;
  for (const std::string& path : options.files) {
    in_order = format_file(options, path, compilation, context) && in_order;
  }
  compilation.engine.sort();
  diagnostics::render_text(context.err, compilation.sources, compilation.engine.diagnostics(),
                           {.color = context.color_err});
  return in_order ? kDone : kFindings;
}

}  // namespace

Action add_fmt(CLI::App& app, Context& context) {
  auto options = std::make_shared<FmtOptions>();
  app.add_option("files", options->files,
                 "Spec files, rewritten in place; `-` formats standard input to standard output")
      ->required()
      ->type_name("FILE");
  app.add_flag("--check", options->check, "Write nothing; name the files that would change and exit with 1");
  app.add_flag("--diff", options->diff,
               "Write nothing; show what would change and exit with 1 if anything does");
  app.footer("A file with syntax errors is left as it is.");
  return [options, &context] { return format_files(*options, context); };
}

}  // namespace loop::driver
