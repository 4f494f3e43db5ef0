// An update rule taken apart into what is one number per tensor and what is one number per element.
//
//   let m_hat = m1 / (1 - beta1 ^ step)        $0 = 1 - beta1 ^ step        (once per tensor, in FP64)
//                                              let m_hat = m1 / $0          (once per element)
//
// So a power or a cosine of a clock never stands in the loop over the elements, and no device has to know it.
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/update_rule.h"

namespace loop::kernels {

struct Split {
  /// One value per tensor: over hyper-parameters, `step`, "norm(x)" and earlier slots ("$0").
  std::vector<plan::Expression> scalars;
  /// Over `param`, `grad`, states, element-wise lets, constants and slots.
  std::vector<plan::UpdateRule::Statement> elements;
  struct Norm {
    std::string of;     // "param", "u"
    size_t statements;  // how many of `elements` have to run before its value is there
  };
  /// In an order in which each can be computed from those before it.
  std::vector<Norm> norms;
};

/// "$3"
std::string slot_name(size_t slot);
/// The slot's number, or -1 for any other name.
int slot_of(const std::string& name);
/// "norm(u)"
std::string norm_name(const std::string& of);

/// Throws std::invalid_argument for a name that is not defined where it stands, a norm of something that is
/// one number per tensor, and an unknown function.
Split split(const plan::UpdateRule& rule);

}  // namespace loop::kernels
