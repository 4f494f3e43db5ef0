// before: normalize                    a pass over the gradient: read and write
//         clip(norm: 1.0)              two passes: read; read and write
//         step adamw(…)                a pass over parameter, gradient and states
//         zero_grad                    a pass over the gradient: write
// after:  normalize     folded         a factor per group
//         clip(norm: 1.0)  folded      one pass: read; the norm of the gradient is |factor| times that of the
//         memory step adamw(…)    zeroes      one pass: factor · gradient, rule, zeros written behind
//         zero_grad     folded         nothing left to do, unless the step did not run
#include <algorithm>
#include <set>
#include <string>

#include "compiler/plan/passes/passes.h"

namespace loop::planner {
namespace {

using plan::Operation;
using plan::OpKind;

/// Multiplies the whole gradient, or a group's, by one number.
bool is_factor(OpKind kind) {
  return kind == OpKind::unscale || kind == OpKind::normalize || kind == OpKind::scale_grad ||
         kind == OpKind::clip_norm;
}

/// Leaves the gradient alone.
bool is_neutral(const Operation& operation) {
  switch (operation.kind) {
    case OpKind::update_scale:
    case OpKind::tick:
    case OpKind::average:
      return true;
    case OpKind::when:
      return std::all_of(operation.body.begin(), operation.body.end(), is_neutral);
    default:
      return false;
  }
}

/// Each trainable group has exactly one of these steps, and nothing looks at the gradient after the first.
bool steps_may_zero(const plan::Plan& plan, const Operation* begin, const Operation* end) {
  std::multiset<std::string> stepped;
  for (const Operation* operation = begin; operation != end; ++operation) {
    if (operation->kind != OpKind::step) {
      if (!stepped.empty() && !is_neutral(*operation)) return false;
      continue;
    }
    stepped.insert(operation->groups.begin(), operation->groups.end());
    if (!operation->groups.empty()) continue;
    if (plan.groups.empty()) stepped.insert("all");
    for (const plan::Group& group : plan.groups) {
      if (!group.frozen) stepped.insert(group.name);
    }
  }
  const std::set<std::string> groups(stepped.begin(), stepped.end());
  const auto trainable = std::count_if(plan.groups.begin(), plan.groups.end(),
                                       [](const plan::Group& group) { return !group.frozen; });
  return groups.size() == stepped.size() &&
         groups.size() == static_cast<size_t>(plan.groups.empty() ? 1 : trainable);
}

}  // namespace

void fold_update(plan::Plan& plan) {
  const auto zero = std::find_if(plan.update.begin(), plan.update.end(), [](const Operation& operation) {
    return operation.kind == OpKind::zero_grad;
  });
  // Without zeros at its end the gradient lives on, in memory.
  if (zero == plan.update.end()) return;
  auto begin = zero;
  while (begin != plan.update.begin()) {
    const Operation& before = *std::prev(begin);
    if (!is_factor(before.kind) && before.kind != OpKind::step && !is_neutral(before)) break;
    --begin;
  }
  for (auto operation = begin; operation != zero; ++operation) operation->folded = is_factor(operation->kind);
  if (!steps_may_zero(plan, &*begin, &*zero)) return;
  for (auto operation = begin; operation != zero; ++operation)
    operation->zeroes = operation->kind == OpKind::step;
  zero->folded = true;
}

}  // namespace loop::planner
