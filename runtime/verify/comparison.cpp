#include "runtime/verify/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace loop::verify {

double relative_error(const torch::Tensor& a, const torch::Tensor& b) {
  const double difference = (a - b).norm().item<double>();
  const double norm = b.norm().item<double>();
  if (difference == 0) return 0;
  return norm == 0 ? std::numeric_limits<double>::infinity() : difference / norm;
}

Comparison compare(const gradients::Parameters& parameters, const torch::Tensor& spec,
                   const torch::Tensor& reference, double tolerance) {
  Comparison result;
  int64_t offset = 0;
  for (const gradients::ParameterGroup& group : parameters.groups()) {
    int64_t size = 0;
    for (const gradients::Slot& slot : group.slots) size += slot.size;
    const torch::Tensor own = reference.narrow(0, offset, size);
    const double norm = own.norm().item<double>();
    const double error = relative_error(spec.narrow(0, offset, size), own);
    result.groups.push_back({group.name, size, norm, error});
    result.worst = std::isnan(error) ? error : std::max(result.worst, error);
    int64_t at = offset;
    for (const gradients::Slot& slot : group.slots) {
      const torch::Tensor a = spec.narrow(0, at, slot.size), b = reference.narrow(0, at, slot.size);
      at += slot.size;
      const bool within = (a - b).norm().item<double>() <= tolerance * norm;  // false for NaN
      if (within || !result.first_parameter.empty()) continue;
      result.first_parameter = slot.name;
      result.first_parameter_error = relative_error(a, b);
    }
    // Many parameters just within can add up to a group that is not.
    if (!(error <= tolerance) && result.first_parameter.empty() && !group.slots.empty()) {
      result.first_parameter = group.slots.front().name;
      result.first_parameter_error = error;
    }
    offset += size;
  }
  return result;
}

}  // namespace loop::verify
