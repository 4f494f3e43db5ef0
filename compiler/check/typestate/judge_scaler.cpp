// The loss scaler moves once per window, by a verdict on the whole window's gradient; nothing of an update
// happens in a window without counted units.
#include <algorithm>

#include "compiler/check/typestate/judge.h"

namespace loop::check {
namespace {

using diagnostics::Code;
using operations::GradientEffect;
using operations::Verdict;
using plan::OpKind;

std::optional<Finding> judge_empty_window(const JudgeContext& context) {
  for (const Event& event : context.trace.events) {
    const OpKind kind = event.operation->op.kind;
    const bool acts =
        event.entry->gradient_effect == GradientEffect::applies ||
        (event.entry->verdict == Verdict::needs && context.facts.fp16) ||
        (kind == OpKind::tick && event.operation->op.target == plan::name(plan::Clock::updates)) ||
        kind == OpKind::average;
    const bool known = context.repairs.excused.count(event.operation) > 0 ||
                       (event.entry->gradient_effect == GradientEffect::applies && context.repairs.steps) ||
                       (event.entry->verdict == Verdict::needs && context.repairs.scaler) ||
                       ((kind == OpKind::tick || kind == OpKind::average) && context.repairs.clocks);
    if (!acts || known) continue;
    const sema::Operation* operation = event.operation;
    return Finding(Code::L132, operation->span, {std::string(event.entry->name)})
        .note(
            "a window whose targets are all ignored has a zero gradient; momentum and decay would still move "
            "the parameters")
        .help("write it in `update`, which is left out for such a window")
        .then([operation](Repairs& repairs) { repairs.excused.insert(operation); });
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> judge_scaler(const JudgeContext& context) {
  if (context.trace.kind == WindowKind::empty) return judge_empty_window(context);
  const auto repair = [](Repairs& repairs) { repairs.scaler = true; };
  if (context.trace.kind == WindowKind::nonfinite && context.trace.applied && !context.repairs.scaler) {
    const sema::Operation* step = context.first(OpKind::step);
    return Finding(Code::L136, step ? step->span : context.update_span(), {"step"})
        .help("write `step` in `update`, once the gradient is complete")
        .then(repair);
  }
  const sema::Operation* first = context.first(OpKind::update_scale);
  if (!first || context.repairs.scaler) return std::nullopt;
  std::vector<const Event*> executed;
  for (const Event& event : context.trace.events) {
    if (event.entry->verdict != Verdict::needs) continue;
    executed.push_back(&event);
    if (!event.verdict) {
      return Finding(Code::L127, event.operation->span, {"update_scale"})
          .help("write `update_scale` after `step`")
          .then(repair);
    }
    if (context.facts.fp16 && context.trace.kind == WindowKind::nonfinite && *event.verdict) {
      const Event* judged = event_after(context.trace, 0, OpKind::unscale);
      if (!judged) judged = event_after(context.trace, 0, OpKind::step);
      Finding finding(Code::L136, event.operation->span, {"update_scale"});
      if (judged && judged->micro > 0) {
        finding.also(judged->operation->span, context.micro(judged->micro) +
                                                  ": the verdict is given here, before the others are added");
      }
      return finding.help("write `unscale` in `update`, once the gradient is complete").then(repair);
    }
  }
  if (!context.facts.fp16) return std::nullopt;
  if (executed.empty()) {
    std::string words = context.window_words();
    if (words.empty()) words = "when its guard does not hold";
    return Finding(Code::L130, first->span, {words})
        .guarded(guard_of(context.spec, *first), "does not hold then")
        .note(
            "after a skipped update the scale must be backed off, or the next window overflows in the same "
            "way")
        .help("write `update_scale` outside the guard, after `step`")
        .then(repair);
  }
  if (executed.size() > 1) {
    return Finding(Code::L128, executed[1]->operation->span, {std::to_string(executed.size())})
        .also(executed[0]->operation->span, "the first time")
        .help("write `update_scale` once, after `step`")
        .then(repair);
  }
  return std::nullopt;
}

}  // namespace loop::check
