// `loopc check --fix` and `--diff`: repairs that are certain, tried before they are written.
#pragma once

#include <string>
#include <vector>

#include "compiler/diagnostics/report.h"
#include "compiler/driver/context.h"
#include "compiler/driver/settings.h"
#include "compiler/driver/spec_files.h"
#include "compiler/fixes/apply.h"

namespace loop::driver {

/// How a text is checked that stands at `path` (`-`: standard input), whatever the file holds. Overrides play
/// no part: they are not in the file.
fixes::Check check_of(const std::string& path);

/// The text with every certain fix applied; `path` decides where its `use .name` are looked for. For tests
/// and tools: text in, text out, no file is written.
fixes::Fixed fix_text(const std::string& path, const std::string& text);

/// What a file came to. `text` is what was, or would be, written.
struct FixedFile {
  std::string path;
  std::string text;
  std::vector<fixes::Applied> applied;
};

/// Repairs what is shown of the findings in each file. All files are read and repaired before the first is
/// written. With `write` a changed file is replaced at once, and the text of standard input goes to `out`;
/// without it the differences go to `out`. Throws UsageError for a file that cannot be read or written; that
/// file and those after it are as they were.
std::vector<FixedFile> fix_files(const std::vector<SpecFile>& files, bool write, SettingsOfFiles& settings,
                                 Context& context);

/// Whether an output format holds fixes, so that they are worth being tried.
bool shows_fixes(const std::string& format);

/// Gives the findings in these files their fixes, each tried (fixes/apply.h).
void attach_fixes(const std::vector<SpecFile>& files, diagnostics::Report& report);

}  // namespace loop::driver
