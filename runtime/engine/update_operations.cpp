#include "runtime/engine/update_operations.h"

#include <cmath>

#include "loop/error.h"
#include "runtime/engine/variables.h"
#include "runtime/plan/names.h"

namespace loop::engine {

namespace {

/// Whether what follows an update may follow now: it was applied, or, before the step, nothing speaks against
/// it.
bool may_count(const WindowState& window) {
  return window.stepped ? window.applied() : window.finite().value_or(true);
}

gradients::Parameters::Pass pass_of(const plan::Operation& operation) {
  return operation.folded ? gradients::Parameters::Pass::folded : gradients::Parameters::Pass::now;
}

double threshold(const plan::Operation& clip, const plan::Lookup& lookup) {
  const double limit = value_of(clip.limit, lookup, plan::to_text(clip));
  if (!(limit >= 0)) {
    throw Error(ErrorKind::training, plan::to_text(clip) + " has the threshold " + std::to_string(limit),
                "a threshold is 0 or more");
  }
  return limit;
}

}  // namespace

std::optional<plan::ReduceMode> first_reduction(const std::vector<plan::Operation>& operations) {
  for (const plan::Operation& operation : operations) {
    if (operation.kind == plan::OpKind::reduce) return operation.reduce_mode;
    if (const auto inner = first_reduction(operation.body)) return inner;
  }
  return std::nullopt;
}

/// One pass over all groups: the norm as it is now, and the first bad parameter if there is one.
void UpdateOperations::measure(WindowState& window) {
  if (parameters_.growing()) parameters_.settle();  // what is finite in memory may overflow on its way
  const double norm = parameters_.gradient_norm({});
  if (!window.norm) window.norm = norm;
  window.known_finite = std::isfinite(norm);
  gradients::NonfiniteReport report;
  if (!window.known_finite) report = parameters_.first_nonfinite();
  // Finite elements can have a norm outside FP64's range.
  window.known_finite = ranks_.all_finite(!report, window);
  if (report && !window.nonfinite) window.nonfinite = Nonfinite{report.parameter, std::nullopt};
}

void UpdateOperations::scale(const plan::Operation& operation, double factor, WindowState& window) {
  if (factor == 1) return;
  parameters_.scale_gradients({}, factor, pass_of(operation));
  if (!(std::abs(factor) <= 1)) window.known_finite = false;  // a larger factor can overflow
}

void UpdateOperations::unscale(const plan::Operation& unscale, WindowState& window) {
  measure(window);
  window.norm.reset();  // the norm that is reported is the normalised one
  window.unscale_verdict = window.known_finite;
  scale(unscale, 1 / window.loss_scale(), window);
}

bool UpdateOperations::reduced_by_mean(const WindowState& window) const {
  const plan::ReduceMode by = window.reduced_by.value_or(next_reduction_.value_or(plan::ReduceMode::sum));
  return by == plan::ReduceMode::mean;
}

void UpdateOperations::normalize(const plan::Operation& normalize, WindowState& window) {
  if (objective_.terms_share_one_class()) {
    const double count =
        objective_.divisor(static_cast<size_t>(objective_.terms().front().count_class), window.counts);
    scale(normalize, (reduced_by_mean(window) ? static_cast<double>(ranks_.ranks().size()) : 1) / count,
          window);
    return;
  }
  throw Error(ErrorKind::internal, "`normalize` with several count classes: no single factor is right");
}

void UpdateOperations::scale_grad(const plan::Operation& scale_grad, WindowState& window,
                                  const MicroState* micro) {
  scale(scale_grad,
        evaluate(scale_grad.factor, factor_values(window, micro, ranks_.ranks().size()), objective_), window);
}

void UpdateOperations::clip_norm(const plan::Operation& clip, WindowState& window,
                                 const plan::Lookup& lookup) {
  const double limit = threshold(clip, lookup);
  const bool all = clip.groups.empty() || clip.groups.size() == parameters_.groups().size();
  if (!all && !window.norm) measure(window);
  const double norm = parameters_.clip_norm(clip.groups, limit, pass_of(clip));
  if (all && !window.norm) window.norm = norm;
  if (std::isfinite(norm)) {
    window.known_finite = window.known_finite || all;
    window.clipped = window.clipped || norm > limit;
  }
}

void UpdateOperations::clip_value(const plan::Operation& clip, WindowState& window,
                                  const plan::Lookup& lookup) {
  const double limit = threshold(clip, lookup);
  if (!window.norm) measure(window);
  if (parameters_.clip_value(clip.groups, limit) > 0) window.clipped = true;
}

void UpdateOperations::step(const plan::Operation& step, WindowState& window, const plan::Lookup& lookup) {
  if (!window.step_verdict) {
    const bool own_gradient = ranks_.ranks().size() > 1 && !window.reduced;
    if (!window.known_finite || !window.norm || own_gradient) measure(window);
    window.step_verdict = window.known_finite;
  }
  window.stepped = true;
  if (!*window.step_verdict) return;
  window.learning_rates.emplace_back(steps_.label(step), steps_.apply(step, lookup));
}

void UpdateOperations::update_scale(const WindowState& window) const {
  if (!window.finite())
    throw Error(ErrorKind::internal, "`update_scale` before `unscale` and before any `step`");
  if (window.scaler) window.scaler->update(*window.finite());
}

void UpdateOperations::tick(const std::string& clock, const WindowState& window) {
  clocks_.advance(plan::from_spelling<plan::Clock>(clock), may_count(window), window.totals);
}

void UpdateOperations::average(const std::string& name, const WindowState& window,
                               const plan::Lookup& lookup) {
  if (may_count(window)) averages_.update(name, lookup);
}

}  // namespace loop::engine
