#include "runtime/plan/loss_scale.h"

#include <algorithm>
#include <cmath>

namespace loop::plan {

bool loss_is_sum(const std::vector<Operation>& micro) {
  return std::any_of(micro.begin(), micro.end(), [](const Operation& operation) {
    return (operation.kind == OpKind::loss && operation.loss_mode == LossMode::sum) ||
           loss_is_sum(operation.body);
  });
}

double power_of_two_near(double count) {
  if (!(count > 0) || !std::isfinite(count)) return 1;
  return std::exp2(std::round(std::log2(count)));
}

}  // namespace loop::plan
