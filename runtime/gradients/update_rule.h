// An update rule on a group's memory: one pass over parameters, gradients and states.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/gradients/parameters.h"
#include "runtime/plan/rule_kernel.h"

namespace loop::gradients {

/// A rule's hyper-parameters, evaluated for this update, by name ("lr", "beta1" …).
using HyperValues = std::vector<std::pair<std::string, double>>;

class UpdateRule {
 public:
  /// `compile` is asked when the first group is prepared.
  UpdateRule(plan::UpdateRule rule, plan::RuleCompiler compile)
      : rule_(std::move(rule)), compile_(std::move(compile)) {}

  /// Makes the states (zeros) of a group; called once per group. All groups have one element type.
  void prepare(ParameterGroup& group);
  /// Applies one update to every touched slot of the group and advances those slots' `step`. Untouched slots
  /// keep value, states and step. Reads the final gradient, that is, the group's factor times its memory;
  /// `zero` leaves zeros where a gradient was read. Norms are those of one slot's tensor. Throws loop::Error
  /// (internal) without `prepare`.
  void apply(ParameterGroup& group, const HyperValues& hyper, bool zero = false) const;

 private:
  plan::UpdateRule rule_;
  plan::RuleCompiler compile_;
  std::shared_ptr<const plan::RuleKernel> kernel_;
};

}  // namespace loop::gradients
