#include "runtime/engine/loss_scale.h"

#include <algorithm>

#include "loop/error.h"
#include "runtime/plan/loss_scale.h"

namespace loop::engine {

namespace {

double expected_count(const plan::CountClass& rule, const data::WindowPlan& window, int64_t ranks) {
  switch (rule.unit) {
    case plan::CountUnit::tokens:
    case plan::CountUnit::class_weight:
      return static_cast<double>(window.tokens);
    case plan::CountUnit::samples:
    case plan::CountUnit::boxes:
      return static_cast<double>(window.samples);
    case plan::CountUnit::positions:
      return static_cast<double>(window.positions);
    case plan::CountUnit::micro_batch:
      return static_cast<double>(window.micro_batches * ranks);
    case plan::CountUnit::constant:
      return rule.constant;
    case plan::CountUnit::window:
      return 1;
  }
  throw Error(ErrorKind::internal, "a count class without a unit");
}

}  // namespace

double loss_scale_divisor(const plan::Plan& plan, const data::WindowPlan& window,
                          const Objective& objective) {
  if (plan.amp.mode != plan::AmpMode::fp16 || !plan::loss_is_sum(plan.micro)) return 1;
  double largest = 0;
  for (const plan::CountClass& rule : objective.classes()) {
    largest = std::max(largest, expected_count(rule, window, objective.ranks()));
  }
  return plan::power_of_two_near(largest);
}

}  // namespace loop::engine
