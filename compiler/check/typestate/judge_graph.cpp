// forward → loss → scale_loss → backward within one micro-batch, and guards around what all ranks must do
// together.
#include <algorithm>

#include "compiler/check/typestate/condition.h"
#include "compiler/check/typestate/judge.h"

namespace loop::check {
namespace {

using diagnostics::Code;
using operations::Collective;
using plan::OpKind;

const Event* earlier_in_micro(const WindowTrace& trace, const Event& event, OpKind kind) {
  for (const Event& other : trace.events) {
    if (&other == &event) return nullptr;
    if (other.micro == event.micro && other.operation->op.kind == kind) return &other;
  }
  return nullptr;
}

/// The graph that a `backward` in `update` meets is the last micro-batch's.
const Event* last_backward(const WindowTrace& trace, const Event& event) {
  const Event* last = nullptr;
  for (const Event& other : trace.events) {
    if (&other == &event) break;
    if (other.operation->op.kind == OpKind::backward) last = &other;
  }
  return last;
}

bool reads_global_count(const plan::Operation& op) {
  if (op.kind == OpKind::loss) return op.loss_mode == plan::LossMode::normalized;
  return std::any_of(op.factor.powers.begin(), op.factor.powers.end(), [](const plan::Power& power) {
    return power.symbol == plan::Power::Symbol::count_global ||
           power.symbol == plan::Power::Symbol::micro_batches_counted;
  });
}

bool needs_all_ranks(const Event& event) {
  switch (event.entry->collective) {
    case Collective::always:
      return true;
    case Collective::when_synchronising:
      return event.synchronises;
    case Collective::when_counts_are_global:
      break;
    case Collective::never:
      break;
  }
  if (reads_global_count(event.operation->op)) return true;
  // What changes a gradient or a scaler on some ranks only makes the ranks differ.
  return event.entry->where != operations::Where::micro;
}

}  // namespace

std::optional<Finding> judge_graph(const JudgeContext& context) {
  if (context.repairs.graph) return std::nullopt;
  for (const Event& event : context.trace.events) {
    const sema::Operation& operation = *event.operation;
    if (operation.op.kind == OpKind::backward && event.closed) {
      Finding finding(Code::L125, operation.span);
      if (const Event* closed = last_backward(context.trace, event))
        finding.also(closed->operation->span, "the graph is closed here");
      return finding.help("delete one of them");
    }
    if (event.need_met) continue;
    switch (operation.op.kind) {
      case OpKind::loss:
        return Finding(Code::L122, operation.span).help("write `forward` before `loss`");
      case OpKind::scale_loss:
        return Finding(Code::L123, operation.span).help("write `loss` before `scale_loss`");
      case OpKind::backward:
        return Finding(Code::L124, operation.span).help("write `loss` before `backward`");
      default:
        break;
    }
  }
  return std::nullopt;
}

std::optional<Finding> judge_guards(const JudgeContext& context) {
  for (const Event& event : context.trace.events) {
    if (event.rank_dependent && !context.facts.one_rank() && needs_all_ranks(event)) {
      return Finding(Code::L208, event.guard->name_span, {std::string(event.entry->name)})
          .says("a rank's own count decides here")
          .also(event.operation->span, "all ranks must get here, or none")
          .note("a rank that skips it leaves the others waiting, or steps with another gradient than they do")
          .help("let it run: a micro-batch without counted units contributes zero and still takes part");
    }
  }
  if (const sema::Operation* guard = context.trace.undecided) {
    return Finding(Code::L127, guard->name_span, {"finite"})
        .help("write the guard after `unscale` or `step`")
        .then([guard](Repairs& repairs) { repairs.excused.insert(guard); });
  }
  return std::nullopt;
}

std::optional<Finding> judge_counts(const JudgeContext& context) {
  if (context.repairs.graph) return std::nullopt;
  const bool counts = std::any_of(context.facts.classes.begin(), context.facts.classes.end(),
                                  [](const ClassFacts& count_class) { return !count_class.constant; });
  if (!counts) return std::nullopt;
  for (const Event& event : context.trace.events) {
    if (event.operation->op.kind != OpKind::loss) continue;
    const Event* earlier = earlier_in_micro(context.trace, event, OpKind::loss);
    if (!earlier) continue;
    return Finding(Code::L137, event.operation->span)
        .also(earlier->operation->span, "the first time")
        .note(
            "the gradient is then divided by twice the count, and the clocks of what has been seen run ahead")
        .help("write `loss` once")
        .then([operation = event.operation](Repairs& repairs) { repairs.disabled.insert(operation); });
  }
  return std::nullopt;
}

}  // namespace loop::check
