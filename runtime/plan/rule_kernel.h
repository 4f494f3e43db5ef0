// The contract between who compiles an update rule (compiler/kernels) and who runs it on a model's memory
// (runtime/gradients). Neither sees the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace loop::plan {

/// Memory of one tensor or arena: `param`, `grad`, then the states, each an array of the kernel's element
/// type; none overlaps another.
using Arrays = std::vector<void*>;

/// An update rule for one element type, as code of this host. Thread-safe.
class RuleKernel {
 public:
  virtual ~RuleKernel() = default;

  virtual size_t states() const = 0;
  /// The names under which `scalars` asks for norms over one tensor, "norm(u)", in the order to compute them;
  /// empty for most rules, which then treat a whole arena like one tensor.
  virtual const std::vector<std::string>& norms() const = 0;
  /// What is one number per tensor, computed once. `lookup` knows the hyper-parameters, `step` and, as far as
  /// they are computed, the norms. What cannot be computed yet is NaN.
  virtual std::vector<double> scalars(const Lookup& lookup) const = 0;
  /// Σ x² of the j-th norm's argument over elements [begin, end), accumulated in FP64 in an order that
  /// depends on `begin` and `end` alone.
  virtual double sum_of_squares(size_t norm, const Arrays& arrays, std::span<const double> scalars,
                                double factor, int64_t begin, int64_t end) const = 0;
  /// Runs the rule on elements [begin, end) with `factor` · gradient; writes zeros into the gradient if
  /// `zero`. Disjoint ranges may run on different threads.
  virtual void update(const Arrays& arrays, std::span<const double> scalars, double factor, int64_t begin,
                      int64_t end, bool zero) const = 0;
};

/// `element` is fp32 or fp64. Throws std::invalid_argument for a rule that has no meaning, std::runtime_error
/// when it cannot be compiled.
using RuleCompiler = std::function<std::shared_ptr<const RuleKernel>(const UpdateRule& rule, Dtype element)>;

}  // namespace loop::plan
