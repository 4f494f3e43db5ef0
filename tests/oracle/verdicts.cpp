#include "tests/oracle/verdicts.h"

#include <algorithm>

#include "compiler/check/check.h"

namespace loop::oracle {
namespace {

/// The families that judge the operations: order, synchronisation, normalisation.
bool judges_operations(std::string_view id) {
  return id[1] >= '1' && id[1] <= '3';
}

struct Errors {
  bool of_operations = false, of_other_families = false;
};

Errors errors_of(const sema::Spec& spec, check::Thoroughness thoroughness,
                 diagnostics::Engine* into = nullptr) {
  diagnostics::Engine own;
  diagnostics::Engine& engine = into ? *into : own;
  check::check(spec, engine, thoroughness);
  Errors errors;
  for (const diagnostics::Diagnostic& finding : engine.diagnostics()) {
    if (finding.severity != diagnostics::Severity::error) continue;
    (judges_operations(diagnostics::entry(finding.code).id) ? errors.of_operations
                                                            : errors.of_other_families) = true;
  }
  return errors;
}

void keep(Cause& cause, Disagreement one, size_t shown) {
  cause.shown.push_back(std::move(one));
  std::stable_sort(cause.shown.begin(), cause.shown.end(),
                   [](const Disagreement& a, const Disagreement& b) { return a.tokens < b.tokens; });
  if (cause.shown.size() > shown) cause.shown.pop_back();
}

}  // namespace

bool Court::judge(const Tokens& tokens) {
  const sema::Spec& spec = builder_.build(tokens);
  compile(spec, program_);
  Judgement judgement = executor_.judge(program_);
  bool right = judgement.outcome == Outcome::equal;

  ++tally_.programs;
  tally_.right += right;
  // Nearly all programs are wrong, and for those the first error decides.
  if (!right && errors_of(spec, check::Thoroughness::first_fault).of_operations) return right;

  diagnostics::Engine engine;
  const auto [wrong, outside] = errors_of(spec, check::Thoroughness::every_fault, &engine);
  if (outside) {
    ++tally_.outside;
    return right;
  }
  if (!right && !wrong) {
    ++tally_.misses;
    note(std::string("miss: ") + name(judgement.outcome) + ", " + judgement.what, spec, judgement, engine,
         tokens.all.size());
  }
  if (right && wrong) {
    ++tally_.false_alarms;
    std::string codes;
    for (const diagnostics::Diagnostic& finding : engine.diagnostics()) {
      std::string id(diagnostics::entry(finding.code).id);
      if (finding.severity == diagnostics::Severity::error && codes.find(id) == std::string::npos)
        codes += " " + id;
    }
    note("false alarm:" + codes, spec, judgement, engine, tokens.all.size());
  }
  return right;
}

void Court::note(const std::string& cause, const sema::Spec& spec, const Judgement& judgement,
                 const diagnostics::Engine& engine, size_t length) {
  Cause& known = tally_.causes[cause];
  ++known.count;
  if (shown_ == 0) return;
  if (known.shown.size() == shown_ && length >= known.shown.back().tokens) return;
  Disagreement one;
  one.setting = name_;
  one.program = to_text(spec);
  one.execution = to_text(judgement);
  one.tokens = length;
  for (const diagnostics::Diagnostic& finding : engine.diagnostics()) {
    const diagnostics::CatalogEntry& entry = diagnostics::entry(finding.code);
    one.diagnostics.push_back(std::string(diagnostics::name(finding.severity)) + " " + std::string(entry.id) +
                              " " + std::string(entry.name) + ": " + finding.message);
    for (const std::string& more : finding.notes) one.diagnostics.push_back("  " + more);
  }
  keep(known, std::move(one), shown_);
}

void Tally::add(const Tally& other, size_t shown) {
  programs += other.programs;
  right += other.right;
  outside += other.outside;
  misses += other.misses;
  false_alarms += other.false_alarms;
  for (const auto& [name, cause] : other.causes) {
    causes[name].count += cause.count;
    for (const Disagreement& one : cause.shown) keep(causes[name], one, shown);
  }
}

}  // namespace loop::oracle
