// Rules to compile: from the standard library or from a user's text, as the semantic analysis gives them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/kernels/compiled_rule.h"
#include "compiler/plan/update_rule.h"
#include "tests/unit/sema/analysis.h"

namespace loop::kernels::test {

/// A rule and the hyper-parameters that a `step` gives it.
struct Step {
  plan::UpdateRule rule;
  std::map<std::string, double> hyper;
};

/// `step`: "adamw(lr: 0.1)"; `definitions` stand in front of the loop.
inline Step step_of(const std::string& step, const std::string& definitions = "") {
  std::string uses;
  for (const char* name :
       {"adam", "adamw", "amsgrad", "nadam", "rmsprop", "adagrad", "lion", "lamb", "lars", "adan", "sophia"})
    if (definitions.find("optimizer " + std::string(name) + "(") == std::string::npos)
      uses += "use std.optimizers." + std::string(name) + "\n";
  const loop::testing::Analysis analysis(uses + definitions +
                                         loop::testing::replace(loop::testing::kTiny, "sgd(lr: 0.1)", step));
  Step result{planner::update_rule(analysis.spec().rules.at(0)), {}};
  for (const auto& operation : analysis.spec().update.operations)
    for (const plan::NamedExpression& hyper : operation.op.rule.hyper)
      result.hyper[hyper.name] = hyper.value.value;
  return result;
}

/// Memory of one tensor under a rule, in elements of type T.
template <class T>
struct Tensor {
  std::vector<T> param, grad;
  std::vector<std::vector<T>> states;

  Tensor(std::vector<T> start, size_t state_count)
      : param(std::move(start)), grad(param.size()), states(state_count, std::vector<T>(param.size())) {}

  Arrays arrays() {
    Arrays all = {param.data(), grad.data()};
    for (std::vector<T>& state : states) all.push_back(state.data());
    return all;
  }
};

/// The slots' values for one update of this tensor, its norms computed in their order.
template <class T>
std::vector<double> scalars(const CompiledRule& rule, Tensor<T>& tensor, std::map<std::string, double> known,
                            double factor = 1) {
  const plan::Lookup lookup = [&](std::string_view name) -> std::optional<double> {
    const auto found = known.find(std::string(name));
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
  for (size_t j = 0; j < rule.norms().size(); ++j) {
    const double square = rule.sum_of_squares(j, tensor.arrays(), rule.scalars(lookup), factor, 0,
                                              static_cast<int64_t>(tensor.param.size()));
    known[rule.norms()[j]] = std::sqrt(square);
  }
  return rule.scalars(lookup);
}

}  // namespace loop::kernels::test
