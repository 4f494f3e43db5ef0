#include "compiler/check/finding.h"

namespace loop::check {

void report(const Finding& finding, diagnostics::Engine& engine) {
  const auto arg = [&](size_t index) {
    return index < finding.args.size() ? finding.args[index] : std::string();
  };
  diagnostics::Diagnostic& diagnostic =
      engine.report(finding.code, finding.span, {arg(0), arg(1), arg(2), arg(3)});
  if (!finding.label.empty()) diagnostic.with_label(finding.label);
  for (const diagnostics::Label& label : finding.labels) diagnostic.also(label.span, label.text);
  for (const std::string& note : finding.notes) diagnostic.note(note);
  for (const std::string& help : finding.helps) diagnostic.help(help);
  for (const diagnostics::FixIt& fix : finding.fixes) diagnostic.fix(fix);
}

}  // namespace loop::check
