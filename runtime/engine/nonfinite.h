// What happens after an update whose gradient was not finite.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runtime/amp/loss_scaler.h"
#include "runtime/engine/window_state.h"
#include "runtime/gradients/parameters.h"
#include "runtime/plan/plan.h"

namespace loop::engine {

/// Counts skipped updates in a row.
class NonfinitePolicy {
 public:
  explicit NonfinitePolicy(const plan::Nonfinite& rule) : rule_(rule) {}
  /// Called for every window that was not empty. Throws loop::Error (training) when the run must not go on:
  /// at once under `action = stop`, else when `limit` updates in a row were skipped. `reason` goes into its
  /// message, and where the loss scale stands now, if there is one.
  void finished(bool applied, int64_t updates_applied, const std::string& reason,
                const amp::LossScaler* scaler = nullptr);

 private:
  plan::Nonfinite rule_;
  int64_t in_a_row_ = 0;
};

/// "the gradient is not finite, first in blocks.0.weight, micro-batch 3 of 4".
std::string to_text(const Nonfinite& found, int64_t micro_batches);

/// The first micro-batch with a loss that is not finite, if any.
std::optional<size_t> bad_loss(const WindowState& window);

/// Finds the first micro-batch whose gradient alone is not finite: `run_again(k)` must add micro-batch k's
/// gradient, random numbers as the first time. Gradients and touched bits are afterwards what they were.
std::optional<size_t> bad_gradient(gradients::Parameters& parameters, size_t micro_batches,
                                   const std::function<void(size_t)>& run_again);

}  // namespace loop::engine
