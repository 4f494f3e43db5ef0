// In which precision forward passes and losses are computed.
#pragma once

#include <ATen/core/Tensor.h>

#include "runtime/plan/plan.h"

namespace loop::engine {

/// The plan's `amp` if training's `forward` stands in an `autocast`, else off: what another pass over the
/// model does to be comparable.
plan::AmpMode forward_precision(const plan::Plan& plan);

/// fp32 for a tensor in bf16 or fp16, itself for any other: what losses and metrics are computed and summed
/// in, because a sum over a micro-batch leaves fp16's range and bf16's digits.
at::Tensor in_full_precision(const at::Tensor& outputs);

}  // namespace loop::engine
