// An update rule as machine code of this host.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/kernels/emit.h"
#include "runtime/plan/rule_kernel.h"

namespace loop::kernels {

using plan::Arrays;

class CompiledRule : public plan::RuleKernel {
 public:
  /// Compiles for this processor: vectorised under strict floating point, so that an element's result depends
  /// neither on its neighbours nor on how the work is divided. Throws std::invalid_argument for a rule that
  /// has no meaning (split.h), std::runtime_error when LLVM cannot compile it.
  static std::shared_ptr<const CompiledRule> compile(const plan::UpdateRule& rule, Element element);
  ~CompiledRule() override;
  CompiledRule(const CompiledRule&) = delete;
  CompiledRule& operator=(const CompiledRule&) = delete;

  size_t states() const override { return rule_.states.size(); }
  const std::vector<std::string>& norms() const override { return norms_; }
  std::vector<double> scalars(const plan::Lookup& lookup) const override;
  double sum_of_squares(size_t norm, const Arrays& arrays, std::span<const double> scalars, double factor,
                        int64_t begin, int64_t end) const override;
  void update(const Arrays& arrays, std::span<const double> scalars, double factor, int64_t begin,
              int64_t end, bool zero) const override;

 private:
  struct Code;
  CompiledRule(plan::UpdateRule rule, Element element);

  plan::UpdateRule rule_;
  Split split_;
  std::vector<std::string> norms_;
  std::unique_ptr<Code> code_;
};

/// The same rule and element type compiled once per process, whoever asks. Thread-safe.
std::shared_ptr<const CompiledRule> cached_rule(const plan::UpdateRule& rule, Element element);
/// `cached_rule` as the runtime asks for it.
plan::RuleCompiler rule_compiler();

/// Of the library that is loaded: "19.1.7".
std::string llvm_version();

/// The rule as PTX for devices of compute capability `major`.`minor`. Throws std::invalid_argument for one
/// that needs a device's mathematics library in the loop over elements.
std::string to_ptx(const plan::UpdateRule& rule, Element element, int major, int minor);

/// Runs the device's code of a rule on this host, every thread of a grid of `threads` after the other: what a
/// device would compute, index arithmetic included.
void run_device_code(const plan::UpdateRule& rule, Element element, const Arrays& arrays,
                     std::span<const double> scalars, double factor, int64_t elements, bool zero,
                     int64_t threads);

/// The optimised IR of the host's code, for a person who wants to see whether it is vectorised.
std::string optimised_ir(const plan::UpdateRule& rule, Element element);

}  // namespace loop::kernels
