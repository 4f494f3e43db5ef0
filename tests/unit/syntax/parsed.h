// A text with what the parser makes of it.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "compiler/ast/printer.h"
#include "compiler/diagnostics/engine.h"
#include "compiler/syntax/format.h"
#include "compiler/syntax/parser.h"

namespace loop::testing {

struct Parsed {
  explicit Parsed(const std::string& text) {
    const base::FileId id = sources.add("spec.loop", text);
    result = syntax::parse(sources, id, engine);
  }

  /// One item a line.
  std::string tree() const { return ast::to_string(result.file); }

  /// "L002 3:8 expected a value after `=`, found the end of the line", one finding a line.
  std::string findings() const {
    std::ostringstream out;
    for (const diagnostics::Diagnostic& finding : engine.diagnostics()) {
      const base::Position at = sources.file(finding.span.file).position(finding.span.begin);
      out << diagnostics::entry(finding.code).id << ' ' << at.line << ':' << at.column << ' '
          << finding.message << '\n';
    }
    return out.str();
  }

  std::string formatted() const { return syntax::format(sources, result.file); }

  base::SourceManager sources;
  diagnostics::Engine engine;
  syntax::ParseResult result;
};

/// The tree of a text that must have no error.
inline std::string tree_of(const std::string& text) {
  const Parsed parsed(text);
  return parsed.findings() + parsed.tree();
}

inline std::string findings_of(const std::string& text) {
  return Parsed(text).findings();
}

/// The tree of `x = …`'s value.
inline std::string value_of(const std::string& expression) {
  base::SourceManager sources;
  diagnostics::Engine engine;
  const base::FileId id = sources.add("--set x", expression);
  const ast::ExprPtr value = syntax::parse_expression(sources, id, engine);
  return value ? ast::to_string(*value) : "error";
}

}  // namespace loop::testing
