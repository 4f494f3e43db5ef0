// Clocks and averages that the program moves by hand: once per applied update, after its last step.
#include <algorithm>
#include <map>

#include "compiler/check/typestate/judge.h"

namespace loop::check {
namespace {

using diagnostics::Code;
using operations::GradientEffect;
using plan::OpKind;

bool reads_clock(const plan::Operation& op, const std::string& clock) {
  if (plan::variables(op.limit).count(clock)) return true;
  return std::any_of(op.rule.hyper.begin(), op.rule.hyper.end(), [&](const plan::NamedExpression& hyper) {
    return plan::variables(hyper.value).count(clock) > 0;
  });
}

/// What is moved by hand, and by which operation first in the text.
std::map<std::pair<OpKind, std::string>, const sema::Operation*> moved_by_hand(const JudgeContext& context) {
  std::map<std::pair<OpKind, std::string>, const sema::Operation*> moved;
  for (const sema::Operation* operation : context.operations) {
    if (operation->op.kind != OpKind::tick && operation->op.kind != OpKind::average) continue;
    moved.emplace(std::pair{operation->op.kind, operation->op.target}, operation);
  }
  return moved;
}

/// Clocks other than `updates`: attempts move once per window, micro_batches with each one; what counts
/// samples, tokens or time moves by more than one.
std::optional<Finding> other_clock(const JudgeContext& context, const std::string& clock, size_t moves,
                                   const sema::Operation& first) {
  const bool per_window = clock == plan::name(plan::Clock::attempts);
  const bool per_micro = clock == plan::name(plan::Clock::micro_batches);
  const size_t right = per_window ? 1 : static_cast<size_t>(context.trace.micro_batches);
  if ((per_window || per_micro) && moves == right) return std::nullopt;
  const std::string words = per_window || per_micro
                                ? std::to_string(moves) + " times in a window of " +
                                      std::to_string(context.trace.micro_batches) + " micro-batches"
                                : "by one with each `tick`, whatever it counts";
  return Finding(Code::L610, first.span, {"the clock `" + clock + "`", words})
      .help("leave it out: it moves by itself")
      .then([](Repairs& repairs) { repairs.clocks = true; });
}

}  // namespace

std::optional<Finding> judge_clocks(const JudgeContext& context) {
  if (context.repairs.clocks) return std::nullopt;
  const auto repair = [](Repairs& repairs) { repairs.clocks = true; };
  const bool applied = context.trace.kind == WindowKind::normal;
  for (const auto& [what, first] : moved_by_hand(context)) {
    const bool tick = what.first == OpKind::tick;
    const std::string name = (tick ? "the clock `" : "the average `") + what.second + "`";
    std::vector<const Event*> moves;
    const Event* late_step = nullptr;
    for (const Event& event : context.trace.events) {
      if (event.operation->op.kind == what.first && event.operation->op.target == what.second)
        moves.push_back(&event);
      const bool steps = event.entry->gradient_effect == GradientEffect::applies;
      const bool reads = tick && (steps || event.entry->gradient_effect == GradientEffect::clips) &&
                         reads_clock(event.operation->op, what.second);
      if (!moves.empty() && ((!tick && steps) || reads)) late_step = &event;
    }
    if (tick && what.second != plan::name(plan::Clock::updates)) {
      if (std::optional<Finding> finding = other_clock(context, what.second, moves.size(), *first))
        return finding;
      continue;
    }
    if (context.trace.kind == WindowKind::empty) continue;
    if (!applied && !moves.empty()) {
      return Finding(Code::L611, moves[0]->operation->span, {name})
          .note(tick ? "with two skipped updates in ten, a schedule over 1000 updates ends after 800 applied "
                       "ones"
                     : "it moves although the parameters did not")
          .help(
              "write `when finite { … }` around it, or leave it out: it moves by itself after each applied "
              "update")
          .then(repair);
    }
    if (!applied) continue;
    if (moves.size() > 1) {
      const bool by_micro = moves[0]->micro > 0 && moves[0]->operation == moves[1]->operation;
      const std::string times =
          by_micro ? "once per micro-batch" : std::to_string(moves.size()) + " times per update";
      return Finding(Code::L610, moves[1]->operation->span, {name, times})
          .help("leave it out: it moves by itself once per applied update")
          .then(repair);
    }
    if (moves.empty()) {
      return Finding(Code::L613, first->span, {name})
          .help("leave it out: it moves by itself once per applied update")
          .then(repair);
    }
    if (late_step) {
      return Finding(Code::L612, moves[0]->operation->span, {name})
          .also(late_step->operation->span, tick ? "reads the clock after it has moved"
                                                 : "changes the parameters after they were averaged")
          .help("write it after the last `step`")
          .then(repair);
    }
  }
  return std::nullopt;
}

}  // namespace loop::check
