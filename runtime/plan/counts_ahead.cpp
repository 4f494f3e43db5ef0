#include "runtime/plan/counts_ahead.h"

#include <algorithm>

namespace loop::plan {

namespace {

bool reads_window_count(const Factor& factor) {
  return std::any_of(factor.powers.begin(), factor.powers.end(), [](const Power& power) {
    return power.symbol == Power::Symbol::count_global || power.symbol == Power::Symbol::count_rank;
  });
}

bool reads_window_count(const Expression& expression) {
  const auto names = variables(expression);
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.ends_with(".global") || name.ends_with(".rank");
  });
}

}  // namespace

bool needs_counts_ahead(const std::vector<Operation>& micro) {
  return std::any_of(micro.begin(), micro.end(), [](const Operation& operation) {
    const bool normalised_loss =
        operation.kind == OpKind::loss && operation.loss_mode == LossMode::normalized;
    return normalised_loss || operation.kind == OpKind::normalize || reads_window_count(operation.factor) ||
           reads_window_count(operation.condition) || needs_counts_ahead(operation.body);
  });
}

}  // namespace loop::plan
