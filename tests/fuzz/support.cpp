#include "tests/fuzz/support.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>

#include "compiler/diagnostics/render.h"
#include "compiler/plan/dump.h"
#include "compiler/plan/lower.h"
#include "runtime/plan/json.h"

namespace loop::fuzz {
namespace {

void look_at(const base::SourceManager& sources, base::Span span) {
  if (!span) return;
  require(sources.contains(span.file), "a finding's place is in a known file");
  require(span.begin <= span.end, "a place begins before it ends");
  require(span.end <= sources.file(span.file).text().size(), "a place lies in its text");
}

/// One form of output for each input, chosen by what was found: all forms for all inputs would take most of a
/// target's time. The same input always has the same form.
void render(const Input& input) {
  const std::vector<diagnostics::Diagnostic>& findings = input.engine.diagnostics();
  if (findings.empty()) return;
  const diagnostics::Report report{input.sources, findings, {}, {}, 1, findings.size()};
  const size_t form = (std::hash<std::string>{}(findings.front().message) + findings.size()) % 6;
  std::ostringstream out;
  if (form == 0) diagnostics::render_text(out, report, {.color = true});
  if (form == 1) diagnostics::render_text(out, report, {.color = false, .max_width = 40});
  if (form == 2) diagnostics::render_concise(out, report);
  if (form == 3) diagnostics::render_json(out, report);
  if (form == 4) diagnostics::render_sarif(out, report, "/", "0");
  if (form == 5) diagnostics::render_github(out, report);
}

}  // namespace

void require(bool kept, std::string_view promise, std::string_view about) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %.*s\n%.*s\n", static_cast<int>(promise.size()), promise.data(),
               static_cast<int>(about.size()), about.data());
  std::abort();
}

sema::Options options_for(std::string text) {
  sema::Options options;
  options.path = LOOP_SOURCE_DIR "/tests/fuzz/workspace/spec.loop";
  options.text = std::move(text);
  options.stdlib_dir = LOOP_SOURCE_DIR "/stdlib";
  return options;
}

void show(Input& input) {
  for (const diagnostics::Diagnostic& finding : input.engine.diagnostics()) {
    look_at(input.sources, finding.span);
    for (const diagnostics::Label& label : finding.labels) look_at(input.sources, label.span);
    for (const diagnostics::FixIt& fix : finding.fixes)
      for (const diagnostics::Edit& edit : fix.edits) look_at(input.sources, edit.span);
  }
  input.engine.sort();
  render(input);
}

void lower_all(const Input& input, const std::vector<sema::Spec>& specs) {
  for (const sema::Spec& spec : specs) {
    const plan::Plan plan = planner::lower(spec, input.sources);
    const plan::json document = plan::to_json(plan);
    const plan::Plan again = plan::from_json(plan::json::parse(document.dump()));
    require(plan::to_json(again) == document, "a plan that is read back is the same plan");
    std::ostringstream out;
    planner::dump(out, plan, std::nullopt, std::nullopt);
  }
}

}  // namespace loop::fuzz
