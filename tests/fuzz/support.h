// What the targets share.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ast/ast.h"
#include "compiler/diagnostics/engine.h"
#include "compiler/sema/analyze.h"
#include "compiler/sema/spec.h"

namespace loop::fuzz {

/// Ends the process, saying what was promised, unless `kept`.
void require(bool kept, std::string_view promise, std::string_view about = {});

/// A text and what became of it.
struct Input {
  base::SourceManager sources;
  diagnostics::Engine engine;
};

/// Options of an analysis of `text` as tests/fuzz/workspace/spec.loop, with the standard library of the
/// source tree.
sema::Options options_for(std::string text);

/// Renders all findings as text and as JSON, and looks at every place they name.
void show(Input& input);

/// The plan of each spec: it can be read back, and its text for a person can be made.
void lower_all(const Input& input, const std::vector<sema::Spec>& specs);

}  // namespace loop::fuzz
