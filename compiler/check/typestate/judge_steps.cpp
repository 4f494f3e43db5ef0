// What each `step` gets, and how often each group is stepped.
#include <algorithm>

#include "compiler/check/normalisation/explain.h"
#include "compiler/check/typestate/judge.h"

namespace loop::check {
namespace {

using diagnostics::Code;
using operations::GradientEffect;
using plan::OpKind;

struct Step {
  const JudgeContext& context;
  const Event& event;
  int index;
  const sema::Operation& operation() const { return *event.operation; }
};

/// The first event of this kind in (from, to); null without one.
const Event* find_event(const JudgeContext& context, OpKind kind, int from, int to) {
  for (int i = std::max(from + 1, 0); i < to; ++i) {
    if (context.trace.events[i].operation->op.kind == kind) return &context.trace.events[i];
  }
  return nullptr;
}

int end_of(const JudgeContext& context) {
  return static_cast<int>(context.trace.events.size());
}

Finding stale_gradient(const Step& step, const std::vector<int>& windows) {
  const JudgeContext& context = step.context;
  const auto repair = [](Repairs& repairs) { repairs.zero_at_end = true; };
  const sema::Operation* zero = context.first(OpKind::zero_grad);
  if (!zero) {
    return Finding(Code::L117, context.update_span())
        .also(step.operation().span, "window 2: gets the gradient of window 1 once more")
        .note("after n windows the first one's gradient has been used n times")
        .help("write `zero_grad` at the end of `update`")
        .then(repair);
  }
  const WindowTrace& before = context.traces.at(windows.front());
  const bool executed = std::any_of(before.events.begin(), before.events.end(), [](const Event& event) {
    return event.entry->gradient_effect == GradientEffect::zeroes;
  });
  if (executed) {
    return Finding(Code::L117, zero->span)
        .says("executed before the window's gradient is there")
        .also(step.operation().span, "window 2: gets the gradient of window 1 once more")
        .help("write `zero_grad` at the end of `update`")
        .then(repair);
  }
  const JudgeContext then{context.spec, context.facts,      context.repairs, context.traces,
                          before,       context.operations, context.groups};
  std::string words = then.window_words();
  if (words.empty()) words = "on every path";
  return Finding(Code::L131, zero->span, {words})
      .guarded(guard_of(context.spec, *zero), "does not hold then")
      .also(step.operation().span, "the window after it: gets what is left")
      .note(before.kind == WindowKind::nonfinite
                ? "non-finite values stay in the gradient, and every later update is skipped"
                : "what is left is added to the next window's gradient")
      .help("write `zero_grad` outside the guard, at the end of `update`")
      .then(repair);
}

/// The innermost guard around the first `backward` of the text; null without one.
const sema::Operation* guard_of_backward(const std::vector<sema::Operation>& operations,
                                         const sema::Operation* guard) {
  for (const sema::Operation& operation : operations) {
    if (operation.op.kind == OpKind::backward) return guard;
    const bool guards = operation.op.kind == OpKind::when;
    if (const sema::Operation* found = guard_of_backward(operation.body, guards ? &operation : guard)) {
      return found;
    }
  }
  return nullptr;
}

Finding empty_or_incomplete(const Step& step, const std::vector<int>& missing) {
  const JudgeContext& context = step.context;
  for (int i = 0; i < step.index; ++i) {
    const Event& event = context.trace.events[i];
    if (event.entry->gradient_effect != GradientEffect::zeroes || event.gradient.empty()) continue;
    const sema::Operation* zero = event.operation;
    return Finding(Code::L118, zero->span)
        .also(step.operation().span, "gets an empty gradient")
        .help("write `zero_grad` after `step`")
        .then([zero](Repairs& repairs) { repairs.to_end.push_back(zero); });
  }
  const sema::Operation* guard = guard_of_backward(context.spec.micro.operations, nullptr);
  const base::Span place = guard                        ? guard->name_span
                           : context.spec.micro.written ? context.spec.micro.span
                                                        : context.spec.name_span;
  Finding finding(Code::L129, place, {context.micros(missing)});
  if (guard) finding.says("`backward` stands under this guard");
  finding.also(step.operation().span, "gets a gradient without it");
  if (guard && plan::variables(guard->op.condition).count("last")) {
    finding.note(
        "each micro-batch has a graph of its own; one `backward` for all of them would need the losses and "
        "graphs of K micro-batches at once, K times the memory");
  }
  return finding.help(
      "write `backward` outside any guard: a micro-batch without counted units contributes zero");
}

Finding not_reduced(const Step& step, const std::vector<int>& local) {
  const JudgeContext& context = step.context;
  const auto repair = [](Repairs& repairs) { repairs.reduce_before_update = true; };
  const Event* later = find_event(context, OpKind::reduce, step.index, end_of(context));
  if (later) {
    return Finding(Code::L210, step.operation().span)
        .also(later->operation->span, "this comes too late")
        .help("write `reduce` before `step`")
        .then(repair);
  }
  const Event* reduce = find_event(context, OpKind::reduce, -1, step.index);
  if (reduce) {
    Finding finding(Code::L206, reduce->operation->span, {context.micros(local)});
    const int last = last_backward(context.trace);
    if (last >= 0) finding.also(context.trace.events[last].operation->span, "adds it after the reduction");
    return finding
        .note("what a later `backward` adds is not reduced; the ranks step with different gradients")
        .help("write `reduce` at the start of `update`")
        .then(repair);
  }
  const bool synchronised = std::any_of(context.trace.events.begin(), context.trace.events.end(),
                                        [](const Event& event) { return event.synchronises; });
  const sema::Operation* scope = context.first(OpKind::sync_on);
  const bool manual = context.spec.window.sync.value == plan::Sync::manual;
  if (synchronised) {
    return Finding(Code::L202, scope ? scope->name_span : step.operation().span, {context.micros(local)})
        .also(step.operation().span, "the ranks step with different gradients")
        .help("write `sync_on(last)`")
        .then(repair);
  }
  Finding finding(Code::L201, !manual && scope ? scope->name_span : step.operation().span);
  finding.also(step.operation().span, "each rank steps with its own gradient");
  finding.help(manual ? "with `sync = manual`, write `reduce(sum)` at the start of `update`"
                      : "write `sync_on(last)`");
  return finding.then(repair);
}

/// An unscale or multiplication between two micro-batches.
std::optional<Finding> multiplied_inside(const Step& step, bool scale) {
  const JudgeContext& context = step.context;
  const int last = last_backward(context.trace);
  for (int i = 0; i < std::min(last, step.index); ++i) {
    const Event& event = context.trace.events[i];
    if (event.entry->gradient_effect != GradientEffect::multiplies || event.gradient.empty()) continue;
    if ((event.operation->op.kind == OpKind::unscale) != scale) continue;
    const sema::Operation* operation = event.operation;
    Finding finding = scale ? Finding(Code::L103, operation->span)
                            : Finding(Code::L104, operation->span, {std::string(event.entry->name)});
    const int again = std::min(event.micro + 1, context.trace.micro_batches);
    const std::string what = scale ? "divided by S" : "multiplied";
    for (int before = 0; before < i; ++before) {
      const Event& other = context.trace.events[before];
      if (other.operation->op.kind != OpKind::backward) continue;
      finding.also(other.operation->span, "adds the gradient of " + context.micro(other.micro));
      break;
    }
    return finding
        .says(context.micro(event.micro) + ": " + what + (again > event.micro ? "; " : "") +
              (again > event.micro ? context.micro(again) + ": " + what + " again" : ""))
        .help("write `" + std::string(event.entry->name) + "` in `update`")
        .then([operation](Repairs& repairs) { repairs.to_update.push_back(operation); });
  }
  return std::nullopt;
}

Finding scaled(const Step& step, const FactorMismatch& mismatch) {
  const JudgeContext& context = step.context;
  const auto finish = [&](Finding finding) {
    show_factor(context, mismatch, finding);
    finding.then([](Repairs& repairs) { repairs.scale = true; });
    return finding;
  };
  if (std::optional<Finding> inside = multiplied_inside(step, true)) return *inside;
  const int power = mismatch.scale.total_exponent(Symbol::loss_scale);
  const Event* before = find_event(context, OpKind::unscale, -1, step.index);
  const Event* after = find_event(context, OpKind::unscale, step.index, end_of(context));
  if (power == 0) {
    const sema::Operation* update_scale = context.first(OpKind::update_scale);
    const Event* moved = find_event(context, OpKind::update_scale, -1, step.index);
    if (moved && !moved->verdict) {
      return Finding(Code::L127, moved->operation->span, {"update_scale"})
          .help("write `update_scale` after `step`")
          .then([](Repairs& repairs) { repairs.scale = repairs.scaler = true; });
    }
    return finish(Finding(Code::L502, update_scale ? update_scale->span : step.operation().span)
                      .help("write `update_scale` after `step`"));
  }
  if (power > 0 && !before) {
    if (after) {
      const sema::Operation& operation = step.operation();
      return finish(Finding(Code::L112, operation.span)
                        .says("gets S times the gradient")
                        .also(after->operation->span, "this comes too late")
                        .help("write `unscale` before `step`"));
    }
    return finish(Finding(Code::L120, step.operation().span)
                      .says("gets S times the gradient")
                      .help("write `unscale` at the start of `update`"));
  }
  if (power > 0) {
    const sema::Operation* second = nullptr;
    int times = 0;
    for (const Origin& origin : mismatch.found.origins) {
      if (origin.factor.total_exponent(Symbol::loss_scale) <= 0) continue;
      times += origin.factor.total_exponent(Symbol::loss_scale);
      second = origin.operation;
    }
    return finish(Finding(Code::L135, second ? second->span : step.operation().span,
                          {std::to_string(times), std::to_string(times - power)})
                      .help("write `scale_loss(loss_scale)` once"));
  }
  int times = 0;
  const sema::Operation* last = nullptr;
  const sema::Operation* earlier = nullptr;
  for (const Origin& origin : mismatch.found.origins) {
    if (origin.factor.total_exponent(Symbol::loss_scale) >= 0) continue;
    ++times;
    earlier = last;
    last = origin.operation;
  }
  const bool scaled_once =
      std::any_of(mismatch.found.origins.begin(), mismatch.found.origins.end(),
                  [](const Origin& origin) { return origin.factor.total_exponent(Symbol::loss_scale) > 0; });
  const base::Span place = last ? last->span : step.operation().span;
  if (scaled_once || times > 1) {
    Finding finding(Code::L119, place);
    if (earlier) finding.also(earlier->span, "the first time");
    return finish(finding.help("write `unscale` once"));
  }
  return finish(
      Finding(Code::L121, place)
          .help("write `scale_loss(loss_scale)` between `loss` and `backward`, or delete `unscale`"));
}

std::optional<Finding> judge_gradient(const Step& step) {
  const JudgeContext& context = step.context;
  const Comparison there = context.compare(step.event.gradient);
  if (!there.stale_windows.empty()) return stale_gradient(step, there.stale_windows);
  if (context.repairs.graph) return std::nullopt;
  if (there.empty || !there.missing.empty()) {
    std::vector<int> missing = there.missing;
    for (int micro = 1; there.empty && micro <= context.trace.micro_batches; ++micro)
      missing.push_back(micro);
    return empty_or_incomplete(step, missing);
  }
  if (!there.local.empty()) return not_reduced(step, there.local);
  if (there.scale) return scaled(step, *there.scale);
  if (there.factor) {
    if (std::optional<Finding> inside = multiplied_inside(step, false)) return inside;
    const Event* later = find_event(context, OpKind::normalize, step.index, end_of(context));
    if (!later) later = find_event(context, OpKind::scale_grad, step.index, end_of(context));
    return explain_factor(context, *there.factor, step.operation(), later ? later->operation : nullptr);
  }
  return std::nullopt;
}

/// One step per group and window, on every path.
std::optional<Finding> judge_number(const JudgeContext& context) {
  if (context.repairs.steps) return std::nullopt;
  const auto repair = [](Repairs& repairs) { repairs.steps = true; };
  const ByGroup steps_of =
      events_by_group(context.spec, context.groups, context.trace.events, GradientEffect::applies);
  const ByGroup steps_in_text =
      operations_by_group(context.spec, context.groups, context.operations, GradientEffect::applies);
  for (size_t i = 0; i < context.spec.groups.size(); ++i) {
    const sema::Group& group = context.spec.groups[i];
    if (group.group.frozen) continue;
    std::vector<const Event*> steps;
    bool touched = false;
    for (const int at : steps_of[i]) {
      steps.push_back(&context.trace.events[at]);
      touched = touched || steps.back()->touched;
    }
    if (steps.size() > 1) {
      const sema::Operation* second = steps[1]->operation;
      return Finding(Code::L116, second->span, {group.group.name})
          .also(steps[0]->operation->span, "the first step")
          .note(steps[0]->touched ? "the second step uses the same gradient again"
                                  : "the first one finds a gradient that no `backward` of this window has "
                                    "touched, but its verdict holds for all steps of the window")
          .help("every trainable parameter belongs in exactly one `step`")
          .then(repair);
    }
    if (touched || context.trace.kind != WindowKind::normal) continue;
    const sema::Operation* elsewhere = nullptr;
    for (const int at : steps_in_text[i]) {
      const sema::Operation* operation = context.operations[at];
      if (!context.repairs.disabled.count(operation)) elsewhere = operation;
    }
    if (elsewhere) {
      std::string words = context.window_words();
      const bool early = std::any_of(context.trace.events.begin(), context.trace.events.end(),
                                     [&](const Event& event) { return event.operation == elsewhere; });
      if (words.empty()) words = early ? "after `backward`, only before it" : "when its guard does not hold";
      return Finding(Code::L139, elsewhere->span, {group.group.name, words})
          .guarded(early ? nullptr : guard_of(context.spec, *elsewhere), "does not hold then")
          .help(
              "write the `step` in `update`, outside any guard; a non-finite gradient is skipped by `step` "
              "itself")
          .then(repair);
    }
    const bool in_text = context.spec.params_span != context.spec.name_span;
    return Finding(Code::L115, in_text ? group.span : context.update_span(), {group.group.name})
        .help(in_text ? "add a `step` on `" + group.group.name + "`, or freeze the group in `params`"
                      : "add a `step`; without `params` the group `all` has every parameter")
        .then(repair);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> judge_steps(const JudgeContext& context) {
  if (context.trace.kind == WindowKind::empty) return std::nullopt;
  // Non-finite gradients are not applied: what they do to the gradient shows in the windows after them.
  if (context.trace.kind == WindowKind::normal) {
    for (int i = 0; i < end_of(context); ++i) {
      const Event& event = context.trace.events[i];
      // Without a backward in this window nothing is touched, and a step leaves everything as it is.
      if (event.entry->gradient_effect != GradientEffect::applies || !event.touched) continue;
      if (std::optional<Finding> finding = judge_gradient({context, event, i})) return finding;
    }
  }
  return judge_number(context);
}

}  // namespace loop::check
