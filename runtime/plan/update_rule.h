// The text of an update rule as the plan carries it: `optimizer NAME(…) { … }` after the semantic analysis.
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/expression.h"

namespace loop::plan {

/// Statements run in order, once per element. Their expressions read `param`, `grad`, states and lets (one
/// number per element), hyper-parameters and `step` (one number per tensor: the 1-based count of its
/// updates), and `norm(x)`, written as the application "norm" of a variable: the Euclidean norm of x over one
/// tensor. `x` is a `let` that stands before the use, or `param`, `grad` or a state as they were before the
/// update.
struct UpdateRule {
  struct Statement {
    enum class Kind { let, assign };
    Kind kind = Kind::let;
    std::string target;  // a let's name; a state or "param"
    Expression value;
    friend bool operator==(const Statement&, const Statement&) = default;
  };
  std::string name;                // "std.optimizers.adamw"
  std::vector<std::string> hyper;  // names of the hyper-parameters
  std::vector<std::string> states;
  std::vector<Statement> statements;
  friend bool operator==(const UpdateRule&, const UpdateRule&) = default;
};

}  // namespace loop::plan
