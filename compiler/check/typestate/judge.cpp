#include "compiler/check/typestate/judge.h"

#include <algorithm>

namespace loop::check {

Comparison JudgeContext::compare(const Gradient& gradient) const {
  Comparison result = check::compare(gradient, trace.window, trace.micro_batches, trace.empty_micro,
                                     facts.one_rank(), facts.classes.size(), identities());
  if (repairs.scale) result.scale.reset();
  if (repairs.factor) result.factor.reset();
  return result;
}

std::string JudgeContext::micro(int index) const {
  const bool last = index == trace.micro_batches;
  if (facts.micro_batches && !trace.tail) {
    const int64_t all = *facts.micro_batches;
    return "micro-batch " + std::to_string(last ? all : index) + " of " + std::to_string(all);
  }
  if (trace.tail)
    return "micro-batch " + std::to_string(index) + " of " + std::to_string(trace.micro_batches);
  if (last && index > 1) return "the last micro-batch";
  return "micro-batch " + std::to_string(index);
}

std::string JudgeContext::micros(const std::vector<int>& indices) const {
  if (indices.size() == 1) return micro(indices.front());
  if (static_cast<int>(indices.size()) == trace.micro_batches) return "every micro-batch";
  const bool first_ones = indices.front() == 1;
  if (first_ones && static_cast<int>(indices.size()) == trace.micro_batches - 1)
    return "every micro-batch but the last";
  if (!first_ones && static_cast<int>(indices.size()) == trace.micro_batches - 1)
    return "every micro-batch but the first";
  std::string text = micro(indices.front());
  for (size_t i = 1; i < indices.size(); ++i) text += ", " + micro(indices[i]);
  return text;
}

std::string JudgeContext::window_words() const {
  if (trace.kind == WindowKind::nonfinite) return "in a window with a non-finite gradient";
  if (trace.kind == WindowKind::empty) return "in a window without a counted unit";
  if (trace.tail) return "in the short window at an epoch's end";
  return "";
}

const sema::Operation* JudgeContext::first(plan::OpKind kind) const {
  for (const sema::Operation* operation : operations) {
    if (operation->op.kind == kind && !repairs.disabled.count(operation)) return operation;
  }
  return nullptr;
}

base::Span JudgeContext::update_span() const {
  return spec.update.written ? spec.update.span : spec.name_span;
}

namespace {

/// Whether `wanted` stands among them; `guard` becomes the innermost one around it.
bool find_guard(const std::vector<sema::Operation>& operations, const sema::Operation& wanted,
                const sema::Operation* around, const sema::Operation*& guard) {
  for (const sema::Operation& operation : operations) {
    if (&operation == &wanted) {
      guard = around;
      return true;
    }
    const sema::Operation* inner = operation.op.kind == plan::OpKind::when ? &operation : around;
    if (find_guard(operation.body, wanted, inner, guard)) return true;
  }
  return false;
}

}  // namespace

const sema::Operation* guard_of(const sema::Spec& spec, const sema::Operation& operation) {
  const sema::Operation* guard = nullptr;
  if (!find_guard(spec.micro.operations, operation, nullptr, guard))
    find_guard(spec.update.operations, operation, nullptr, guard);
  return guard;
}

const Event* event_after(const WindowTrace& trace, size_t from, plan::OpKind kind) {
  for (size_t i = from; i < trace.events.size(); ++i) {
    if (trace.events[i].operation->op.kind == kind) return &trace.events[i];
  }
  return nullptr;
}

int last_backward(const WindowTrace& trace) {
  for (int i = static_cast<int>(trace.events.size()) - 1; i >= 0; --i) {
    if (trace.events[i].entry->gradient_effect == operations::GradientEffect::accumulates) return i;
  }
  return -1;
}

std::optional<Finding> judge(const JudgeContext& context) {
  using Question = std::optional<Finding> (*)(const JudgeContext&);
  static constexpr Question kQuestions[] = {judge_graph,         judge_guards, judge_counts,
                                            judge_inside_window, judge_clips,  judge_steps,
                                            judge_divisions,     judge_scaler, judge_clocks};
  for (const Question question : kQuestions) {
    if (std::optional<Finding> finding = question(context)) return finding;
  }
  return std::nullopt;
}

}  // namespace loop::check
