// How far two gradients are apart: per group, and the first parameter.
#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

#include "runtime/gradients/parameters.h"

namespace loop::verify {

struct GroupError {
  std::string name;
  int64_t parameters = 0;     // elements
  double reference_norm = 0;  // ‖g‖ of the big batch
  double relative_error = 0;  // ‖spec − reference‖ / ‖reference‖; infinite when only the reference is 0
};

struct Comparison {
  std::vector<GroupError> groups;
  double worst = 0;                  // over the groups
  std::string first_parameter;       // empty: none differs
  double first_parameter_error = 0;  // relative to the parameter's own norm
  bool equal() const { return first_parameter.empty(); }
};

/// ‖a − b‖ / ‖b‖; 0 when both are 0. Not finite when either is not.
double relative_error(const torch::Tensor& a, const torch::Tensor& b);

/// Flat FP64 gradients in slot order. A parameter differs when its error is not within `tolerance` times its
/// group's norm: some gradients are 0 in exact arithmetic (a bias before BatchNorm), and rounding is all they
/// hold.
Comparison compare(const gradients::Parameters& parameters, const torch::Tensor& spec,
                   const torch::Tensor& reference, double tolerance);

}  // namespace loop::verify
