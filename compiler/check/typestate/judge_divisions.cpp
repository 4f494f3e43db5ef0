// A division by a count of zero makes every element of the gradient not a number, zeros too and whatever
// another factor takes back, until it is zeroed. It is a fault where a verdict sees it: the update is then
// skipped.
#include "compiler/check/typestate/divisions.h"
#include "compiler/check/typestate/judge.h"

namespace loop::check {
namespace {

using diagnostics::Code;
using operations::Verdict;
using Read = plan::Power::Symbol;

/// The division that this operation gets to see; null without one.
const sema::Operation* seen_by(const JudgeContext& context, const Event& event) {
  if (event.entry->verdict == Verdict::gives_and_obeys) return event.gradient.spoiled_by();
  if (event.entry->verdict == Verdict::needs && context.facts.fp16) return event.verdict_spoiled_by;
  return nullptr;
}

}  // namespace

std::optional<Finding> judge_divisions(const JudgeContext& context) {
  if (context.repairs.factor || context.trace.kind != WindowKind::normal) return std::nullopt;
  for (const Event& event : context.trace.events) {
    const sema::Operation* division = seen_by(context, event);
    if (!division) continue;
    const plan::Power* power = division_by_empty_count(division->op.factor, context.facts);
    const std::string who = power->symbol == Read::count_micro  ? "a micro-batch"
                            : power->symbol == Read::count_rank ? "a rank"
                                                                : "a window";
    return Finding(Code::L314, division->span, {plan::to_text(division->op.factor), who})
        .also(event.operation->span, "finds a gradient that is not a number")
        .help("`loss(mean)` gives 0 for none, and `normalize` divides by the whole window's count")
        .then([division](Repairs& repairs) { repairs.excused.insert(division); });
  }
  return std::nullopt;
}

}  // namespace loop::check
