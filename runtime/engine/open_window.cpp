#include "runtime/engine/open_window.h"

#include "runtime/data/window_extent.h"
#include "runtime/engine/loss_scale.h"

namespace loop::engine {

WindowState open_window(const plan::Plan& plan, const data::WindowPlan& window, const Clocks& clocks,
                        int64_t horizon, const Objective& objective) {
  WindowState state;
  state.number = clocks.attempts;
  state.micro_batches = static_cast<int64_t>(window.micro.size());
  const plan::WindowSize& size = plan.window.size;
  state.configured_micro_batches =
      data::window_size_at(size, size.ramp ? clocks.value(size.ramp->over_clock) : 0);
  state.totals = {window.samples, window.tokens, state.micro_batches, window.epochs_after};
  state.horizon = horizon;
  state.amp = plan.amp.mode;
  state.loss_scale_divisor = loss_scale_divisor(plan, window, objective);
  state.rank_counts = state.counts = objective.no_counts();
  return state;
}

MicroState open_micro_batch(size_t index, size_t micro_batches, Counts counts) {
  MicroState micro;
  micro.index = index;
  micro.first = index == 0;
  micro.last = index + 1 == micro_batches;
  micro.counts = std::move(counts);
  return micro;
}

Counts count_window(const std::vector<plan::Operation>& micro, const WindowState& window,
                    const Interpreter& interpreter, const Objective& objective,
                    const std::function<Counts(size_t)>& counts) {
  Counts total = objective.no_counts();
  const auto micro_batches = static_cast<size_t>(window.micro_batches);
  for (size_t k = 0; k < micro_batches; ++k) {
    const MicroState one = open_micro_batch(k, micro_batches, counts(k));
    const int64_t times = interpreter.losses(micro, window, one);
    for (int64_t i = 0; i < times; ++i) add(total, one.counts);
  }
  return total;
}

}  // namespace loop::engine
