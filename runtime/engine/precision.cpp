#include "runtime/engine/precision.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace loop::engine {

namespace {

bool has_forward(const std::vector<plan::Operation>& operations, bool in_autocast) {
  return std::any_of(operations.begin(), operations.end(), [in_autocast](const plan::Operation& operation) {
    if (operation.kind == plan::OpKind::forward) return in_autocast;
    return has_forward(operation.body, in_autocast || operation.kind == plan::OpKind::autocast);
  });
}

}  // namespace

plan::AmpMode forward_precision(const plan::Plan& plan) {
  return has_forward(plan.micro, false) ? plan.amp.mode : plan::AmpMode::off;
}

at::Tensor in_full_precision(const at::Tensor& outputs) {
  const bool half = outputs.scalar_type() == at::kHalf || outputs.scalar_type() == at::kBFloat16;
  return half ? outputs.to(at::kFloat) : outputs;
}

}  // namespace loop::engine
