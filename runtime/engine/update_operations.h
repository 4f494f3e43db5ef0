// The operations of a window's end: unscale, normalize, scale_grad, clip, step, update_scale, zero_grad,
// tick, average.
#pragma once

#include "runtime/engine/averages.h"
#include "runtime/engine/micro_operations.h"
#include "runtime/engine/steps.h"

namespace loop::engine {

/// The first reduction that a block holds.
std::optional<plan::ReduceMode> first_reduction(const std::vector<plan::Operation>& operations);

class UpdateOperations {
 public:
  UpdateOperations(gradients::Parameters& parameters, const Objective& objective, const Steps& steps,
                   Averages& averages, Clocks& clocks, RankSync& ranks,
                   std::optional<plan::ReduceMode> next_reduction)
      : parameters_(parameters),
        objective_(objective),
        steps_(steps),
        averages_(averages),
        clocks_(clocks),
        ranks_(ranks),
        next_reduction_(next_reduction) {}

  // A folded operation changes the groups' factors and leaves the memory to the step.

  /// Divides by the loss scale, 1 without fp16, and notes whether the gradient is finite.
  void unscale(const plan::Operation& unscale, WindowState& window);
  /// Multiplies by W/N: W is the number of ranks if the nearest reduction before it is a mean (with none, the
  /// next one), else 1. Throws loop::Error (internal) with several count classes.
  void normalize(const plan::Operation& normalize, WindowState& window);
  /// Whether the reduction that decides W is a mean.
  bool reduced_by_mean(const WindowState& window) const;
  void scale_grad(const plan::Operation& scale_grad, WindowState& window, const MicroState* micro);
  /// A gradient that is not finite is left as it is: `step` will refuse it, and the report still finds the
  /// parameter.
  void clip_norm(const plan::Operation& clip, WindowState& window, const plan::Lookup& lookup);
  void clip_value(const plan::Operation& clip, WindowState& window, const plan::Lookup& lookup);
  /// The first step judges the gradient of all groups; the others follow its verdict: all steps or none.
  void step(const plan::Operation& step, WindowState& window, const plan::Lookup& lookup);
  /// Lets the loss scale grow or back off; without one there is nothing to adapt. Throws loop::Error
  /// (internal) when nothing has judged the gradient.
  void update_scale(const WindowState& window) const;
  void zero_grad() { parameters_.zero_gradients(); }
  /// Advances the named clock by this window. Clocks of applied windows stand still once the gradient is
  /// known to be bad.
  void tick(const std::string& clock, const WindowState& window);
  void average(const std::string& name, const WindowState& window, const plan::Lookup& lookup);

 private:
  void measure(WindowState& window);
  void scale(const plan::Operation& operation, double factor, WindowState& window);

  gradients::Parameters& parameters_;
  const Objective& objective_;
  const Steps& steps_;
  Averages& averages_;
  Clocks& clocks_;
  RankSync& ranks_;
  std::optional<plan::ReduceMode> next_reduction_;  // the first that the plan's update block holds
};

}  // namespace loop::engine
