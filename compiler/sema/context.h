// What every part of the analysis needs: texts, findings, and the files with their names.
#pragma once

#include "compiler/diagnostics/engine.h"
#include "compiler/sema/modules.h"

namespace loop::sema {

struct Context {
  base::SourceManager& sources;
  diagnostics::Engine& engine;
  Modules& modules;
};

/// Adds "did you mean …?" with its edit when one of `candidates` is near; else lists them (when `list` is set
/// and they are few).
void suggest(diagnostics::Diagnostic& finding, Span place, const std::string& written,
             const std::vector<std::string>& candidates, bool list = true);

/// The edit that writes `near` for `written`: certain when it is a slip of one letter (two in a long name)
/// and no other candidate is as near.
diagnostics::FixIt spelling(Span place, const std::string& written, const std::string& near,
                            const std::vector<std::string>& candidates);

/// The value of a constant in `file`, or null; reports a constant that is defined by itself.
ast::ExprPtr constant_value(Context& context, const std::string& name, base::FileId file);

}  // namespace loop::sema
