// Syntax trees to a Spec: modules, names, types and units, constants, extends, recipes, overrides.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compiler/diagnostics/engine.h"
#include "compiler/sema/spec.h"

namespace loop::sema {

struct Options {
  std::string path;                    // the spec, as the user wrote it
  std::optional<std::string> text;     // its text; absent: read from `path`
  std::string loop;                    // which loop of the file; empty: every complete one
  std::vector<std::string> overrides;  // "window.size=16 micro_batches"
  std::filesystem::path stdlib_dir;    // where std.* lives
  bool look_for_data = false;          // `--data`: named files must exist
};

struct AnalysisResult {
  /// One Spec per loop that could be understood well enough to be checked further. A loop with errors that
  /// leave its program or its objective unknown is absent; its diagnostics are in the engine.
  std::vector<Spec> specs;
  base::FileId file;
};

/// Never throws on user input. An unreadable file is a diagnostic.
AnalysisResult analyze(base::SourceManager& sources, diagnostics::Engine& engine, const Options& options);

}  // namespace loop::sema
