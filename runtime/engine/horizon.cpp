#include "runtime/engine/horizon.h"

#include <algorithm>
#include <cmath>

#include "loop/clocks.h"
#include "runtime/engine/triggers.h"

namespace loop::engine {

namespace {

using plan::Clock;

void lower(std::optional<int64_t>& bound, int64_t value) {
  if (!bound || value < *bound) bound = value;
}

bool reads_horizon(const plan::Expression& expression) {
  return plan::variables(expression).contains("horizon");
}

bool reads_horizon(const std::vector<plan::Operation>& operations) {
  for (const plan::Operation& operation : operations) {
    if (reads_horizon(operation.limit) || reads_horizon(operation.condition) || reads_horizon(operation.body))
      return true;
    for (const auto& hyper : operation.rule.hyper) {
      if (reads_horizon(hyper.value)) return true;
    }
  }
  return false;
}

/// Follows the windows one by one; for bounds that depend on what a window holds.
int64_t follow_windows(const std::vector<plan::StopCondition>& bounds,
                       const data::WindowFormerOptions& options, std::optional<int64_t> at_most) {
  const StopConditions stop(bounds);
  const std::optional<int64_t> last_epoch = stop.last_epoch();
  data::WindowFormer former(options);
  Clocks clocks;
  while (!stop.reached(clocks) && (!at_most || clocks.updates < *at_most)) {
    const double ramp_clock = options.window.ramp ? clocks.value(options.window.ramp->over_clock) : 0;
    data::WindowPlan window;
    if (last_epoch) {
      auto bounded = former.next_until(*last_epoch, ramp_clock);
      if (!bounded.complete) break;
      window = std::move(bounded.window);
    } else {
      window = former.next(ramp_clock);
    }
    clocks.window_finished(true, {window.samples, window.tokens, window.micro_batches, window.epochs_after});
  }
  return clocks.updates;
}

}  // namespace

std::optional<int64_t> planned_updates(const plan::Plan& plan, const data::WindowFormerOptions& options) {
  std::optional<int64_t> planned;
  std::vector<plan::StopCondition> by_data;
  for (const plan::StopCondition& condition : plan.stop) {
    if (condition.kind != plan::StopCondition::Kind::reached) continue;
    const plan::Trigger& limit = condition.limit;
    switch (limit.clock) {
      case Clock::updates:
      case Clock::attempts:
        lower(planned, static_cast<int64_t>(std::ceil(limit.value)));
        break;
      case Clock::epochs:
        if (limit.value == std::floor(limit.value)) {
          lower(planned, data::count_windows(options, static_cast<int64_t>(limit.value)));
          break;
        }
        [[fallthrough]];
      case Clock::micro_batches:
      case Clock::samples:
      case Clock::tokens:
      case Clock::samples_seen:
      case Clock::tokens_seen:
        by_data.push_back(condition);
        break;
      case Clock::evaluations:
      case Clock::seconds:
        break;
    }
  }
  if (!by_data.empty()) planned = follow_windows(by_data, options, planned);
  return planned;
}

bool reads_horizon(const plan::Plan& plan) {
  if (reads_horizon(plan.micro) || reads_horizon(plan.update)) return true;
  return std::any_of(plan.averages.begin(), plan.averages.end(),
                     [](const plan::Average& average) { return reads_horizon(average.decay); });
}

}  // namespace loop::engine
