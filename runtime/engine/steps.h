// The steps of a plan: each an update rule on parameter groups, with hyper-parameters that may follow clocks.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/gradients/parameters.h"
#include "runtime/gradients/update_rule.h"
#include "runtime/plan/plan.h"

namespace loop::engine {

class Steps {
 public:
  /// Makes the rules and the optimizer states of every `step` in the plan's two blocks. `plan` and
  /// `parameters` must outlive it. Throws loop::Error (findings) when a trainable group has no step, or two
  /// different rules want the same group.
  Steps(const plan::Plan& plan, gradients::Parameters& parameters);

  /// Applies one `step` operation of the plan; returns the learning rate it used.
  double apply(const plan::Operation& step, const plan::Lookup& lookup) const;
  /// How the step is called in metrics: its groups, or "all".
  const std::string& label(const plan::Operation& step) const;

 private:
  struct Entry {
    std::unique_ptr<gradients::UpdateRule> rule;
    std::vector<gradients::ParameterGroup*> groups;
    std::string label;
  };
  const Entry& entry(const plan::Operation& step) const;
  std::unordered_map<const plan::Operation*, Entry> entries_;
};

}  // namespace loop::engine
