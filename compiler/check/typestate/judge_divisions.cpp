// A written 1/n_rk is no number for a micro-batch without counted units, even if another factor takes it
// back.
#include "compiler/check/typestate/judge.h"

namespace loop::check {
namespace {

using diagnostics::Code;
using Read = plan::Power::Symbol;

bool can_be_empty(const JudgeContext& context, const plan::Power& power) {
  const Facts& facts = context.facts;
  const ClassFacts& count_class = facts.classes.at(power.count_class < 0 ? 0 : power.count_class);
  if (count_class.constant) return power.symbol != Read::count_global;
  // In a window in which another class has units, this one may have none.
  if (power.symbol == Read::count_global) return facts.classes.size() > 1 && !count_class.never_empty;
  return !count_class.never_empty || facts.uneven_full_windows || (facts.short_windows && !facts.one_rank());
}

}  // namespace

std::optional<Finding> judge_divisions(const JudgeContext& context) {
  if (context.repairs.factor || context.trace.kind != WindowKind::normal) return std::nullopt;
  for (const Event& event : context.trace.events) {
    if (context.repairs.excused.count(event.operation)) continue;
    const bool after_use =
        event.entry->gradient_effect != operations::GradientEffect::none && event.gradient.empty();
    if (after_use) continue;
    for (const plan::Power& power : event.operation->op.factor.powers) {
      const bool count = power.symbol == Read::count_micro || power.symbol == Read::count_rank ||
                         power.symbol == Read::count_global;
      if (!count || power.exponent >= 0 || !can_be_empty(context, power)) continue;
      const sema::Operation* operation = event.operation;
      const std::string who = power.symbol == Read::count_micro  ? "a micro-batch"
                              : power.symbol == Read::count_rank ? "a rank"
                                                                 : "a window";
      return Finding(Code::L314, operation->span, {plan::to_text(operation->op.factor), who})
          .help("`loss(mean)` gives 0 for none, and `normalize` divides by the whole window's count")
          .then([operation](Repairs& repairs) { repairs.excused.insert(operation); });
    }
  }
  return std::nullopt;
}

}  // namespace loop::check
