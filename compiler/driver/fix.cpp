#include "compiler/driver/fix.h"

#include <algorithm>
#include <sstream>

#include "compiler/driver/pipeline.h"
#include "compiler/driver/text_file.h"
#include "compiler/driver/unified_diff.h"

namespace loop::driver {
namespace {

std::string shown(const std::string& path) {
  return path == kStandardInput ? kStandardInputName : path;
}

void tell(const FixedFile& file, bool done, std::ostream& err) {
  for (const fixes::Applied& applied : file.applied) {
    err << shown(file.path) << ": " << (done ? "repaired " : "would repair ")
        << diagnostics::entry(applied.code).id << ": " << applied.title << '\n';
  }
}

}  // namespace

fixes::Check check_of(const std::string& path) {
  return [path](const std::string& text) {
    Compilation compilation;
    std::istringstream no_input;
    SpecRequest request;
    request.path = path;
    request.text = text;
    fixes::Checked checked;
    checked.loops = check_spec(compilation, request, no_input).size();
    checked.findings = compilation.engine.diagnostics();
    checked.file = base::FileId{1};  // the spec's text is the first that is read
    return checked;
  };
}

fixes::Fixed fix_text(const std::string& path, const std::string& text) {
  return fixes::fix_text(text, check_of(path));
}

std::vector<FixedFile> fix_files(const std::vector<SpecFile>& files, bool write, SettingsOfFiles& settings,
                                 Context& context) {
  std::vector<FixedFile> results;
  std::vector<std::string> before;
  for (const SpecFile& file : files) {
    const Settings& own = settings.of(file.path);
    before.push_back(read_spec(file.path, context.in));
    fixes::Fixed fixed =
        fixes::fix_text(before.back(), check_of(file.path),
                        [&own](const diagnostics::Diagnostic& finding) { return own.shows(finding); });
    results.push_back({file.path, std::move(fixed.text), std::move(fixed.applied)});
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const FixedFile& file = results[i];
    if (!write) {
      context.out << unified_diff(before[i], file.text, shown(file.path), shown(file.path) + " (fixed)");
    } else if (file.path == kStandardInput) {
      context.out << file.text;
    } else if (file.text != before[i]) {
      replace_file(file.path, file.text);
    }
    tell(file, write, context.err);
  }
  return results;
}

bool shows_fixes(const std::string& format) {
  return format == "json" || format == "sarif";
}

void attach_fixes(const std::vector<SpecFile>& files, diagnostics::Report& report) {
  for (const SpecFile& file : files) {
    const std::string path = shown(file.path);
    const auto here = [&](const diagnostics::Diagnostic& finding) {
      return finding.span && report.sources.file(finding.span.file).path() == path;
    };
    const auto first = std::find_if(report.findings.begin(), report.findings.end(), here);
    if (first == report.findings.end()) continue;
    const base::FileId id = first->span.file;
    fixes::attach_fixes(report.sources.file(id).text(), id, check_of(file.path), report.findings);
  }
}

}  // namespace loop::driver
