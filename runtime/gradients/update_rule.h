// Update rules: one pass over a group's arena. Today LibTorch's fused kernels, later code compiled from the
// rule's text; both stand behind this interface.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/gradients/parameters.h"
#include "runtime/plan/plan.h"

namespace loop::gradients {

/// A rule's hyper-parameters, evaluated for this update, by name ("lr", "beta1" …).
using HyperValues = std::vector<std::pair<std::string, double>>;

class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  /// Makes the states (zeros) of a group; called once.
  virtual void prepare(ParameterGroup& group) const = 0;
  /// Applies one update to every touched slot of the group and advances those slots' `step`. Untouched slots
  /// keep value, states and step. Reads the final gradient (unscaled, normalised, clipped).
  virtual void apply(ParameterGroup& group, const HyperValues& hyper) const = 0;
};

/// For "std.optimizers.sgd", ".adam", ".adamw". Throws loop::Error (findings) for any other.
std::unique_ptr<UpdateRule> make_update_rule(const plan::StepRule& rule);

}  // namespace loop::gradients
