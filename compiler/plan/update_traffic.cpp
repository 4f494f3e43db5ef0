#include "compiler/plan/update_traffic.h"

#include <algorithm>

#include "compiler/plan/dump_parts.h"

namespace loop::planner {
namespace {

using plan::OpKind;

/// Passes of the operations other than steps over the gradient: one for each read or write of it. `measured`:
/// its norm is known.
double passes_over_gradient(const plan::Operation& operation, bool& measured) {
  const double change = operation.folded ? 0 : 2;
  double read = 0;
  switch (operation.kind) {
    case OpKind::unscale:
    case OpKind::clip_norm:
      read = measured ? 0 : 1;
      measured = operation.folded;
      return read + change;
    case OpKind::normalize:
    case OpKind::scale_grad:
      measured = measured && operation.folded;
      return change;
    case OpKind::clip_value:
      read = measured ? 0 : 1;
      measured = false;
      return read + 2;
    case OpKind::zero_grad:
      return operation.folded ? 0 : 1;
    default:
      return 0;
  }
}

}  // namespace

UpdateTraffic update_traffic(const plan::Plan& plan) {
  const double width = bytes_per_number(plan.dtype);
  double common = 0, least = 0, most = 0;
  bool measured = false, judged = false, any = false;
  for (const plan::Operation& operation : plan.update) {
    if (operation.kind != OpKind::step) {
      common += passes_over_gradient(operation, measured) * width;
      continue;
    }
    if (!judged && !measured) common += width;  // the first step looks whether the gradient is finite
    judged = true;
    const plan::UpdateRule* rule = plan.rule_of(operation.rule);
    const double states = rule ? static_cast<double>(rule->states.size()) : 0;
    const double bytes = (2 + 1 + (operation.zeroes ? 1 : 0) + 2 * states) * width;
    least = any ? std::min(least, bytes) : bytes;
    most = std::max(most, bytes);
    any = true;
  }
  return {common + least, common + most};
}

}  // namespace loop::planner
