// `loopc explain`
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "compiler/base/text.h"
#include "compiler/diagnostics/engine.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/resources.h"
#include "compiler/driver/subcommands.h"
#include "compiler/driver/text_file.h"

namespace loop::driver {
namespace {

int list_codes(Context& context) {
  std::vector<diagnostics::CatalogEntry> lines = diagnostics::catalog();
  std::sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  size_t width = 0;
  for (const auto& line : lines) width = std::max(width, line.name.size());
  for (const auto& line : lines) {
    const std::string severity = diagnostics::name(line.severity);
    context.out << line.id << "  " << line.name << std::string(width - line.name.size() + 2, ' ') << severity
                << '\n';
  }
  return kDone;
}

int explain(const std::string& asked, Context& context) {
  if (asked.empty()) return list_codes(context);
  const diagnostics::CatalogEntry* line = diagnostics::find(asked);
  if (line == nullptr) {
    std::vector<std::string> known;
    for (const auto& candidate : diagnostics::catalog()) {
      known.emplace_back(candidate.id);
      known.emplace_back(candidate.name);
    }
    const auto near = base::nearest(asked, known);
    throw UsageError("there is no finding `" + asked + "`" + (near ? "; did you mean `" + *near + "`?" : "") +
                     " `loopc explain` lists them all");
  }
  const std::filesystem::path page = error_pages_dir() / (std::string(line->id) + ".md");
  std::error_code error;
  if (!std::filesystem::is_regular_file(page, error)) {
    throw InstallationError("the page of " + std::string(line->id) + " " + std::string(line->name) +
                            " is missing from this installation; set LOOP_HOME to a folder with docs/errors");
  }
  context.out << read_file(page.string());
  return kDone;
}

}  // namespace

Action add_explain(CLI::App& app, Context& context) {
  auto asked = std::make_shared<std::string>();
  app.add_option("code", *asked, "A code (L110) or a name (clip-before-unscale); without one, all are listed")
      ->type_name("CODE");
  return [asked, &context] { return explain(*asked, context); };
}

}  // namespace loop::driver
