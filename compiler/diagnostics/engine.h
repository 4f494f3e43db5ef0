// Findings about a user's text: their codes, severities and places, collected by an Engine.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/source.h"

namespace loop::diagnostics {

using base::Span;

enum class Severity { error, warning, note };
const char* name(Severity severity);  // "error", "warning", "note"

/// One enumerator per catalog line: `Code::L110`.
enum class Code {
#define LOOP_DIAGNOSTIC(code, name, severity, message) code,
#include "compiler/diagnostics/catalog/all.def"
#undef LOOP_DIAGNOSTIC
};

/// A catalog line. `message` has `{0}`, `{1}` … for its arguments.
struct CatalogEntry {
  Code code;
  std::string_view id;    // "L110"
  std::string_view name;  // "clip-before-unscale"
  Severity severity;
  std::string_view message;
};
const std::vector<CatalogEntry>& catalog();
const CatalogEntry& entry(Code code);
/// By "L110" or "clip-before-unscale"; null when there is none.
const CatalogEntry* find(std::string_view id_or_name);

/// A second place that explains the first.
struct Label {
  Span span;
  std::string text;
};

struct Edit {
  Span span;  // replaced by `text`; an empty span inserts
  std::string text;
};

enum class Certainty { certain, likely };

struct FixIt {
  std::string title;
  Certainty certainty = Certainty::likely;
  std::vector<Edit> edits;
};

struct Diagnostic {
  Code code;
  Severity severity;
  Span span;  // the primary place
  std::string message;
  std::string label;  // what is said under the caret; may be empty
  std::vector<Label> labels;
  std::vector<std::string> notes;  // rendered after "= note: "
  std::vector<std::string> helps;  // rendered after "= help: "
  std::vector<FixIt> fixes;

  Diagnostic& with_label(std::string text);
  Diagnostic& also(Span span, std::string text);
  Diagnostic& note(std::string text);
  Diagnostic& help(std::string text);
  Diagnostic& fix(FixIt fix);
};

/// Codes from L100 on are about what a loop does; those before, about its text, names and keys.
bool is_about_meaning(Code code);
/// An error before L100: while it stands, there is no meaning that could be checked, allowed or executed.
bool leaves_no_meaning(const Diagnostic& finding);

/// Collects diagnostics in the order they are reported. References returned by `report` are valid until the
/// next report.
class Engine {
 public:
  Diagnostic& report(Code code, Span span, std::initializer_list<std::string> args = {});
  /// Takes over a finding of another engine.
  void add(Diagnostic diagnostic);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  bool has_errors() const { return errors_ > 0; }
  size_t error_count() const { return errors_; }
  /// Orders by file, then place, then code, and removes exact repetitions.
  void sort();

 private:
  std::vector<Diagnostic> diagnostics_;
  size_t errors_ = 0;
};

/// `message` with `{i}` replaced by args[i].
std::string substitute(std::string_view message, const std::vector<std::string>& args);

}  // namespace loop::diagnostics
