// What is the same for every comparison: FP64, nothing random that can be switched off, no mixed precision.
#pragma once

#include <string>
#include <vector>

#include "loop/model.h"
#include "runtime/plan/rule_kernel.h"

namespace loop::verify {

/// A plan as `verify` executes it, and what was changed for that, in words.
struct Prepared {
  plan::Plan plan;
  std::vector<std::string> notes;
  plan::RuleCompiler compile_rule;
};

/// The plan in FP64 on the CPU, without mixed precision (the loss scale is then 1), dropout, recomputation,
/// checkpoints and weights from a file. Ranks are left to the caller: the plan says one. The steps of the
/// update block judge the gradient and move nothing; only a step inside `micro` is compiled by
/// `compile_rule`.
Prepared prepare(plan::Plan plan, plan::RuleCompiler compile_rule);

/// Training mode with every Dropout module in evaluation mode, and BatchNorm too when `freeze_batch_norm`.
void set_mode(Model& model, bool freeze_batch_norm);

/// Names of the model's BatchNorm modules.
std::vector<std::string> batch_norms(const Model& model);

}  // namespace loop::verify
