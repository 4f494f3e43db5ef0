#include "compiler/driver/settings.h"

#include <algorithm>

#include "compiler/driver/context.h"
#include "compiler/driver/text_file.h"

namespace loop::driver {
namespace fs = std::filesystem;
namespace {

diagnostics::Selector selector(const std::vector<std::string>& patterns, const std::string& origin) {
  diagnostics::Selector selector;
  for (const std::string& pattern : patterns) {
    if (selector.add(pattern)) continue;
    const std::string near = diagnostics::nearest_pattern(pattern);
    throw UsageError(origin + ": `" + pattern + "` is no code, name, family or severity of findings" +
                     (near.empty() ? "; `loopc explain` lists them" : "; did you mean `" + near + "`?"));
  }
  return selector;
}

/// In `error_on` a severity stands for itself and what is graver.
std::vector<std::string> with_graver(std::vector<std::string> patterns, const std::string& key) {
  const bool notes = std::find(patterns.begin(), patterns.end(), "note") != patterns.end();
  if (notes && key == "error_on") patterns.emplace_back("warning");
  return patterns;
}

}  // namespace

fs::path find_settings(const fs::path& folder) {
  std::error_code error;
  fs::path at = fs::canonical(folder.empty() ? fs::path(".") : folder, error);
  if (error) return {};
  while (true) {
    const fs::path candidate = at / "loop.toml";
    if (fs::exists(candidate, error)) return candidate;
    if (!at.has_relative_path()) return {};
    at = at.parent_path();
  }
}

Settings::Settings(const CheckPatterns& command_line, const CheckPatterns& file,
                   const std::string& file_name) {
  using Patterns = std::optional<std::vector<std::string>>;
  const auto chosen = [&](const Patterns& written, const Patterns& stored, const char* option,
                          const char* key) -> std::optional<diagnostics::Selector> {
    if (written) return selector(with_graver(*written, key), option);
    if (stored) return selector(with_graver(*stored, key), file_name + ": `" + key + "`");
    return std::nullopt;
  };
  select_ = chosen(command_line.select, file.select, "--select", "select");
  ignore_ = chosen(command_line.ignore, file.ignore, "--ignore", "ignore").value_or(diagnostics::Selector());
  error_on_ = chosen(command_line.error_on, file.error_on, "--error-on", "error_on")
                  .value_or(diagnostics::Selector());
}

bool Settings::shows(const diagnostics::Diagnostic& finding) const {
  return (!select_ || select_->matches(finding)) && !ignore_.matches(finding);
}

bool Settings::fails(const diagnostics::Diagnostic& finding) const {
  return finding.severity == diagnostics::Severity::error || error_on_.matches(finding);
}

const Settings& SettingsOfFiles::of(const std::string& path) {
  const fs::path folder = path == kStandardInput ? fs::path() : fs::path(path).parent_path();
  const fs::path file = find_settings(folder);
  const auto known = by_settings_file_.find(file);
  if (known != by_settings_file_.end()) return known->second;
  std::error_code error;
  const std::string shown = file.empty() ? "" : fs::proximate(file, error).string();
  const CheckPatterns stored = file.empty() ? CheckPatterns() : read_settings(error ? file.string() : shown);
  return by_settings_file_.emplace(file, Settings(command_line_, stored, shown)).first->second;
}

}  // namespace loop::driver
