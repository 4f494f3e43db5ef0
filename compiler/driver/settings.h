// What of the findings is shown and what fails a check: the options of `loopc check` and `loop.toml`.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/diagnostics/report.h"
#include "compiler/diagnostics/selector.h"

namespace loop::driver {

/// Patterns as written; absent: not said.
struct CheckPatterns {
  std::optional<std::vector<std::string>> select;
  std::optional<std::vector<std::string>> ignore;
  std::optional<std::vector<std::string>> error_on;
};

/// The nearest `loop.toml` in `folder` and the folders above it; empty when there is none.
std::filesystem::path find_settings(const std::filesystem::path& folder);

/// The table `[check]` of a settings file. Throws UsageError with path, line and column for a text that is no
/// TOML, an unknown table or key (with a suggestion), and a value of the wrong type.
CheckPatterns read_settings(const std::string& path);

/// What is shown and what counts.
class Settings {
 public:
  /// What the command line says takes the place of what `file` (shown as `file_name`) says, key by key. A
  /// pattern that means nothing throws UsageError.
  Settings(const CheckPatterns& command_line, const CheckPatterns& file, const std::string& file_name);
  /// `ignore` wins over `select`.
  bool shows(const diagnostics::Diagnostic& finding) const;
  /// Errors always fail; `error_on` adds to them: `warning` all warnings, `note` notes and warnings.
  bool fails(const diagnostics::Diagnostic& finding) const;

 private:
  std::optional<diagnostics::Selector> select_;
  diagnostics::Selector ignore_;
  diagnostics::Selector error_on_;
};

/// The settings of each file: those of its nearest `loop.toml`, key by key replaced by the command line's.
class SettingsOfFiles {
 public:
  explicit SettingsOfFiles(CheckPatterns command_line) : command_line_(std::move(command_line)) {}
  /// `path` is a spec's or `-`, which has those of the working folder. Throws as `read_settings` and
  /// `Settings` do.
  const Settings& of(const std::string& path);

 private:
  CheckPatterns command_line_;
  std::map<std::filesystem::path, Settings> by_settings_file_;
};

}  // namespace loop::driver
