#include "compiler/check/typestate/effects.h"

#include <algorithm>

#include "compiler/check/typestate/judge.h"

namespace loop::check {
namespace {

using diagnostics::Code;
using operations::GradientEffect;
using plan::OpKind;

/// Operations that changed nothing in every window they ran in.
std::vector<Finding> without_effect(const WindowTrace& second, const sema::Spec& spec) {
  std::vector<Finding> findings;
  std::vector<const sema::Operation*> effective;
  std::vector<std::pair<const sema::Operation*, std::string>> idle;
  std::vector<const sema::Operation*> zeroes;
  bool stepped = false;
  const size_t steps_in_text = [&] {
    size_t count = 0;
    for (const sema::Operation* operation : all_operations(spec)) count += operation->op.kind == OpKind::step;
    return count;
  }();
  size_t steps = 0;
  for (const Event& event : second.events) {
    const sema::Operation* operation = event.operation;
    std::string why;
    switch (event.entry->gradient_effect) {
      case GradientEffect::none:
        if (operation->op.kind == OpKind::scale_loss && event.closed) {
          findings.push_back(
              Finding(Code::L126, operation->span).help("write `scale_loss` between `loss` and `backward`"));
        }
        continue;
      case GradientEffect::accumulates:
        stepped = false;
        continue;
      case GradientEffect::applies:
        stepped = ++steps >= steps_in_text;
        continue;
      case GradientEffect::zeroes:
        if (event.gradient.empty()) why = "the gradient is zero here already";
        break;
      case GradientEffect::clips:
      case GradientEffect::multiplies:
      case GradientEffect::reduces:
        if (event.gradient.empty()) why = "the gradient is empty here";
        if (stepped) why = "the gradient has been used by `step`";
        break;
    }
    if (why.empty()) {
      effective.push_back(operation);
    } else {
      idle.emplace_back(operation, why);
    }
  }
  for (const auto& [operation, why] : idle) {
    if (std::find(effective.begin(), effective.end(), operation) != effective.end()) continue;
    const bool known =
        std::any_of(findings.begin(), findings.end(),
                    [&, op = operation](const Finding& finding) { return finding.span == op->span; });
    if (known) continue;
    findings.push_back(
        Finding(Code::L133, operation->span, {std::string(operations::entry(operation->op.kind).name), why})
            .help("delete it"));
  }
  return findings;
}

std::optional<Finding> repeated_reduction(const JudgeContext& context) {
  if (context.facts.one_rank() || context.facts.always_one) return std::nullopt;
  const int last = last_backward(context.trace);
  int reductions = 0;
  const Event* early = nullptr;
  for (int i = 0; i < static_cast<int>(context.trace.events.size()); ++i) {
    const Event& event = context.trace.events[i];
    const bool reduces = event.synchronises || event.entry->gradient_effect == GradientEffect::reduces;
    if (!reduces) continue;
    ++reductions;
    if (i < last && !early) early = &event;
  }
  if (!early || reductions < 2) return std::nullopt;
  const std::string times = context.facts.micro_batches ? std::to_string(*context.facts.micro_batches)
                                                        : std::string("as many as micro-batches,");
  const sema::Operation* scope = context.first(OpKind::sync_on);
  const bool every = context.spec.window.sync.written && context.spec.window.sync.value == plan::Sync::every;
  Finding finding(Code::L204,
                  every                                 ? context.spec.window.sync.span
                  : scope && !early->outside_sync_scope ? scope->name_span
                                                        : early->operation->span,
                  {times});
  if (context.spec.window.sync.value == plan::Sync::manual)
    return finding.help("write `reduce` once, at the start of `update`");
  finding.help(context.spec.micro.written ? "put `sync_on(last) { … }` around `forward` and `backward`"
                                          : "write `sync = last`");
  return finding;
}

}  // namespace

void report_effects(const sema::Spec& spec, const Facts& facts, const Scenario& scenario,
                    const Repairs& repairs, bool faulty, diagnostics::Engine& engine) {
  Choices choices;
  const std::vector<WindowTrace> traces = execute(spec, facts, scenario, repairs, choices);
  const WindowTrace& second = traces.back();
  const std::vector<const sema::Operation*> operations = all_operations(spec);
  const GroupIndex groups(spec);
  const JudgeContext context{spec, facts, repairs, traces, second, operations, groups};
  bool scope_reported = false;
  for (const Event& event : second.events) {
    if (event.outside_sync_scope && !scope_reported && spec.window.sync.value != plan::Sync::manual &&
        !facts.one_rank()) {
      const sema::Operation* scope = context.first(OpKind::sync_on);
      report(Finding(Code::L203, scope ? scope->name_span : event.operation->span)
                 .also(event.operation->span, "this synchronises, wherever the scope ends")
                 .note("whether a micro-batch synchronises is decided where its `forward` stands, as in DDP")
                 .help("put `forward` into the scope as well"),
             engine);
      scope_reported = true;
    }
  }
  if (!scope_reported) {
    if (const std::optional<Finding> repeated = repeated_reduction(context)) report(*repeated, engine);
  }
  if (faulty || choices.next()) return;  // with open guards, another path may need what this one does not
  for (const Finding& finding : without_effect(second, spec)) report(finding, engine);
}

}  // namespace loop::check
