#include "compiler/operations/table.h"

#include <algorithm>
#include <stdexcept>

namespace loop::operations {
namespace {

using plan::OpKind;

constexpr unsigned kFinal = kComplete | kReduced | kUnscaled | kNormalized | kUnspent;

// One operation per block of lines, in the columns of Entry: kind, name, where, encloses, arguments, takes
// groups | graph need, graph effect | gradient need, gradient effect | factor effect | verdict, collective,
// once | meaning.
const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {OpKind::forward, "forward", Where::micro, false, Arguments::none, false, GraphNeed::nothing,
       GraphEffect::makes_outputs, kAnyGradient, GradientEffect::none, FactorEffect::none, Verdict::none,
       Collective::never, false, "Computes the outputs of this micro-batch."},
      {OpKind::loss, "loss", Where::micro, false, Arguments::optional_mode, false, GraphNeed::outputs,
       GraphEffect::makes_loss, kAnyGradient, GradientEffect::none, FactorEffect::loss_mode, Verdict::none,
       Collective::when_counts_are_global, false,
       "Takes every term's sum over this micro-batch's counted units, or with `mean` its mean over them (0 "
       "for none), or with "
       "`normalized` its sum divided by its own global count N; adds the counts to the window's."},
      {OpKind::scale_loss, "scale_loss", Where::micro, false, Arguments::factor, false, GraphNeed::loss,
       GraphEffect::scales_loss, kAnyGradient, GradientEffect::none, FactorEffect::written, Verdict::none,
       Collective::when_counts_are_global, false, "Multiplies the loss by a factor."},
      {OpKind::backward, "backward", Where::micro, false, Arguments::none, false, GraphNeed::loss,
       GraphEffect::spends_loss, kAnyGradient, GradientEffect::accumulates, FactorEffect::none, Verdict::none,
       Collective::when_synchronising, false,
       "Adds the loss's gradient to the accumulated one, closes this micro-batch's graph, and reduces what "
       "has been accumulated "
       "if this micro-batch synchronises."},
      {OpKind::autocast, "autocast", Where::micro, true, Arguments::none, false, GraphNeed::nothing,
       GraphEffect::none, kAnyGradient, GradientEffect::none, FactorEffect::none, Verdict::none,
       Collective::never, false, "Runs the enclosed operations in mixed precision."},
      {OpKind::sync_on, "sync_on", Where::micro, true, Arguments::mode, false, GraphNeed::nothing,
       GraphEffect::none, kAnyGradient, GradientEffect::none, FactorEffect::none, Verdict::none,
       Collective::never, false, "Says which micro-batches synchronise, decided where `forward` stands."},
      {OpKind::reduce, "reduce", Where::both, false, Arguments::mode, false, GraphNeed::nothing,
       GraphEffect::none, kComplete, GradientEffect::reduces, FactorEffect::reduction, Verdict::none,
       Collective::always, true,
       "Reduces the gradient over ranks now, as a sum or a mean; only with `sync = manual`."},
      {OpKind::unscale, "unscale", Where::update, false, Arguments::none, false, GraphNeed::nothing,
       GraphEffect::none, kComplete, GradientEffect::multiplies, FactorEffect::inverse_scale, Verdict::gives,
       Collective::always, true,
       "Divides the gradient by the loss scale and notes, agreed over ranks, whether it is finite."},
      {OpKind::normalize, "normalize", Where::update, false, Arguments::none, false, GraphNeed::nothing,
       GraphEffect::none, kComplete, GradientEffect::multiplies, FactorEffect::world_over_count,
       Verdict::none, Collective::always, true,
       "Multiplies the gradient by W/N: N is the window's global count, W is the number of ranks after a "
       "mean reduction and 1 "
       "after a sum."},
      {OpKind::scale_grad, "scale_grad", Where::update, false, Arguments::factor, false, GraphNeed::nothing,
       GraphEffect::none, kComplete, GradientEffect::multiplies, FactorEffect::written, Verdict::none,
       Collective::when_counts_are_global, false, "Multiplies the gradient by a factor."},
      {OpKind::clip_norm, "clip", Where::update, false, Arguments::clip, true, GraphNeed::nothing,
       GraphEffect::none, kFinal, GradientEffect::clips, FactorEffect::none, Verdict::none, Collective::never,
       true,
       "`clip(norm: x)` multiplies the gradient by min(1, x/‖g‖), the norm taken over all tensors of the "
       "groups."},
      {OpKind::clip_value, "clip", Where::update, false, Arguments::clip, true, GraphNeed::nothing,
       GraphEffect::none, kFinal, GradientEffect::clips, FactorEffect::none, Verdict::none, Collective::never,
       true, "`clip(value: x)` limits each element of the gradient to [-x, x]."},
      {OpKind::step, "step", Where::update, false, Arguments::rule, true, GraphNeed::nothing,
       GraphEffect::none, kFinal, GradientEffect::applies, FactorEffect::none, Verdict::gives_and_obeys,
       Collective::always, true,
       "Applies an update rule to the parameters, unless the gradient is not finite on some rank or in some "
       "group."},
      {OpKind::update_scale, "update_scale", Where::update, false, Arguments::none, false, GraphNeed::nothing,
       GraphEffect::none, kAnyGradient, GradientEffect::none, FactorEffect::none, Verdict::needs,
       Collective::never, true,
       "Grows the loss scale or backs it off, by the verdict of `unscale`, else of `step`."},
      {OpKind::zero_grad, "zero_grad", Where::update, false, Arguments::none, false, GraphNeed::nothing,
       GraphEffect::none, kAnyGradient, GradientEffect::zeroes, FactorEffect::none, Verdict::none,
       Collective::never, false, "Writes zeros to the gradient."},
      {OpKind::tick, "tick", Where::update, false, Arguments::name, false, GraphNeed::nothing,
       GraphEffect::none, kAnyGradient, GradientEffect::none, FactorEffect::none, Verdict::none,
       Collective::never, true,
       "Advances a clock by hand; a clock that no `tick` names advances by itself after an applied update."},
      {OpKind::average, "average", Where::update, false, Arguments::name, false, GraphNeed::nothing,
       GraphEffect::none, kAnyGradient, GradientEffect::none, FactorEffect::none, Verdict::none,
       Collective::never, true,
       "Moves an average by hand; an average that no `average` names moves by itself after an applied "
       "update."},
      {OpKind::when, "when", Where::both, true, Arguments::condition, false, GraphNeed::nothing,
       GraphEffect::none, kAnyGradient, GradientEffect::none, FactorEffect::none, Verdict::none,
       Collective::never, false, "Executes the enclosed operations only if the condition holds."},
  };
  return all;
}

}  // namespace

const std::vector<Entry>& table() {
  return entries();
}

const Entry& entry(plan::OpKind kind) {
  for (const Entry& one : entries()) {
    if (one.kind == kind) return one;
  }
  throw std::logic_error("an operation is missing from the table of operations");
}

std::vector<const Entry*> find(std::string_view name) {
  std::vector<const Entry*> found;
  for (const Entry& one : entries()) {
    if (one.name == name) found.push_back(&one);
  }
  return found;
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Entry& one : entries()) {
    if (std::find(all.begin(), all.end(), one.name) == all.end()) all.emplace_back(one.name);
  }
  return all;
}

}  // namespace loop::operations
