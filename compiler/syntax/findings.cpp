#include "compiler/syntax/findings.h"

#include <algorithm>

#include "compiler/base/limits.h"

namespace loop::syntax {
namespace {

void report_one(const Finding& finding, diagnostics::Engine& engine) {
  const auto arg = [&](size_t index) {
    return index < finding.args.size() ? finding.args[index] : std::string();
  };
  diagnostics::Diagnostic& diagnostic = engine.report(finding.code, finding.span, {arg(0), arg(1), arg(2)});
  diagnostic.label = finding.label;
  diagnostic.labels = finding.labels;
  diagnostic.helps = finding.helps;
}

}  // namespace

void Findings::sort_marks() {
  std::sort(marks_.begin(), marks_.end());
}

bool Findings::marked(uint32_t begin, uint32_t end) const {
  const auto first = std::lower_bound(marks_.begin(), marks_.end(), begin);
  return first != marks_.end() && *first < end;
}

void Findings::report(diagnostics::Engine& engine) {
  std::stable_sort(findings_.begin(), findings_.end(),
                   [](const Finding& a, const Finding& b) { return a.span.begin < b.span.begin; });
  for (size_t i = 0; i < findings_.size(); ++i) {
    if (i == base::kMaxSyntaxErrorsPerFile) {
      engine.report(diagnostics::Code::L013, findings_[i].span,
                    {std::to_string(base::kMaxSyntaxErrorsPerFile)});
      return;
    }
    report_one(findings_[i], engine);
  }
}

}  // namespace loop::syntax
