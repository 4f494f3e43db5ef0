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
  /// different rules want the same group, or the plan lacks a rule's text. Without `compile` no step can be
  /// applied: enough for who looks at gradients only.
  Steps(const plan::Plan& plan, gradients::Parameters& parameters, const plan::RuleCompiler& compile);

  /// Applies one `step` operation of the plan; returns the learning rate it used.
  double apply(const plan::Operation& step, const plan::Lookup& lookup) const;
  /// How the step is called in metrics: its groups, or "all".
  const std::string& label(const plan::Operation& step) const;

 private:
  struct Entry {
    std::shared_ptr<gradients::UpdateRule> rule;  // one for all steps that name it
    std::vector<gradients::ParameterGroup*> groups;
    std::string label;
  };
  const Entry& entry(const plan::Operation& step) const;
  std::unordered_map<const plan::Operation*, Entry> entries_;
};

}  // namespace loop::engine
