// Operations of the window's end that stand inside the window, and clips in the wrong place.
#include <algorithm>

#include "compiler/check/typestate/judge.h"

namespace loop::check {
namespace {

using diagnostics::Code;
using operations::GradientEffect;
using plan::OpKind;

bool holds_window(const Gradient& gradient, int window) {
  return std::any_of(gradient.parts().begin(), gradient.parts().end(),
                     [&](const Part& part) { return part.window == window; });
}

/// The clips and steps of the window, by the group they act on.
struct Uses {
  explicit Uses(const JudgeContext& context)
      : clips(events_by_group(context.spec, context.groups, context.trace.events, GradientEffect::clips)),
        steps(events_by_group(context.spec, context.groups, context.trace.events, GradientEffect::applies)) {}
  ByGroup clips;
  ByGroup steps;

  /// The step that uses what a clip at `from` leaves, for a group; -1 when none follows.
  int next_step(int from, int group) const {
    const std::vector<int>& all = steps[static_cast<size_t>(group)];
    const auto next = std::upper_bound(all.begin(), all.end(), from);
    return next == all.end() ? -1 : *next;
  }
};

bool same_clip(const plan::Operation& a, const plan::Operation& b) {
  return a.kind == b.kind && a.limit == b.limit && a.groups == b.groups;
}

/// Another clip that says the same and acts in the right place for this group.
bool done_elsewhere(const JudgeContext& context, const Uses& uses, const Event& clip, int group) {
  const std::vector<Event>& events = context.trace.events;
  for (int i = 0; i < static_cast<int>(events.size()); ++i) {
    const Event& other = events[i];
    if (&other == &clip || !same_clip(other.operation->op, clip.operation->op)) continue;
    if (uses.next_step(i, group) >= 0 &&
        (context.repairs.excused.count(other.operation) || context.compare(other.gradient).right())) {
      return true;
    }
  }
  return false;
}

/// Whether a factor is at least 1 whatever is open. (The loss scale can be less.)
bool at_least_one(const JudgeContext& context, Monomial factor) {
  // No more micro-batches have counted units than there are.
  const Monomial most =
      context.identities().normal_form(Monomial::of({Symbol::ranks, 0}) * Monomial::of({Symbol::counted, 0}));
  const Powers powers = factor.powers();
  for (const auto& [atom, exponent] : powers) {
    if (atom.symbol == Symbol::filled && exponent < 0)
      factor *= Monomial::of(atom, -exponent) * most.to_power(exponent);
  }
  for (const auto& [atom, exponent] : factor.powers()) {
    const bool positive = atom.symbol == Symbol::ranks || atom.symbol == Symbol::micro_batches ||
                          atom.symbol == Symbol::counted;
    if (!positive || exponent < 0) return false;
  }
  return factor.number() >= 1;
}

/// A clip of a gradient that is too small changes nothing when the same clip acts in the right place too.
/// Before it: what the first leaves alone is left alone, what it cuts to the limit is cut to the limit again.
/// After it: nothing is left to cut.
bool cuts_nothing_more(const JudgeContext& context, int clip_index, int step_index, const Comparison& there) {
  if (there.empty || !there.missing.empty() || !there.stale_windows.empty() || !there.local.empty() ||
      there.scale || !there.factor || there.factor->sum ||
      !at_least_one(context, there.factor->quotient.inverse())) {
    return false;
  }
  const std::vector<Event>& events = context.trace.events;
  const plan::Operation& clip = events[clip_index].operation->op;
  for (int i = clip_index + 1; i < step_index; ++i) {
    const Event& event = events[i];
    if (event.entry->gradient_effect != GradientEffect::clips) continue;
    if (!same_clip(event.operation->op, clip)) break;
    const Comparison then = context.compare(event.gradient);
    if (then.right()) return true;
    const bool grown = !then.scale && then.local.empty() && then.factor && !then.factor->sum &&
                       at_least_one(context, then.factor->quotient * there.factor->quotient.inverse());
    if (!grown) break;
  }
  for (int i = clip_index - 1; i > last_backward(context.trace); --i) {
    const Event& event = events[i];
    if (event.entry->gradient_effect == GradientEffect::zeroes) break;
    if (event.entry->gradient_effect == GradientEffect::clips && same_clip(event.operation->op, clip) &&
        context.compare(event.gradient).right()) {
      return true;
    }
  }
  return false;
}

Finding misplaced_clip(const JudgeContext& context, const Event& clip, int clip_index, int step_index,
                       const Comparison& there) {
  const sema::Operation* operation = clip.operation;
  const auto excuse = [operation](Repairs& repairs) { repairs.excused.insert(operation); };
  // What changes the gradient between the clip and the step is what the clip should have waited for.
  const Event* unscale = nullptr;
  const Event* multiply = nullptr;
  const Event* reduction = nullptr;
  const Event* backward = nullptr;
  for (int i = clip_index + 1; i < step_index; ++i) {
    const Event& event = context.trace.events[i];
    if (event.operation->op.kind == OpKind::unscale && !unscale) unscale = &event;
    if ((event.operation->op.kind == OpKind::normalize || event.operation->op.kind == OpKind::scale_grad) &&
        !multiply) {
      multiply = &event;
    }
    if (event.operation->op.kind == OpKind::reduce && !reduction) reduction = &event;
    if (event.operation->op.kind == OpKind::backward && !backward) backward = &event;
  }
  if (backward && (there.empty || !there.missing.empty() || !there.stale_windows.empty())) {
    const std::string what =
        there.empty ? "the gradient is empty here"
                    : context.micros(there.missing.empty() ? std::vector<int>{1} : there.missing) +
                          " is still to come";
    return Finding(Code::L105, operation->span, {what})
        .also(backward->operation->span, "this adds to the gradient afterwards")
        .note(context.micro(std::max(clip.micro, 1)) +
              ": what is accumulated so far is clipped, then more is added")
        .help("write `clip` in `update`, before `step`")
        .then(excuse);
  }
  if (there.scale && unscale) {
    const Event* scaled_by = event_after(context.trace, 0, OpKind::scale_loss);
    const bool in_text = scaled_by && context.spec.micro.written;
    return Finding(Code::L110, operation->span)
        .says("the gradient is still S times too large here")
        .also(in_text ? scaled_by->operation->span : base::Span{}, "multiplied by S here")
        .also(unscale->operation->span, "divided by the loss scale only here")
        .note(
            "with S = 65536 a gradient of norm 3 is clipped from 196608 to the limit, and `unscale` then "
            "leaves limit/65536")
        .help("write `unscale` before `clip`")
        .then(excuse);
  }
  if (!there.local.empty() && reduction) {
    return Finding(Code::L209, operation->span)
        .also(reduction->operation->span, "the gradient is summed over ranks only here")
        .note("each rank clips by the norm of its own gradient, so their factors differ")
        .help("write the reduction before `clip`")
        .then(excuse);
  }
  if (multiply) {
    return Finding(Code::L111, operation->span, {std::string(multiply->entry->name)})
        .also(multiply->operation->span, "multiplied here, after the clip")
        .note("a limit for the mean gradient then acts on a sum, and twice the window's count halves it")
        .help("write `" + std::string(multiply->entry->name) + "` before `clip`")
        .then(excuse);
  }
  const Event* later = unscale ? unscale : reduction ? reduction : backward;
  return Finding(Code::L111, operation->span, {later ? std::string(later->entry->name) : "a later operation"})
      .help("write `clip` directly before `step`")
      .then(excuse);
}

/// A guard that asks about something other than the window itself; what it guards is then a part of the
/// recipe.
bool follows_the_run(const plan::Expression& condition) {
  for (const std::string& variable : plan::variables(condition)) {
    const bool of_window = variable == "first" || variable == "last" || variable == "finite" ||
                           variable.find('.') != std::string::npos;
    if (!of_window) return true;
  }
  return false;
}

bool guarded_by_run(const std::vector<sema::Operation>& operations, const sema::Operation* wanted,
                    bool guarded) {
  for (const sema::Operation& operation : operations) {
    if (&operation == wanted) return guarded;
    const bool inside = operation.op.kind == OpKind::when && follows_the_run(operation.op.condition);
    if (guarded_by_run(operation.body, wanted, guarded || inside)) return true;
  }
  return false;
}

/// The clips of the text that act on a group, each once, in the order of the text: what the reference does.
std::vector<const sema::Operation*> wanted_clips(const JudgeContext& context,
                                                 const std::vector<int>& clips_of_group) {
  std::vector<const sema::Operation*> wanted;
  for (const int at : clips_of_group) {
    const sema::Operation* operation = context.operations[at];
    if (context.repairs.disabled.count(operation)) continue;
    const bool known = std::any_of(wanted.begin(), wanted.end(), [&](const sema::Operation* other) {
      return same_clip(other->op, operation->op);
    });
    if (!known) wanted.push_back(operation);
  }
  return wanted;
}

/// The clips that acted on a group before its step, repetitions left out.
std::vector<const sema::Operation*> effective_clips(const JudgeContext& context, const Uses& uses,
                                                    int group) {
  std::vector<const sema::Operation*> effective;
  for (const int i : uses.clips[static_cast<size_t>(group)]) {
    const Event& clip = context.trace.events[i];
    if (!clip.touched || uses.next_step(i, group) < 0) continue;
    const bool known = std::any_of(effective.begin(), effective.end(), [&](const sema::Operation* other) {
      return same_clip(other->op, clip.operation->op);
    });
    if (!known && !clip.gradient.empty()) effective.push_back(clip.operation);
  }
  return effective;
}

/// Every clip acts on every path, in the order of the text.
std::optional<Finding> left_out_clips(const JudgeContext& context, const Uses& uses) {
  if (context.repairs.steps) return std::nullopt;
  const ByGroup clips_in_text =
      operations_by_group(context.spec, context.groups, context.operations, GradientEffect::clips);
  for (size_t i = 0; i < context.spec.groups.size(); ++i) {
    const sema::Group& group = context.spec.groups[i];
    if (group.group.frozen) continue;
    const std::string& name = group.group.name;
    const std::vector<const sema::Operation*> effective = effective_clips(context, uses, static_cast<int>(i));
    std::vector<const sema::Operation*> wanted;
    for (const sema::Operation* clip : wanted_clips(context, clips_in_text[i])) {
      const bool acts = std::any_of(effective.begin(), effective.end(), [&](const sema::Operation* other) {
        return same_clip(other->op, clip->op);
      });
      if (acts) wanted.push_back(clip);
      if (acts || context.repairs.excused.count(clip) ||
          guarded_by_run(context.spec.micro.operations, clip, false) ||
          guarded_by_run(context.spec.update.operations, clip, false)) {
        continue;
      }
      const std::string words = context.trace.tail ? context.window_words() : "when its guard does not hold";
      return Finding(Code::L138, clip->span, {name, words})
          .guarded(guard_of(context.spec, *clip), "does not hold then")
          .help("write `clip` outside the guard, directly before `step`")
          .then([clip](Repairs& repairs) { repairs.excused.insert(clip); });
    }
    for (size_t k = 0; k < wanted.size() && k < effective.size(); ++k) {
      if (same_clip(wanted[k]->op, effective[k]->op) || context.repairs.excused.count(effective[k])) continue;
      const sema::Operation* clip = wanted[k];
      return Finding(Code::L140, effective[k]->span)
          .also(clip->span, "this one stands first in the text, but acts on an empty gradient")
          .help("delete the one without effect")
          .then([clip = effective[k]](Repairs& repairs) { repairs.excused.insert(clip); });
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> judge_inside_window(const JudgeContext& context) {
  if (context.trace.kind == WindowKind::empty) return std::nullopt;
  const int last = last_backward(context.trace);
  const bool zero_in_update =
      std::any_of(context.trace.events.begin(), context.trace.events.end(), [](const Event& event) {
        return event.micro == 0 && event.entry->gradient_effect == GradientEffect::zeroes;
      });
  for (int i = 0; i < last; ++i) {
    const Event& event = context.trace.events[i];
    const sema::Operation* operation = event.operation;
    if (event.entry->gradient_effect == GradientEffect::applies && event.touched) {
      const int to_come = context.trace.micro_batches - event.micro;
      const std::string count = context.facts.micro_batches && to_come > 0
                                    ? std::to_string(*context.facts.micro_batches - event.micro)
                                    : "some";
      Finding finding(Code::L101, operation->span, {count});
      if (const Event* next = event_after(context.trace, i + 1, OpKind::backward))
        finding.also(next->operation->span, context.micro(next->micro) + " is added here, after that step");
      return finding.says(context.micro(event.micro) + ": the parameters change here")
          .note(
              "the micro-batches after it see other parameters: this is no longer the gradient of one window")
          .help("write `step` in `update`")
          .then([operation](Repairs& repairs) {
            repairs.disabled.insert(operation);
            repairs.steps = true;
          });
    }
    if (event.entry->gradient_effect == GradientEffect::zeroes &&
        holds_window(event.gradient, context.trace.window)) {
      std::vector<int> lost;
      for (const Part& part : event.gradient.parts()) {
        if (part.window == context.trace.window &&
            std::find(lost.begin(), lost.end(), part.micro) == lost.end()) {
          lost.push_back(part.micro);
        }
      }
      Finding finding(Code::L102, operation->span, {context.micros(lost)});
      for (int before = 0; before < i; ++before) {
        const Event& other = context.trace.events[before];
        if (other.operation->op.kind != OpKind::backward || other.micro != lost.front()) continue;
        finding.also(other.operation->span, "adds the gradient of " + context.micro(lost.front()));
        break;
      }
      return finding.says(context.micro(event.micro) + ": throws it away")
          .note("only what comes after the last `zero_grad` reaches `step`: accumulation has no effect")
          .help("write `zero_grad` in `update`, after `step`")
          .then([operation, zero_in_update](Repairs& repairs) {
            if (zero_in_update) repairs.disabled.insert(operation);
            if (!zero_in_update) repairs.to_end.push_back(operation);
          });
    }
    if (event.entry->verdict == operations::Verdict::needs && context.facts.fp16 && !context.repairs.scaler) {
      Finding finding(Code::L106, operation->span);
      if (const Event* next = event_after(context.trace, i + 1, OpKind::scale_loss))
        finding.also(next->operation->span,
                     context.micro(next->micro) + " is multiplied by another S than those before it");
      return finding.says(context.micro(event.micro) + ": S changes here")
          .note("after it the loss is multiplied by another S, and one `unscale` cannot divide by both")
          .help("write `update_scale` in `update`, after `step`")
          .then([operation](Repairs& repairs) {
            repairs.disabled.insert(operation);
            repairs.scaler = true;
          });
    }
  }
  return std::nullopt;
}

std::optional<Finding> judge_clips(const JudgeContext& context) {
  if (context.trace.kind != WindowKind::normal) return std::nullopt;
  const std::vector<Event>& events = context.trace.events;
  const Uses uses(context);
  for (int i = 0; i < static_cast<int>(events.size()); ++i) {
    const Event& clip = events[i];
    if (clip.entry->gradient_effect != GradientEffect::clips || context.repairs.excused.count(clip.operation))
      continue;
    const sema::Operation* operation = clip.operation;
    const Comparison there = context.compare(clip.gradient);
    const std::vector<int> groups = context.groups.groups_of(operation->op);
    for (const int group : groups) {
      const int step = uses.next_step(i, group);
      if (step < 0) {
        if (done_elsewhere(context, uses, clip, group) || context.repairs.steps) continue;
        const std::vector<int>& steps = uses.steps[static_cast<size_t>(group)];
        if (steps.empty()) continue;  // no step at all: that is the fault
        const std::string& name = context.spec.groups[static_cast<size_t>(group)].group.name;
        Finding finding(Code::L114, operation->span, {groups.size() == 1 ? "" : " on `" + name + "`"});
        finding.also(events[steps.front()].operation->span, "the gradient is used here");
        return finding.help("write `clip` before `step`").then([operation](Repairs& repairs) {
          repairs.excused.insert(operation);
        });
      }
      if (there.right()) continue;
      const Comparison then = context.compare(events[step].gradient);
      if (!then.stale_windows.empty() || then.empty) continue;  // the step's fault
      const bool empty_there = there.empty && !then.empty;
      if (empty_there && done_elsewhere(context, uses, clip, group)) continue;
      const bool changed =
          (there.scale.has_value() != then.scale.has_value()) ||
          (there.factor.has_value() != then.factor.has_value()) ||
          (there.factor && then.factor && !there.factor->quotient.equals(then.factor->quotient)) ||
          (there.scale && then.scale && !there.scale->scale.equals(then.scale->scale)) ||
          there.local != then.local || there.missing != then.missing || there.empty != then.empty;
      // An unchanged wrong gradient is the step's fault, and reported there.
      if (changed && !cuts_nothing_more(context, i, step, there))
        return misplaced_clip(context, clip, i, step, there);
    }
  }
  return left_out_clips(context, uses);
}

}  // namespace loop::check
